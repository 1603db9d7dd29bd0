//! What `get_attr` gives for one resource: from what is kept of it, or else from the world.

use serde_json::Value;

use super::attributes::{self, AttributeCache, SHOW, attribute_key};
use super::failure::{Failure, Remedy};
use super::instance::Instance;
use crate::exception::RemoteException;

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error("The Referenced Attribute ({resource} {attribute}) is incorrect.")]
    NoSuchAttribute { resource: String, attribute: String },
    #[error(transparent)]
    Failed(Failure),
}

impl RemoteException for LookupError {
    fn class_name(&self) -> &'static str {
        match self {
            Self::NoSuchAttribute { .. } => "InvalidTemplateAttribute",
            Self::Failed(failure) => failure.class_name(),
        }
    }
}

impl Instance {
    /// The value at a path into an attribute. What a service no longer has is null; what was learned goes into the
    /// cache, which the caller stores.
    pub async fn look_up(
        &mut self,
        cache: &mut AttributeCache,
        name: &str,
        path: &[Value],
    ) -> Result<Value, LookupError> {
        let resource_type = self.resource_type;
        if resource_type.plugin.has_any_attribute() {
            return self.answer(cache, name, path).await;
        }
        let Some(attribute) = attributes::find(resource_type.attributes, name) else {
            return Err(LookupError::NoSuchAttribute {
                resource: self.name.clone(),
                attribute: name.to_owned(),
            });
        };
        if let Some(kept) = cache.get(attribute, name) {
            return Ok(attributes::select(kept, path));
        }
        let value = self.ask_for(name).await?;
        cache.learn(attribute, &self.name, &value);
        Ok(attributes::select(&value, path))
    }

    /// A type that answers to any name is asked once for each name and path, and its answers are kept as they are.
    async fn answer(&mut self, cache: &mut AttributeCache, name: &str, path: &[Value]) -> Result<Value, LookupError> {
        let key = attribute_key(name, path);
        if let Some(kept) = cache.answer(&key) {
            return Ok(kept.clone());
        }
        let value = attributes::select(&self.ask_for(name).await?, path);
        cache.keep_answer(key, &value);
        Ok(value)
    }

    async fn ask_for(&mut self, name: &str) -> Result<Value, LookupError> {
        let plugin = self.resource_type.plugin;
        let answer = if name != SHOW.name || plugin.has_any_attribute() {
            plugin.attribute(self, name).await
        } else if self.physical_id().is_some() {
            plugin.show(self).await
        } else {
            Ok(None)
        };
        match answer {
            Ok(value) => Ok(value.unwrap_or_default()),
            Err(failure) if failure.remedy == Remedy::Missing => Ok(Value::Null),
            Err(failure) => Err(LookupError::Failed(failure)),
        }
    }
}
