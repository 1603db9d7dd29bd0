//! `template resolve FILE`

use serde_json::{Map, Value, json};

use super::check::Checker;
use super::checked::Checked;
use super::inputs::Inputs;
use super::near;
use super::problem::{self, Problem, Severity};
use super::{Format, ResolveArguments, SOUND, UNSOUND};
use crate::python::dumps;
use crate::template::{Expression, Fault, NoResources, References, StackDefinition};

pub fn run(arguments: &ResolveArguments) -> anyhow::Result<(String, u8)> {
    let inputs = Inputs::read(&arguments.inputs)?;
    let mut checker = Checker::new(&inputs);
    let checked = checker.check_root();
    let (mut errors, secrets) = checker.into_findings();
    errors.retain(Problem::is_error);
    if let Some(checked) = &checked {
        ensure_resources_exist(checked, &arguments.resource)?;
    }
    let mut refusal = None;
    let resolved = checked
        .as_ref()
        .map(|checked| secrets.hide(&resolved(checked, &arguments.resource, &mut refusal)));
    let refusal = refusal.map(|fault| Problem::of_file(&inputs.template, Severity::Error, fault.to_string()));
    errors.extend(refusal);
    let errors = problem::in_order(errors);
    let is_sound = errors.is_empty();
    let text = match arguments.inputs.output.format {
        Format::Json => {
            let mut report = resolved.unwrap_or_else(|| json!({}));
            report["problems"] = problem::to_json(&errors);
            dumps(&report) + "\n"
        }
        Format::Text => {
            let mut text = match resolved {
                Some(resolved) => serde_json::to_string_pretty(&resolved)? + "\n",
                None => String::new(),
            };
            text.push_str(&problem::to_text(&errors));
            text
        }
    };
    Ok((text, if is_sound { SOUND } else { UNSOUND }))
}

fn ensure_resources_exist(checked: &Checked, wanted: &[String]) -> anyhow::Result<()> {
    let resources = checked.template.resource_section();
    let known = || resources.into_iter().flat_map(Map::keys).map(String::as_str);
    match wanted.iter().find(|name| known().all(|known| known != *name)) {
        None => Ok(()),
        Some(name) => match near::question(name, known()) {
            Some(question) => anyhow::bail!("the template has no resource \"{name}\": {question}"),
            None => anyhow::bail!("the template has no resource \"{name}\""),
        },
    }
}

/// Properties and outputs; calls that need a resource stay as they are, and so does what is too much for one template.
fn resolved(checked: &Checked, wanted: &[String], refusal: &mut Option<Fault>) -> Value {
    let Some(definition) = &checked.definition else {
        return json!({});
    };
    let scope = definition.scope(&NoResources);
    let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(name);
    let mut resources = Map::new();
    for (name, resource) in definition.resources().iter().filter(|(name, _)| is_wanted(name)) {
        let mut shown = Map::from_iter([("type".to_owned(), Value::from(resource.resource_type.as_str()))]);
        let parts = [
            ("properties", resource.properties()),
            ("metadata", resource.metadata_expression()),
            ("update_policy", resource.update_policy()),
        ];
        for (part, expression) in parts {
            if let Some(expression) = expression {
                shown.insert(part.to_owned(), told(expression, &scope, refusal));
            }
        }
        let required = resource.required_resource_names(&scope).unwrap_or_default();
        if !required.is_empty() {
            shown.insert("depends_on".to_owned(), required.into_iter().map(Value::from).collect());
        }
        resources.insert(name.clone(), Value::Object(shown));
    }
    // Who asks for one wants to know why there is nothing to show.
    for name in wanted.iter().filter(|name| is_switched_off(definition, name)) {
        resources.insert(name.clone(), json!({"condition": false}));
    }
    let mut report = json!({"resources": resources});
    if wanted.is_empty() {
        let outputs = definition.outputs().into_iter().flatten();
        let outputs: Map<String, Value> = outputs
            .map(|(name, output)| (name.clone(), told(output.expression(), &scope, refusal)))
            .collect();
        report["outputs"] = Value::Object(outputs);
    }
    report
}

/// Whether a resource makes sense and its condition does not hold.
fn is_switched_off(definition: &StackDefinition, name: &str) -> bool {
    definition.is_resource_name(name) && definition.resource(name).is_none()
}

/// The value as far as it can be told. Of a map each entry is told for itself, so that an error in one leaves the others.
fn told(expression: &Expression, scope: &dyn References, refusal: &mut Option<Fault>) -> Value {
    match expression.as_map() {
        Some(entries) => {
            let told = entries
                .iter()
                .map(|(name, value)| (name.clone(), told(value, scope, refusal)));
            Value::Object(told.collect())
        }
        None => match expression
            .resolve_partly(scope)
            .map(|value| scope.allowance().keep(value, 1))
        {
            Ok(Ok(value)) => value,
            Ok(Err(fault)) => {
                refusal.get_or_insert(fault);
                expression.render()
            }
            // What is wrong is told beside it.
            Err(_) => expression.render(),
        },
    }
}
