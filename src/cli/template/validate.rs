//! `template validate FILE`

use serde_json::{Map, Value, json};

use super::check::Checker;
use super::checked::{Checked, TypeInfo};
use super::inputs::Inputs;
use super::problem;
use super::{Format, SOUND, UNSOUND, ValidateArguments};
use crate::python::dumps;

pub fn run(arguments: &ValidateArguments) -> anyhow::Result<(String, u8)> {
    let inputs = Inputs::read(&arguments.inputs)?;
    let mut checker = Checker::new(&inputs);
    let checked = checker.check_root();
    let problems = problem::in_order(checker.problems);
    let is_sound = !problems.iter().any(|problem| arguments.strict || problem.is_error());
    let shown = checked
        .as_ref()
        .filter(|_| is_sound)
        .map(|checked| described(checked, arguments.show_nested));
    let text = match arguments.inputs.output.format {
        Format::Json => {
            let report = json!({"valid": is_sound, "problems": problem::to_json(&problems), "template": shown});
            dumps(&report) + "\n"
        }
        Format::Text => {
            let mut text = problem::to_text(&problems);
            text.push_str(&format!("{}: {}\n", inputs.template.name, problem::count(&problems)));
            if let (true, Some(shown)) = (arguments.show_nested, shown) {
                text.push_str(&serde_json::to_string_pretty(&shown)?);
                text.push('\n');
            }
            text
        }
    };
    Ok((text, if is_sound { SOUND } else { UNSOUND }))
}

/// What `validate_template` shows of a sound template.
fn described(checked: &Checked, show_nested: bool) -> Value {
    let template = &checked.template;
    let mut shown = described_parameters(checked);
    if let Some(groups) = template.parameter_groups() {
        shown.insert("ParameterGroups".to_owned(), groups.clone());
    }
    if show_nested {
        let nested = nested_parameters(checked);
        if !nested.is_empty() {
            shown.insert("NestedParameters".to_owned(), Value::Object(nested));
        }
    }
    shown.insert("Environment".to_owned(), template.environment().to_user());
    Value::Object(shown)
}

fn described_parameters(checked: &Checked) -> Map<String, Value> {
    let parameters = checked.definition.as_ref().map(|definition| {
        let defined = definition.parameters().defined();
        defined
            .map(|parameter| (parameter.name.clone(), parameter.describe()))
            .collect()
    });
    Map::from_iter([
        ("Description".to_owned(), checked.template.description()),
        ("Parameters".to_owned(), Value::Object(parameters.unwrap_or_default())),
    ])
}

/// The parameters of nested templates by resource, those of theirs inside.
fn nested_parameters(checked: &Checked) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, info) in &checked.types {
        let TypeInfo::Template(nested) = info else { continue };
        let Some(inner) = &nested.checked else { continue };
        let mut described = Map::from_iter([("Type".to_owned(), Value::from(nested.file.as_str()))]);
        described.extend(described_parameters(inner));
        if let Some(groups) = inner.template.parameter_groups() {
            described.insert("ParameterGroups".to_owned(), groups.clone());
        }
        let deeper = nested_parameters(inner);
        if !deeper.is_empty() {
            described.insert("NestedParameters".to_owned(), Value::Object(deeper));
        }
        shown.insert(name.clone(), Value::Object(described));
    }
    shown
}
