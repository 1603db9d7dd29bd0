//! What our side makes of a probe. `oracle.py` does the same with Heat's own modules.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt as _;
use heat_engine::exception::RemoteException;
use heat_engine::plugins::{inventory, rules};
use heat_engine::python::json::dumps_sorted;
use heat_engine::python::regex::{Patience, PythonRegex};
use heat_engine::python::repr::{repr_tuple, to_text};
use heat_engine::python::{dumps, repr};
use heat_engine::resource::constraints::CustomConstraints;
use heat_engine::resource::formats;
use heat_engine::resource::properties::{Depth, Given, Properties, PropertyError};
use heat_engine::resource::rules::Neighbours;
use heat_engine::template::environment::{merge_environment_files, mergeable_parameters};
use heat_engine::template::parameters::own_schemata;
use heat_engine::template::reading::{read_environment, read_map, read_template};
use heat_engine::template::{
    AttributeFailure, AttributePath, AvailabilityZones, CustomConstraintCheck, DeletionPolicy, Environment, Facade,
    Files, Foreseen, OutputDefinition, Parameters, RegisteredType, ResolveError, ResourceDefinition, ResourceStates,
    Scope, StackDefinition, StackIdentity, Template, TemplateError, World,
};
use heat_engine::yaql::Surroundings;
use serde_json::{Map, Value, json};

pub fn outcome(probe: &Value) -> Value {
    let result = match probe["kind"].as_str().unwrap_or("stack") {
        "stack" => stack_outcome(probe),
        "environment" => environment_outcome(probe),
        "text" => text_outcome(probe),
        "refused" => refused_outcome(probe),
        "properties" => Ok(properties_outcome(probe)),
        "rules" => rules_outcome(probe),
        "merge" => merge_outcome(probe),
        "immutable" => immutable_outcome(probe),
        "python" => Ok(python_outcome(&probe["value"])),
        "regex" => regex_outcome(probe),
        "format" => Ok(format_outcome(probe)),
        other => panic!("unknown kind of probe: {other}"),
    };
    attempt(result)
}

fn attempt(result: Result<Value, TemplateError>) -> Value {
    match result {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": [error.class_name(), error.to_string()]}),
    }
}

fn attempt_resolving(result: Result<Value, ResolveError>) -> Value {
    match result {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": [error.class_name(), error.to_string()]}),
    }
}

struct States<'a>(&'a Value);

impl States<'_> {
    fn attributes_of(&self, resource: &str) -> Map<String, Value> {
        self.0[resource]["attributes"].as_object().cloned().unwrap_or_default()
    }
}

impl ResourceStates for States<'_> {
    fn state(&self, resource: &str) -> Option<(&str, &str)> {
        let state = self.0.get(resource)?;
        Some((state["action"].as_str()?, state["status"].as_str()?))
    }

    fn reference_id(&self, resource: &str) -> Option<Value> {
        self.0.get(resource).map(|state| state["reference_id"].clone())
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, AttributeFailure> {
        let key = if attribute.path.is_empty() {
            attribute.name.clone()
        } else {
            let mut parts = vec![Value::from(attribute.name.as_str())];
            parts.extend(attribute.path.iter().cloned());
            format!("tuple:{}", repr_tuple(&parts))
        };
        self.attributes_of(resource)
            .get(&key)
            .cloned()
            .ok_or(AttributeFailure::Unknown)
    }

    fn attributes(&self, resource: &str) -> Result<Map<String, Value>, AttributeFailure> {
        Ok(self
            .attributes_of(resource)
            .into_iter()
            .filter(|(key, _)| !key.starts_with("tuple:"))
            .collect())
    }

    fn availability_zones(&self) -> Option<&AvailabilityZones> {
        static ZONES: LazyLock<AvailabilityZones> = LazyLock::new(|| Ok(vec!["nova".to_owned(), "second".to_owned()]));
        Some(&ZONES)
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        let prefix = format!("tuple:({},", repr(&Value::from(attribute)));
        self.attributes_of(resource)
            .keys()
            .any(|key| key == attribute || key.starts_with(&prefix))
    }
}

