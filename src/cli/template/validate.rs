//! `template validate FILE`

use serde_json::{Value, json};

use super::check::Checker;
use super::checked::Checked;
use super::inputs::Inputs;
use super::nested_parameters::{described_parameters, nested_parameters};
use super::problem;
use super::{Format, SOUND, UNSOUND, ValidateArguments};
use crate::python::dumps;

pub fn run(arguments: &ValidateArguments) -> anyhow::Result<(String, u8)> {
    let inputs = Inputs::read(&arguments.inputs)?;
    let mut checker = Checker::new(&inputs);
    let checked = checker.check_root();
    let (problems, secrets) = checker.into_findings();
    let is_sound = !problems.iter().any(|problem| arguments.strict || problem.is_error());
    let shown = checked
        .as_ref()
        .filter(|_| is_sound)
        .map(|checked| secrets.hide(&described(checked, arguments.show_nested)));
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
        shown.extend(nested_parameters(checked, definition));
    }
    shown.insert("Environment".to_owned(), checked.template.environment().to_user());
    Value::Object(shown)
}
