//! The template language, pure: from values to values, without database, network or clock.
//!
//! A template is read in three steps. [`Template`] takes the parsed document and knows its version, which decides what
//! the rest may say. [`StackDefinition`] interprets it for one stack: parameters get their values, conditions are
//! decided, resources and outputs become definitions whose values are [`Expression`]s. An expression is resolved as
//! often as needed, each time through [`References`], the only window to what exists outside of the template.
//!
//! Everything here is fed by tenants: nesting, sizes and the work of a function are bounded, and each error carries the
//! text and the exception class that users of Heat know.

mod allowance;
mod attribute_index;
mod conditions;
pub mod environment;
pub mod error;
pub mod expression;
mod files;
mod foreseen;
mod functions;
mod outputs;
pub mod parameters;
mod partial;
mod place;
pub mod reading;
mod references;
mod resource_definition;
mod stack_definition;
mod survey;
mod document;
mod version;
mod world;

pub use allowance::Allowance;
pub use conditions::Conditions;
pub use document::Template;
pub use environment::{Environment, RegisteredType, ResourceRegistry};
pub use error::{CloudFault, Fault, ResolveError, TemplateError};
pub use expression::{AttributePath, Expression};
pub use files::Files;
pub use foreseen::Foreseen;
pub use functions::catalogue::{DescribedFunction, condition_functions, functions_of, was_removed};
pub use outputs::OutputDefinition;
pub use parameters::{CustomConstraintCheck, Parameter, Parameters, StackIdentity};
pub use place::Place;
pub use references::{AttributeFailure, AvailabilityZones, Facade, NoResources, References, ResourceStates, Scope};
pub(crate) use resource_definition::has_resource_key;
pub use resource_definition::{DefinitionChanges, DeletionPolicy, FrozenDefinition, ResourceDefinition};
pub use stack_definition::StackDefinition;
pub use survey::Survey;
pub use version::{TemplateVersion, VERSIONS};
pub use world::World;