fn facade_of(probe: &Value) -> Option<Facade> {
    let shown = probe.get("facade")?;
    Some(Facade {
        metadata: shown["metadata"].clone(),
        update_policy: shown["update_policy"].clone(),
        deletion_policy: match shown["deletion_policy"].as_str() {
            Some("Retain") => DeletionPolicy::Retain,
            Some("Snapshot") => DeletionPolicy::Snapshot,
            _ => DeletionPolicy::Delete,
        },
    })
}

fn stack_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let environment = Environment::from_value(&probe["environment"])?;
    let files = Files::from_value(probe["files"].clone())?;
    let template = Arc::new(Template::new(probe["template"].clone(), environment, files)?);
    let identity = StackIdentity {
        stack_id: "id".to_owned(),
        stack_name: "stack".to_owned(),
        project_id: "tenant".to_owned(),
        arn: "arn:openstack:heat::tenant:stacks/stack/id".to_owned(),
    };
    let parameters = Parameters::new(
        &template,
        &identity,
        &template.environment().parameters,
        &template.environment().parameter_defaults,
    )?;
    let mut outcome = json!({
        "validate": attempt(template.validate().map(|()| Value::Null)),
        "parameters": parameters_outcome(&parameters),
        "parameters_validate": attempt(parameters.validate(true).and_then(|custom| {
            custom.iter().try_for_each(check_format)?;
            Ok(Value::Null)
        })),
        "groups": attempt(template.validate_parameter_groups().map(|()| Value::Null)),
    });
    let states = States(&probe["states"]);
    // Nothing here asks for the time.
    let world = World::still(Surroundings::default());
    match StackDefinition::behind(facade_of(probe), Arc::clone(&template), &identity, &world) {
        Ok(definition) => {
            let scope = definition.scope(&states);
            outcome["conditions"] = attempt(definition.conditions().validate(&scope).map(|()| Value::Null));
            let resources = definition.resources().values();
            let resources: Map<String, Value> = resources
                .map(|resource| (resource.name.clone(), resource_outcome(resource, &definition, &states)))
                .collect();
            outcome["resources"] = json!({"ok": resources});
            outcome["outputs"] = attempt(definition.outputs().map(|outputs| {
                let outputs = outputs.values();
                outputs
                    .map(|output| (output.name.clone(), output_outcome(output, &definition, &states)))
                    .collect()
            }));
        }
        Err(error) => outcome["resources"] = attempt(Err(error)),
    }
    Ok(outcome)
}

/// What other services would be asked is taken to hold; `oracle.py` does the same.
fn check_format(check: &CustomConstraintCheck) -> Result<(), TemplateError> {
    const SERVICES: [&str; 8] = [
        "barbican", "cinder", "glance", "keystone", "magnum", "neutron", "nova", "octavia",
    ];
    match formats::check(&check.constraint, &check.value) {
        Some(checked) => checked.map_err(|message| check.failure(&message)),
        None if SERVICES.iter().any(|service| check.constraint.starts_with(service)) => Ok(()),
        None => Err(check.unknown()),
    }
}

fn parameters_outcome(parameters: &Parameters) -> Value {
    parameters
        .iter()
        .map(|parameter| {
            let told = json!({
                "value": attempt_resolving(parameter.value()),
                "shown": attempt_resolving(parameter.display().map(Value::from)),
                "hidden": parameter.is_hidden(),
                "described": {"ok": parameter.describe()},
            });
            (parameter.name.clone(), told)
        })
        .collect()
}

fn sorted_attributes(attributes: Vec<(String, AttributePath)>) -> Value {
    let mut attributes: Vec<Value> = attributes
        .into_iter()
        .map(|(resource, attribute)| {
            let mut parts = vec![Value::from(resource), Value::from(attribute.name)];
            parts.extend(attribute.path);
            Value::Array(parts)
        })
        .collect();
    attributes.sort_by_key(dumps);
    attributes.dedup();
    Value::Array(attributes)
}

