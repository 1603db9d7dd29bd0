//! Our side of the benchmark of the language (`main.py` starts it): reads the cases from stdin, prints the fastest time of
//! each in seconds to stdout, both as JSON.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use heat_engine::python::dumps;
use heat_engine::python::json_reader::loads;
use heat_engine::template::reading::read_template;
use heat_engine::template::{
    AttributeFailure, AttributePath, Environment, Files, NoResources, ResourceStates, StackDefinition, StackIdentity,
    Template, TemplateError, World,
};
use heat_engine::yaql::{Allowance, Limits, Statement, Surroundings};
use serde_json::{Map, Value, json};
use tikv_jemallocator::Jemalloc;

/// As in the engine.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn definition(text: &str) -> Result<StackDefinition, TemplateError> {
    let body = read_template(text, None, 1 << 22)?;
    let template = Template::new(Value::Object(body), Environment::default(), Files::default())?;
    StackDefinition::new(
        Arc::new(template),
        &StackIdentity::default(),
        &World::still(Surroundings::default()),
    )
}

/// From the text to a stack's definition, with the checks that need no resource.
fn interpret(text: &str) -> Result<(), TemplateError> {
    let definition = definition(text)?;
    definition.template().validate()?;
    definition.parameters().validate(false)?;
    let scope = definition.scope(&NoResources);
    definition.conditions().validate(&scope)?;
    definition.outputs()?;
    for resource in definition.resources().values() {
        resource.required_resource_names(&scope)?;
    }
    Ok(())
}

/// Every resource is made, and has the attribute that is asked for.
struct AllMade;

impl ResourceStates for AllMade {
    fn state(&self, _: &str) -> Option<(&str, &str)> {
        Some(("CREATE", "COMPLETE"))
    }

    fn reference_id(&self, resource: &str) -> Option<Value> {
        Some(resource.into())
    }

    fn attribute(&self, _: &str, _: &AttributePath) -> Result<Value, AttributeFailure> {
        Ok("value".into())
    }

    fn attributes(&self, _: &str) -> Result<Map<String, Value>, AttributeFailure> {
        Ok(Map::new())
    }

    fn has_attribute(&self, _: &str, _: &str) -> bool {
        true
    }
}

fn resolve(definition: &StackDefinition) -> Result<(), TemplateError> {
    let scope = definition.scope(&AllMade);
    for resource in definition.resources().values() {
        resource.freeze(&scope, None)?;
    }
    Ok(())
}

/// An expression of YAQL with its data. Errors are part of the catalogue.
struct Evaluation {
    expression: String,
    data: Value,
    limits: Limits,
}

impl Evaluation {
    fn read(text: &str) -> Self {
        let case = loads(text).unwrap_or_default();
        let usual = Limits::default();
        let limit = |name: &str| case["limits"][name].as_i64();
        Self {
            expression: case["expression"].as_str().unwrap_or_default().to_owned(),
            data: json!({"data": case["data"]}),
            limits: Limits {
                iterators: limit("iterators").unwrap_or(usual.iterators),
                memory: limit("memory").unwrap_or(usual.memory),
            },
        }
    }

    fn run(&self) {
        let statement = Statement::parse(&self.expression);
        let _ = statement.and_then(|statement| {
            statement.evaluate(
                &self.data,
                self.limits,
                Surroundings::default(),
                &Allowance::default(),
                |_| (),
            )
        });
    }
}

fn fastest(rounds: u64, work: impl Fn() -> Result<(), TemplateError>) -> Result<f64, TemplateError> {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn timed(case: &Value, rounds: u64) -> Result<f64, TemplateError> {
    let texts: Vec<&str> = case["texts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if case["kind"] == "interpret" {
        return fastest(rounds, || texts.iter().try_for_each(|text| interpret(text)));
    }
    if case["kind"] == "yaql" {
        let evaluations: Vec<Evaluation> = texts.into_iter().map(Evaluation::read).collect();
        return fastest(rounds, || {
            evaluations.iter().for_each(Evaluation::run);
            Ok(())
        });
    }
    let definitions = texts
        .iter()
        .map(|text| definition(text))
        .collect::<Result<Vec<_>, _>>()?;
    fastest(rounds, || definitions.iter().try_for_each(resolve))
}

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let request = loads(&text).map_err(std::io::Error::other)?;
    let rounds = request["rounds"].as_u64().unwrap_or(1);
    let mut times = Map::new();
    for (name, case) in request["cases"].as_object().into_iter().flatten() {
        let seconds = timed(case, rounds).map_err(std::io::Error::other)?;
        times.insert(name.clone(), Value::from(seconds));
    }
    std::io::stdout().write_all(dumps(&Value::Object(times)).as_bytes())
}
