//! `template functions VERSION`

use std::fmt::Write as _;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};

use super::near;
use super::{Format, OutputArguments, SOUND};
use crate::python::dumps;
use crate::template::{TemplateVersion, VERSIONS, functions_of};

#[derive(Debug, Args)]
pub struct FunctionsArguments {
    /// A version (2018-08-31), one of its other names (rocky), or with its key (heat_template_version.2018-08-31)
    version: String,

    #[command(flatten)]
    output: OutputArguments,
}

impl FunctionsArguments {
    pub fn output(&self) -> &OutputArguments {
        &self.output
    }
}

pub fn run(arguments: &FunctionsArguments) -> anyhow::Result<(String, u8)> {
    let version = version_named(&arguments.version)?;
    let everywhere = functions_of(version, false);
    let in_conditions = functions_of(version, true);
    let only_in_conditions = in_conditions
        .iter()
        .filter(|function| everywhere.iter().all(|known| known.name != function.name));
    let described = everywhere
        .iter()
        .map(|function| (function, "body"))
        .chain(only_in_conditions.map(|function| (function, "conditions")));
    let text = match arguments.output.format {
        Format::Json => {
            let shown: Value = described
                .map(|(function, place)| json!({"name": function.name, "in": place, "description": function.description}))
                .collect();
            dumps(&shown) + "\n"
        }
        Format::Text => {
            let mut text = String::new();
            for (function, place) in described {
                let remark = if place == "body" { "" } else { " (in conditions)" };
                let _ = writeln!(text, "{:<22} {}{remark}", function.name, function.description);
            }
            text
        }
    };
    Ok((text, SOUND))
}

fn version_named(wanted: &str) -> anyhow::Result<TemplateVersion> {
    let found = VERSIONS
        .iter()
        .find(|(key, value, _)| *value == wanted || wanted.split_once('.') == Some((*key, *value)));
    if let Some((_, _, version)) = found {
        return Ok(*version);
    }
    let values = || VERSIONS.iter().map(|(_, value, _)| *value);
    let unknown = anyhow!("there is no version {wanted}");
    match near::question(wanted, values()) {
        Some(question) => Err(anyhow!(question)).context(unknown),
        None => Err(anyhow!("there are {}", values().collect::<Vec<_>>().join(", "))).context(unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_several_names() {
        for name in ["2018-08-31", "rocky", "heat_template_version.2018-08-31"] {
            assert_eq!(version_named(name).unwrap(), TemplateVersion::Hot20180831);
        }
        let error = format!("{:#}", version_named("2018-08-13").unwrap_err());
        assert_eq!(error, "there is no version 2018-08-13: is \"2018-08-31\" meant?");
    }
}