fn resource_outcome(resource: &ResourceDefinition, definition: &StackDefinition, states: &States<'_>) -> Value {
    let scope = definition.scope(states);
    let required = resource.required_resource_names(&scope).map(|names| {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        Value::from(names)
    });
    let frozen = resource.freeze(&scope, None).map(|frozen| {
        json!({
            "properties": frozen.properties,
            "metadata": frozen.metadata,
            "update_policy": frozen.update_policy,
            "external_id": frozen.external_id,
            "deletion_policy": frozen.deletion_policy.as_str(),
        })
    });
    json!({
        "type": resource.resource_type,
        "required": attempt_resolving(required),
        "attributes": {"ok": sorted_attributes(resource.attributes(&scope))},
        "frozen": attempt_resolving(frozen),
        "hot": {"ok": resource.render_hot()},
    })
}

fn output_outcome(output: &OutputDefinition, definition: &StackDefinition, states: &States<'_>) -> Value {
    let scope = definition.scope(states);
    // Heat's check names the place inside the output only.
    let validated = output
        .validate(definition.template(), &scope)
        .map_err(|error| match error {
            TemplateError::StackValidationFailed { error, path, message } => {
                let path = [vec!["Value".to_owned()], path[3..].to_vec()].concat();
                TemplateError::StackValidationFailed { error, path, message }
            }
            other => other,
        });
    let mut required = output.required_resource_names(&scope);
    required.sort_unstable();
    json!({
        "description": {"ok": output.description()},
        "value": attempt_resolving(output.value(&scope)),
        "validate": attempt(validated.map(|()| Value::Null)),
        "required": {"ok": required},
        "attributes": {"ok": sorted_attributes(output.attributes(&scope))},
    })
}

fn pairs(list: &Value) -> Vec<(&str, Option<&str>)> {
    let pairs = list.as_array().map(Vec::as_slice).unwrap_or_default();
    pairs
        .iter()
        .map(|pair| (pair[0].as_str().unwrap_or_default(), pair[1].as_str()))
        .collect()
}

fn environment_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let mut environment = Environment::from_value(&probe["environment"])?;
    for addition in probe["load"].as_array().map(Vec::as_slice).unwrap_or_default() {
        environment.load(addition)?;
    }
    let is_plugin = |name: &str| {
        [
            "OS::Heat::None",
            "OS::Heat::Value",
            "OS::Heat::TestResource",
            "OS::Nova::Server",
        ]
        .contains(&name)
    };
    let registry = &environment.registry;
    let types: Vec<Value> = pairs(&probe["types"])
        .into_iter()
        .map(|(resource_type, resource)| {
            attempt(
                registry
                    .resolve(resource_type, resource, &is_plugin)
                    .map(|found| match found {
                        RegisteredType::Plugin(name) => json!(["Plugin", name]),
                        RegisteredType::Template(name) => json!(["Template", name]),
                    }),
            )
        })
        .collect();
    let made: Vec<Value> = pairs(&probe["made"])
        .into_iter()
        .map(|(resource_type, resource)| {
            let found = registry.resolve_for(resource_type, resource.unwrap_or_default(), &is_plugin);
            attempt(found.map(|_| Value::Null))
        })
        .collect();
    let hooks: Vec<bool> = pairs(&probe["hooks"])
        .into_iter()
        .map(|(resource, hook)| registry.has_hook(resource, hook.unwrap_or_default()))
        .collect();
    let restricted: Vec<Vec<&str>> = probe["restricted"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|name| registry.restricted_actions(name.as_str().unwrap_or_default()))
        .collect();
    Ok(
        json!({"stored": environment.to_stored(), "types": types, "made": made, "hooks": hooks, "restricted": restricted}),
    )
}

fn parameters_of(schema: &Value, values: &Map<String, Value>) -> Result<Parameters, TemplateError> {
    let body = json!({"heat_template_version": "2018-08-31", "parameters": schema});
    let template = Template::new(body, Environment::default(), Files::default())?;
    Parameters::new(&template, &StackIdentity::default(), values, &Map::new())
}

