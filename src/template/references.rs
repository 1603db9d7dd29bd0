//! The window through which an expression sees what is outside of the template.

use serde_json::{Map, Value};

use super::allowance::Allowance;
use super::error::{CloudFault, Fault, ResolveError, TemplateError};
use super::expression::AttributePath;
use super::resource_definition::DeletionPolicy;
use super::stack_definition::StackDefinition;
use super::world::World;
use crate::python::to_text;

/// The resource of the parent stack that a nested stack is made for, as the functions of the nested stack see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Facade {
    pub metadata: Value,
    pub update_policy: Value,
    pub deletion_policy: DeletionPolicy,
}

/// All that functions may ask for. What has a default is as while a template is read: nothing is known of resources.
pub trait References {
    /// The value of a parameter; `None` if the template has none of that name.
    fn parameter(&self, name: &str) -> Result<Option<Value>, ResolveError>;

    /// Whether a condition holds. Takes what Heat takes for one: a name, a boolean, or null for "always".
    fn condition(&self, name: &Value) -> Result<bool, ResolveError>;

    /// What is left for all that is computed together.
    fn allowance(&self) -> &Allowance;

    /// What expressions in other languages may use; `None` where they are not to be evaluated yet.
    fn world(&self) -> Option<&World> {
        None
    }

    fn file(&self, _name: &str) -> Option<Value> {
        None
    }

    /// The `Mappings` section.
    fn mappings(&self) -> Option<&Value> {
        None
    }

    /// What a nested stack sees of its parent.
    fn facade(&self) -> Option<&Facade> {
        None
    }

    /// The availability zones of the cloud; an error where they are not known.
    fn availability_zones(&self) -> Result<Vec<String>, ResolveError> {
        Err(zones_not_known())
    }

    /// Whether the stack has such a resource (one whose condition is false is not there).
    fn has_resource(&self, _name: &str) -> bool {
        false
    }

    /// What `get_resource` gives.
    fn resource_reference(&self, resource: &str) -> Result<Value, ResolveError> {
        Ok(Value::from(resource))
    }

    /// Whether the resource is far enough for its attributes to be asked for.
    fn is_ready(&self, _resource: &str) -> bool {
        false
    }

    /// Whether it is far enough for all attributes at once.
    fn is_ready_for_all(&self, _resource: &str) -> bool {
        false
    }

    fn attribute(&self, _resource: &str, _attribute: &AttributePath) -> Result<Value, ResolveError> {
        Ok(Value::Null)
    }

    fn all_attributes(&self, _resource: &str) -> Result<Value, ResolveError> {
        Ok(Value::Null)
    }

    fn has_attribute(&self, _resource: &str, _attribute: &str) -> bool {
        false
    }
}

/// Why a resource does not tell an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeFailure {
    /// There is no such attribute.
    Unknown,
    /// Asking for it failed, with this message.
    Failed(String),
}

/// What the cloud says of its availability zones, or the error that it answered with.
pub type AvailabilityZones = Result<Vec<String>, CloudFault>;

/// What the engine knows about the resources of a stack.
pub trait ResourceStates: Sync {
    /// Action and status; `None` for a resource about which nothing is known yet.
    fn state(&self, resource: &str) -> Option<(&str, &str)>;

    /// `None` for a resource about which nothing is known yet: it is then referred to by its name.
    fn reference_id(&self, resource: &str) -> Option<Value>;

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, AttributeFailure>;

    /// All attributes by name, those asked for with a path left out.
    fn attributes(&self, resource: &str) -> Result<Map<String, Value>, AttributeFailure>;

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool;

    /// The availability zones of the cloud that the resources live in; `None`: it has not been asked.
    fn availability_zones(&self) -> Option<&AvailabilityZones> {
        None
    }

    /// What is left for all that is computed while these states are looked at.
    fn allowance(&self) -> Allowance {
        Allowance::default()
    }
}

/// The states of a stack that has no resources yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResources;

impl ResourceStates for NoResources {
    fn state(&self, _resource: &str) -> Option<(&str, &str)> {
        None
    }

    fn reference_id(&self, _resource: &str) -> Option<Value> {
        None
    }

    fn attribute(&self, _resource: &str, _attribute: &AttributePath) -> Result<Value, AttributeFailure> {
        Err(AttributeFailure::Unknown)
    }

    fn attributes(&self, _resource: &str) -> Result<Map<String, Value>, AttributeFailure> {
        Ok(Map::new())
    }

    fn has_attribute(&self, _resource: &str, _attribute: &str) -> bool {
        false
    }
}

