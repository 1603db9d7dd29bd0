//! Templates by the id of their row, and what they define for a stack. A row never changes while a stack refers to it,
//! so each is read, parsed and interpreted once.

use std::sync::Arc;

use moka::future::Cache;
use serde_json::{Map, Value};

use super::error::StackError;
use super::identifier::identity_of;
use crate::identity::crypt::EncryptionKey;
use crate::plugins;
use crate::python::dumps;
use crate::python::json_reader::loads;
use crate::store::{self, NewRawTemplate, RawTemplate, Store};
use crate::template::{Environment, Files, ResourceRegistry, StackDefinition, Template, World};

/// How many are kept at a time; one may be as large as `max_template_size`.
const KEPT_TEMPLATES: u64 = 200;
const KEPT_DEFINITIONS: u64 = 200;

#[derive(Clone)]
pub struct Templates {
    store: Store,
    key: EncryptionKey,
    /// Encrypt hidden parameters (`encrypt_parameters_and_properties`).
    encrypt: bool,
    /// What the operator has types stand for.
    global: Arc<ResourceRegistry>,
    world: World,
    parsed: Cache<i64, Arc<Template>>,
    definitions: Cache<(String, i64), Arc<StackDefinition>>,
}

impl Templates {
    pub fn new(store: Store, key: EncryptionKey, encrypt: bool, global: Arc<ResourceRegistry>, world: World) -> Self {
        Self {
            store,
            key,
            encrypt,
            global,
            world,
            parsed: Cache::new(KEPT_TEMPLATES),
            definitions: Cache::new(KEPT_DEFINITIONS),
        }
    }

    pub async fn get(&self, id: i64) -> Result<Arc<Template>, StackError> {
        if let Some(template) = self.parsed.get(&id).await {
            return Ok(template);
        }
        let row = self
            .store
            .raw_template_get(id)
            .await?
            .ok_or(StackError::TemplateMissing(id))?;
        let template = Arc::new(self.parse(row).await?);
        self.parsed.insert(id, template.clone()).await;
        Ok(template)
    }

    /// What a template defines for a stack.
    pub async fn definition(&self, stack: &store::Stack, template_id: i64) -> Result<Arc<StackDefinition>, StackError> {
        let key = (stack.id.clone(), template_id);
        if let Some(definition) = self.definitions.get(&key).await {
            return Ok(definition);
        }
        let template = self.get(template_id).await?;
        let definition = Arc::new(StackDefinition::new(template, &identity_of(stack, true), &self.world)?);
        self.definitions.insert(key, definition.clone()).await;
        Ok(definition)
    }

    /// An environment that a user gives, over what the operator has set.
    pub fn environment(&self, given: &Value) -> Result<Environment, StackError> {
        Ok(Environment::from_value(given)?.under(&self.global))
    }

    /// Stores a template and gives the id of its row.
    pub async fn insert(&self, template: &Arc<Template>, definition: &StackDefinition) -> Result<i64, StackError> {
        let mut template = with_types_looked_up(template, definition);
        let mut environment = object(template.environment().to_stored());
        if self.encrypt {
            let hidden = definition.parameters().hidden_texts()?;
            let names = self.key.hide_parameters(&mut environment, &hidden)?;
            // What is kept says what the row says, so that all engines show the same.
            Arc::make_mut(&mut template).environment_mut().note_encrypted(names);
        }
        let files_id = match template.files().is_empty() {
            true => None,
            false => Some(
                self.store
                    .raw_template_files_create(&dumps(&template.files().to_value()))
                    .await?,
            ),
        };
        let row = NewRawTemplate {
            template: dumps(&Value::Object(template.body().clone())),
            environment: dumps(&Value::Object(environment)),
            files_id,
        };
        let id = self.store.raw_template_create(&row).await?;
        self.parsed.insert(id, template.clone()).await;
        Ok(id)
    }

    async fn parse(&self, row: RawTemplate) -> Result<Template, StackError> {
        let body = read(row.template.as_deref())?;
        let mut environment = object(read(row.environment.as_deref())?);
        self.key.reveal_parameters(&mut environment)?;
        let files = match row.files_id {
            Some(files_id) => read(self.store.raw_template_files_get(files_id).await?.flatten().as_deref())?,
            None => read(row.files.as_deref())?,
        };
        let environment = self.environment(&Value::Object(environment))?;
        Ok(Template::new(body, environment, Files::from_value(files)?)?)
    }
}

/// The template with an environment that tells what the types of its resources stand for.
fn with_types_looked_up(template: &Arc<Template>, definition: &StackDefinition) -> Arc<Template> {
    let is_plugin = |name: &str| plugins::find(name).is_some();
    let mut environment = template.environment().clone();
    for resource in definition.resources().values() {
        environment
            .registry
            .remember(&resource.resource_type, &resource.name, &is_plugin);
    }
    if environment == *template.environment() {
        return template.clone();
    }
    Arc::new(Template::clone(template).with_environment(environment))
}

fn read(text: Option<&str>) -> Result<Value, StackError> {
    match text {
        None => Ok(Value::Null),
        Some(text) => loads(text).map_err(StackError::TemplateUnreadable),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(entries) => entries,
        _ => Map::new(),
    }
}
