//! What all of Keystone's objects share: a collection, a key around the body, an owner by domain, a unique name.

use serde_json::{Map, Value, json};

use crate::cloud::{Advice, CloudError, ServiceClient, segment};
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::plugin::Change;

/// A kind of object of Keystone's API.
pub(super) struct Kind {
    pub collection: &'static str,
    pub key: &'static str,
}

impl Kind {
    fn path(&self, id: &str) -> String {
        format!("{}/{}", self.collection, segment(id))
    }

    async fn api(&self, instance: &Instance) -> Result<ServiceClient, CloudError> {
        instance.session.keystone().await
    }

    /// Makes the object that `fields` describe and stores its id.
    ///
    /// A name that is ours alone (the physical name) can only be in use by what a lost attempt made: that is taken over.
    pub async fn create(&self, instance: &mut Instance, fields: Map<String, Value>) -> Result<(), Failure> {
        let api = self.api(instance).await?;
        let body = json!({ self.key: &fields });
        let made = match api.post(self.collection, body).send_for(self.key).await {
            Err(error) if error.is_conflict() && fields["name"] == instance.physical_name() => {
                self.take_over(&api, &fields).await?.ok_or(error)?
            }
            outcome => outcome?,
        };
        instance.set_physical_id(made["id"].as_str()).await
    }

    async fn take_over(&self, api: &ServiceClient, fields: &Map<String, Value>) -> Result<Option<Value>, CloudError> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(id) = self.find(api, text("name"), text("domain_id")).await? else {
            return Ok(None);
        };
        tracing::info!(id, "taking over what a lost attempt made");
        let body = json!({ self.key: changeable(fields) });
        api.patch(self.path(&id), body).send_for(self.key).await.map(Some)
    }

    async fn find(&self, api: &ServiceClient, name: &str, domain: &str) -> Result<Option<String>, CloudError> {
        let request = api.get(self.collection).query("name", name).query("domain_id", domain);
        let found = request.send_for(self.collection).await?;
        Ok(found[0]["id"].as_str().map(str::to_owned))
    }

    /// The object that an attempt made which was lost before it had stored the id. Under a name that others may use too it
    /// cannot be told; and who may not look has none.
    async fn find_lost(&self, api: &ServiceClient, instance: &Instance) -> Result<Option<String>, Failure> {
        if instance.properties.is_given("name") {
            return Ok(None);
        }
        let domain = instance.properties.text("domain")?.unwrap_or_default();
        match self.find(api, &instance.physical_name(), &domain).await {
            Err(error) if error.advice() != Advice::Retry => {
                tracing::debug!(%error, "cannot look for what a lost attempt made");
                Ok(None)
            }
            found => Ok(found?),
        }
    }

    pub async fn update(&self, instance: &Instance, fields: Map<String, Value>) -> Result<(), Failure> {
        let Some(id) = instance.physical_id() else {
            return Err(Failure::missing(
                "NotFound",
                format!("{} was never made", instance.name),
            ));
        };
        let api = self.api(instance).await?;
        api.patch(self.path(id), json!({ self.key: fields }))
            .repeatable(true)
            .send()
            .await?;
        Ok(())
    }

    /// What is gone, or was never made, needs no deletion.
    pub async fn delete(&self, instance: &Instance) -> Result<(), Failure> {
        let api = match self.api(instance).await {
            Err(error) if instance.physical_id().is_none() && error.advice() != Advice::Retry => return Ok(()),
            api => api?,
        };
        let id = match instance.physical_id() {
            Some(id) => id.to_owned(),
            None => match self.find_lost(&api, instance).await? {
                Some(id) => id,
                None => return Ok(()),
            },
        };
        match api.delete(self.path(&id)).send().await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => Ok(outcome.map(drop)?),
        }
    }

    /// The object as Keystone shows it.
    pub async fn show(&self, instance: &Instance) -> Result<Option<Value>, Failure> {
        let Some(id) = instance.physical_id() else {
            return Ok(None);
        };
        let api = self.api(instance).await?;
        Ok(Some(api.get(self.path(id)).send_for(self.key).await?))
    }

    pub async fn attribute(&self, instance: &Instance, name: &str) -> Result<Option<Value>, Failure> {
        let shown = self.show(instance).await?;
        Ok(shown.and_then(|shown| shown.get(name).cloned()))
    }

    /// The properties that Keystone shows under the same name. A name that the template left to the engine stays so.
    pub async fn observe(&self, instance: &Instance, names: &[&str]) -> Result<Option<Map<String, Value>>, Failure> {
        let Some(shown) = self.show(instance).await? else {
            return Ok(None);
        };
        let mut live = Map::new();
        for name in names {
            if *name != "name" || instance.properties.is_given("name") {
                live.insert((*name).to_owned(), shown[*name].clone());
            }
        }
        live.insert("domain".to_owned(), shown["domain_id"].clone());
        Ok(Some(live))
    }
}

/// The name that the object is to have.
pub(super) fn name_of(instance: &Instance) -> Result<String, Failure> {
    Ok(instance
        .properties
        .text("name")?
        .unwrap_or_else(|| instance.physical_name()))
}

/// The new name, if an update changes it.
pub(super) fn new_name(instance: &Instance, change: &Change<'_>) -> Result<Option<String>, Failure> {
    if !change.touches("name") {
        return Ok(None);
    }
    Ok(Some(
        change.after.text("name")?.unwrap_or_else(|| instance.physical_name()),
    ))
}

/// Fields that have a value; others are not Keystone's business.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Parents are for ever.
fn changeable(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut changeable = fields.clone();
    changeable.remove("parent_id");
    changeable
}