/// A stack's definition together with the states of its resources: what expressions are resolved against.
#[derive(Clone)]
pub struct Scope<'a> {
    definition: &'a StackDefinition,
    states: &'a dyn ResourceStates,
    allowance: Allowance,
}

impl<'a> Scope<'a> {
    pub fn new(definition: &'a StackDefinition, states: &'a dyn ResourceStates) -> Self {
        Self {
            definition,
            states,
            allowance: states.allowance(),
        }
    }
}

const READY_ACTIONS: [&str; 8] = [
    "CREATE", "ADOPT", "SUSPEND", "RESUME", "UPDATE", "ROLLBACK", "SNAPSHOT", "CHECK",
];

/// Attributes that are not part of "all attributes".
const SHOW: &str = "show";

impl References for Scope<'_> {
    fn parameter(&self, name: &str) -> Result<Option<Value>, ResolveError> {
        self.definition
            .parameters()
            .get(name)
            .map(|parameter| parameter.value())
            .transpose()
    }

    fn condition(&self, name: &Value) -> Result<bool, ResolveError> {
        self.definition.condition_scope(&self.allowance).condition(name)
    }

    fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    fn world(&self) -> Option<&World> {
        Some(self.definition.world())
    }

    fn file(&self, name: &str) -> Option<Value> {
        self.definition.template().files().get(name).cloned()
    }

    fn mappings(&self) -> Option<&Value> {
        self.definition.template().mappings()
    }

    fn facade(&self) -> Option<&Facade> {
        self.definition.facade()
    }

    fn availability_zones(&self) -> Result<Vec<String>, ResolveError> {
        match self.states.availability_zones() {
            Some(Ok(zones)) => Ok(zones.clone()),
            Some(Err(fault)) => Err(TemplateError::Cloud(fault.clone()).into()),
            None => Err(zones_not_known()),
        }
    }

    fn has_resource(&self, name: &str) -> bool {
        self.definition.resource(name).is_some()
    }

    fn resource_reference(&self, resource: &str) -> Result<Value, ResolveError> {
        Ok(self
            .states
            .reference_id(resource)
            .unwrap_or_else(|| Value::from(resource)))
    }

    fn is_ready(&self, resource: &str) -> bool {
        self.states
            .state(resource)
            .is_some_and(|(action, _)| READY_ACTIONS.contains(&action))
    }

    fn is_ready_for_all(&self, resource: &str) -> bool {
        self.states.state(resource).is_some_and(|(action, status)| {
            READY_ACTIONS.contains(&action) && action != "ROLLBACK" && matches!(status, "IN_PROGRESS" | "COMPLETE")
        })
    }

    fn attribute(&self, resource: &str, attribute: &AttributePath) -> Result<Value, ResolveError> {
        self.states
            .attribute(resource, attribute)
            .map_err(|failure| match failure {
                AttributeFailure::Unknown => unknown_attribute(resource, &attribute.to_text()),
                AttributeFailure::Failed(message) => Fault::Attribute(message).into(),
            })
    }

    fn all_attributes(&self, resource: &str) -> Result<Value, ResolveError> {
        match self.states.attributes(resource) {
            Ok(mut attributes) => {
                attributes.shift_remove(SHOW);
                Ok(Value::Object(attributes))
            }
            Err(AttributeFailure::Unknown) => Err(unknown_attribute(resource, "*")),
            Err(AttributeFailure::Failed(message)) => Err(Fault::Attribute(message).into()),
        }
    }

    fn has_attribute(&self, resource: &str, attribute: &str) -> bool {
        self.states.has_attribute(resource, attribute)
    }
}

pub(crate) fn unknown_attribute(resource: &str, attribute: &str) -> ResolveError {
    TemplateError::InvalidTemplateAttribute {
        resource: resource.to_owned(),
        key: attribute.to_owned(),
    }
    .into()
}

/// Of an expression that is resolved where no cloud is at hand.
fn zones_not_known() -> ResolveError {
    Fault::ValueError("The availability zones are not known here: only the cloud can tell them".to_owned()).into()
}

/// Where nothing can be asked: constants are resolved against this.
#[derive(Default)]
pub(super) struct NothingKnown(Allowance);

impl References for NothingKnown {
    fn parameter(&self, _name: &str) -> Result<Option<Value>, ResolveError> {
        Ok(None)
    }

    fn condition(&self, name: &Value) -> Result<bool, ResolveError> {
        Err(Fault::ValueError(format!("Invalid condition \"{}\"", to_text(name))).into())
    }

    fn allowance(&self) -> &Allowance {
        &self.0
    }
}
