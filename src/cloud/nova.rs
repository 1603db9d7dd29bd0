//! What the engine itself asks of nova.

use serde_json::Value;

use super::error::CloudError;
use super::service::NOVA;
use super::session::Session;
use crate::python::value::is_true;

impl Session {
    /// The names of the cloud's availability zones, whether anything can be made in them or not, in nova's order.
    ///
    /// # Errors
    /// When nova is not in the catalogue, cannot be reached, refuses, or answers with anything else than zones.
    pub async fn availability_zones(&self) -> Result<Vec<String>, CloudError> {
        let answer = self.service(&NOVA).get("os-availability-zone").send().await?;
        let zones = answer.json_under("availabilityZoneInfo")?;
        names(&zones).ok_or_else(|| answer.invalid("not a list of zones with names".to_owned()))
    }
}

fn names(zones: &Value) -> Option<Vec<String>> {
    let there_are = zones.as_array()?.iter().filter(|zone| is_true(zone));
    there_are
        .map(|zone| Some(zone.get("zoneName")?.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zones_have_names() {
        let zones =
            json!([{"zoneName": "b", "zoneState": {"available": false}, "hosts": null}, {}, null, {"zoneName": "a"}]);
        assert_eq!(names(&zones), Some(vec!["b".to_owned(), "a".to_owned()]));
        assert_eq!(names(&json!([])), Some(Vec::new()));
        for senseless in [
            json!(null),
            json!({}),
            json!([{"name": "a"}]),
            json!([{"zoneName": 7}]),
            json!(["a"]),
        ] {
            assert_eq!(names(&senseless), None, "{senseless}");
        }
    }
}
