//! `template validate FILE`

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::check::Checker;
use super::checked::{Checked, TypeInfo};
use super::inputs::Inputs;
use super::nested::{OfflineStates, definition_with, foreseen, given_properties};
use super::problem;
use super::{Format, SOUND, UNSOUND, ValidateArguments};
use crate::python::dumps;
use crate::template::{StackDefinition, Template};

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
    let definition = checked.definition.as_ref();
    let mut shown = described_parameters(&checked.template, definition);
    if let (true, Some(definition)) = (show_nested, definition) {
        add_nested(&mut shown, definition, &checked.types);
    }
    shown.insert("Environment".to_owned(), checked.template.environment().to_user());
    Value::Object(shown)
}

fn described_parameters(template: &Template, definition: Option<&StackDefinition>) -> Map<String, Value> {
    let parameters = definition.map(|definition| {
        let defined = definition.parameters().defined();
        defined
            .map(|parameter| (parameter.name.clone(), parameter.describe()))
            .collect()
    });
    let mut shown = Map::from_iter([
        ("Description".to_owned(), template.description()),
        ("Parameters".to_owned(), Value::Object(parameters.unwrap_or_default())),
    ]);
    if let Some(groups) = template.parameter_groups() {
        shown.insert("ParameterGroups".to_owned(), groups.clone());
    }
    shown
}

/// The parameters of nested templates, with what their resources give them, by resource; those of theirs inside.
fn add_nested(shown: &mut Map<String, Value>, definition: &StackDefinition, types: &IndexMap<String, TypeInfo>) {
    let states = OfflineStates(types);
    let scope = definition.scope(&states);
    let mut all = Map::new();
    for resource in definition.resources().values() {
        let Some(TypeInfo::Template(nested)) = types.get(&resource.name) else {
            continue;
        };
        let Some(inner) = &nested.checked else { continue };
        let given = foreseen(given_properties(resource.properties(), &scope));
        let inner_definition = definition_with(&inner.template, given, definition.world());
        let mut described = Map::from_iter([("Type".to_owned(), Value::from(resource.resource_type.as_str()))]);
        described.extend(described_parameters(&inner.template, inner_definition.as_ref()));
        if let Some(inner_definition) = &inner_definition {
            add_nested(&mut described, inner_definition, &inner.types);
        }
        all.insert(resource.name.clone(), Value::Object(described));
    }
    if !all.is_empty() {
        shown.insert("NestedParameters".to_owned(), Value::Object(all));
    }
}