fn merge_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let body = json!({"heat_template_version": "2018-08-31", "parameters": probe["parameters"]});
    let template = Template::new(body, Environment::default(), Files::default())?;
    let parameters = mergeable_parameters(&own_schemata(&template)?);
    let contents = probe["files"].as_object().cloned().unwrap_or_default();
    let names: Vec<String> = contents.keys().cloned().collect();
    let files = contents
        .into_iter()
        .map(|(name, content)| (name, Value::from(dumps(&content))))
        .collect();
    let mut environment = probe["environment"].as_object().cloned().unwrap_or_default();
    merge_environment_files(
        &mut environment,
        &names,
        &Files::from_value(Value::Object(files))?,
        &parameters,
    )?;
    Ok(Value::Object(environment))
}

fn immutable_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let side = |name: &str| {
        let values = probe[name]["values"].as_object().cloned().unwrap_or_default();
        parameters_of(&probe[name]["schema"], &values).map(|parameters| (parameters, values))
    };
    let ((old, _), (new, given)) = (side("old")?, side("new")?);
    match old.refuse_immutable_changes(&new, &given) {
        Ok(()) => Ok(json!([])),
        Err(TemplateError::ImmutableParameterModified { keys }) => Ok(keys.split(", ").collect()),
        Err(other) => Err(other),
    }
}

fn python_outcome(value: &Value) -> Value {
    json!({"json": dumps(value), "sorted": dumps_sorted(value), "repr": repr(value), "str": to_text(value)})
}

fn text_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let text = probe["text"].as_str().unwrap_or_default();
    let read = match probe["as"].as_str() {
        Some("environment") => read_environment(text),
        Some("any") => read_map(text, None),
        _ => read_template(text, None, probe["limit"].as_u64().unwrap_or(524_288)),
    };
    read.map(Value::Object)
}

/// The stack of a template that is still a text.
fn refused_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let text = probe["text"].as_str().unwrap_or_default();
    let template = read_template(text, None, 1 << 20)?;
    stack_outcome(&json!({"template": template}))
}

struct AllIsWell;

#[async_trait::async_trait]
impl CustomConstraints for AllIsWell {
    async fn validate(&self, name: &str, value: &Value) -> Result<(), String> {
        formats::check(name, value).unwrap_or(Ok(()))
    }
}

fn properties_outcome(probe: &Value) -> Value {
    let known = &inventory::types()[probe["type"].as_str().expect("a type")];
    let given = probe["properties"].as_object().into_iter().flatten();
    let given = given.map(|(name, value)| (name.clone(), Given::Value(value.clone())));
    let properties = Properties::new(known.properties, given.collect());
    // Nobody is asked, so nothing is waited for.
    let validated = properties
        .validate(Depth::Values, &AllIsWell)
        .now_or_never()
        .expect("no waiting");
    let told = |result: Result<Value, PropertyError>| match result {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": [error.class_name(), error.to_string()]}),
    };
    let values = known.properties.iter();
    let values: Map<String, Value> = values
        .map(|property| (property.name.to_owned(), told(properties.get(property.name))))
        .collect();
    json!({"validate": told(validated.map(|()| Value::Null)), "values": values})
}

/// A stack of which only the template is there.
struct OneStack<'a>(&'a StackDefinition, &'a Scope<'a>);

impl Neighbours for OneStack<'_> {
    fn has(&self, resource: &str) -> bool {
        self.0.resource(resource).is_some()
    }

    fn property(&self, resource: &str, property: &str) -> Foreseen {
        let found = || {
            let definition = self.0.resource(resource)?;
            let known = inventory::types().get(definition.resource_type.as_str())?;
            let foreseen = match definition.properties()?.foreseen(self.1, &HashSet::new())? {
                Foreseen::Map(foreseen) => foreseen,
                _ => return None,
            };
            Some(rules::facts(known, resource, foreseen, self).get(property).clone())
        };
        found().unwrap_or(Foreseen::Unknown)
    }

    fn metadata(&self, resource: &str) -> Foreseen {
        let metadata = self
            .0
            .resource(resource)
            .and_then(ResourceDefinition::metadata_expression);
        let foreseen = metadata.and_then(|metadata| metadata.foreseen(self.1, &HashSet::new()));
        foreseen.unwrap_or(Foreseen::Unknown)
    }

    fn requires(&self, resource: &str, other: &str) -> bool {
        let definition = self.0.resource(resource).expect("a resource");
        definition
            .required_resource_names(self.1)
            .is_ok_and(|required| required.contains(other))
    }
}

