//! `OS::Heat::None`: a stand-in for anything.

use async_trait::async_trait;

use super::PHYSICAL_NAME_LIMIT;
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::plugin::{Plugin, ResourceType};
use crate::resource::properties::Properties;
use crate::resource::support::SupportStatus;

pub static TYPE: ResourceType = ResourceType {
    name: "OS::Heat::None",
    python_class: "NoneResource",
    description: "\
Enables easily disabling certain resources via the resource_registry.

It does nothing, but can effectively stub out any other resource because it
will accept any properties and return any attribute (as None). Note this
resource always does nothing on update (e.g it is not replaced even if a
change to the stubbed resource properties would cause replacement).",
    support: SupportStatus::since("5.0.0"),
    service: None,
    properties: &[],
    attributes: &[],
    translation: &[],
    rules: &[],
    physical_name_limit: PHYSICAL_NAME_LIMIT,
    plugin: &NonePlugin,
};

/// Tells an object of ours from one whose real type was mapped to this one after it was made.
const IS_PLACEHOLDER: &str = "is_placeholder";

struct NonePlugin;

#[async_trait]
impl Plugin for NonePlugin {
    async fn make(&self, instance: &mut Instance) -> Result<(), Failure> {
        if instance.physical_id().is_none() {
            let id = instance.clock.new_uuid();
            instance.set_physical_id(Some(&id)).await?;
        }
        instance.set_data(IS_PLACEHOLDER, "True", false).await
    }

    /// Whatever the template gives is meant for the type that this one stands in for.
    fn shape(&self, properties: &mut Properties) {
        properties.clear();
    }

    fn takes_anything(&self) -> bool {
        true
    }

    fn ignores_updates(&self) -> bool {
        true
    }

    fn has_any_attribute(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::resource::attributes::AttributeCache;
    use crate::resource::testing;

    #[tokio::test]
    async fn it_takes_anything_and_keeps_its_id() {
        let (mut instance, notes) = testing::instance(&TYPE, json!({"flavor": "m1", "image": ["any"]}));
        assert!(instance.properties.to_stored().unwrap().is_empty());
        TYPE.plugin.make(&mut instance).await.unwrap();
        let id = instance.physical_id().unwrap().to_owned();
        TYPE.plugin.make(&mut instance).await.unwrap();
        let placeholder = "is_placeholder=True".to_owned();
        assert_eq!(notes.taken(), [format!("id {id}"), placeholder.clone(), placeholder]);
        assert_eq!(TYPE.plugin.reference_id(&instance), id);
    }

    #[tokio::test]
    async fn any_attribute_is_nothing_and_is_kept_as_such() {
        let (mut instance, _) = testing::instance(&TYPE, json!({}));
        let mut cache = AttributeCache::default();
        for (name, path) in [("anything", vec![]), ("show", vec![json!("a"), json!(0)])] {
            let value = instance.look_up(&mut cache, name, &path).await.unwrap();
            assert_eq!(value, Value::Null);
        }
        assert!(cache.has_news());
        let kept = Value::Object(cache.to_stored());
        assert_eq!(kept, json!({"anything": null, "tuple:('show', 'a', 0)": null}));
    }
}
