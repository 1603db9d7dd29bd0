//! Arguments that all listings share: pages, sorting, filters.

use serde_json::Map;

use super::arguments::Arguments;
use super::error::RequestError;
use crate::python::to_text;
use crate::store::{Filter, Page, SortDirection};

pub fn page(arguments: &Arguments) -> Result<Page, RequestError> {
    let limit = arguments.integer("limit")?;
    let limit = limit
        .map(|limit| u64::try_from(limit).map_err(|_| below_zero(limit)))
        .transpose()?;
    Ok(Page {
        limit,
        // A marker that nothing has, whatever it is, marks nothing.
        marker: arguments.value("marker").map(to_text),
        sort_keys: arguments.texts("sort_keys")?.unwrap_or_default(),
        sort_direction: sort_direction(arguments)?,
    })
}

fn below_zero(limit: i64) -> RequestError {
    RequestError::ValueError(format!("the limit of a list cannot be {limit}"))
}

/// A database of MySQL's kind sorts NULL where the first and last of these want it anyway.
fn sort_direction(arguments: &Arguments) -> Result<Option<SortDirection>, RequestError> {
    match arguments.text("sort_dir")? {
        None | Some("") => Ok(None),
        Some("asc" | "asc-nullsfirst" | "asc-nullslast") => Ok(Some(SortDirection::Ascending)),
        Some("desc" | "desc-nullsfirst" | "desc-nullslast") => Ok(Some(SortDirection::Descending)),
        Some(_) => Err(RequestError::ValueError(
            "Unknown sort direction, must be one of: asc-nullsfirst, asc-nullslast, desc-nullsfirst, desc-nullslast"
                .to_owned(),
        )),
    }
}

/// The filters as given, for a listing whose columns clients know by name.
pub fn filters(arguments: &Arguments) -> Result<Vec<Filter>, RequestError> {
    let given = arguments.map("filters")?.cloned().unwrap_or_else(Map::new);
    Ok(Filter::from_json(&given)?)
}