/// What refuses a resource beyond its schema. What Heat takes for nothing, because it is not made yet, may be anything: then
/// it is told only that something is wrong for certain.
fn rules_outcome(probe: &Value) -> Result<Value, TemplateError> {
    // As `rules.py` has them.
    let mut body = json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "other": {"type": "OS::Heat::TestResource"},
            "second": {"type": "OS::Heat::TestResource"},
            "server": {"type": "OS::Nova::Server", "properties": {"flavor": "f", "image": "i"}},
            "configured": {
                "type": "OS::Nova::Server",
                "properties": {"flavor": "f", "user_data_format": "SOFTWARE_CONFIG"},
            },
            "r": {"type": probe["type"], "properties": probe["properties"]},
        },
    });
    for part in ["depends_on", "metadata"] {
        if let Some(value) = probe.get(part) {
            body["resources"]["r"][part] = value.clone();
        }
    }
    let template = Template::new(body, Environment::default(), Files::default())?;
    let world = World::still(Surroundings::default());
    let definition = StackDefinition::new(Arc::new(template), &StackIdentity::default(), &world)?;
    let nothing = json!({});
    let states = States(&nothing);
    let scope = definition.scope(&states);
    let known = &inventory::types()[probe["type"].as_str().expect("a type")];
    let properties = definition
        .resource("r")
        .and_then(ResourceDefinition::properties)
        .expect("properties");
    let Some(Foreseen::Map(foreseen)) = properties.foreseen(&scope, &HashSet::new()) else {
        return Ok(json!({}));
    };
    let given = foreseen.iter().map(|(name, value)| {
        let given = match value.is_known() {
            true => Given::Value(value.to_value()),
            false => Given::Unsettled(value.to_value()),
        };
        (name.clone(), given)
    });
    let mut checked = Properties::new(known.properties, given.collect());
    rules::shape(known, &mut checked);
    let validated = checked.validate(Depth::Values, &AllIsWell).now_or_never();
    if validated.expect("no waiting").is_err() {
        return Ok(json!({}));
    }
    let stack = OneStack(&definition, &scope);
    let violations = rules::facts(known, "r", foreseen, &stack).violations(rules::of(known.name));
    let first = violations
        .first()
        .map(|violation| json!([violation.class, violation.message]));
    Ok(match first {
        _ if properties.needs_no_cloud() => json!({"by": first}),
        Some(_) => json!({"refused": true}),
        None => json!({}),
    })
}

/// Why each value is refused.
fn format_outcome(probe: &Value) -> Value {
    let name = probe["constraint"].as_str().unwrap_or_default();
    let values = probe["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    let refusals = values
        .iter()
        .map(|value| formats::check(name, value).expect("a format").err());
    refusals.map(|refusal| json!(refusal)).collect()
}

/// Where each match ends, in characters.
fn regex_outcome(probe: &Value) -> Result<Value, TemplateError> {
    let pattern = probe["pattern"].as_str().unwrap_or_default();
    let regex = PythonRegex::compile(pattern, &Patience::default()).map_err(|error| TemplateError::Python {
        class: error.class_name(),
        message: error.to_string(),
    })?;
    let texts = probe["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ends = texts.iter().map(|text| {
        let text = text.as_str().unwrap_or_default();
        let end = regex.match_end(text).expect("few steps");
        json!(end.map(|end| text[..end].chars().count()))
    });
    Ok(ends.collect())
}
