//! What every resource type shares: schema, properties, constraints, translation, attributes, state, the plugin contract.
//!
//! The room knows what a resource *is*, not how a stack drives it: it holds no SQL and sends no message. A type is data
//! ([`plugin::ResourceType`]) with a small [`plugin::Plugin`]; [`instance::Instance`] is what a plugin gets to see.

pub mod attributes;
pub mod constraints;
pub mod failure;
pub mod formats;
pub mod instance;
pub mod literal;
pub mod lookup;
pub mod plugin;
pub mod properties;
pub mod provider_template;
pub mod rules;
pub mod schema;
pub mod state;
pub mod support;
#[cfg(test)]
pub mod testing;
pub mod translation;
