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
use crate::store::{self, NewRawTemplate, RawTemplate, Session, Store, StoreError};
use crate::template::{Environment, Files, ResourceRegistry, StackDefinition, Template, World};

/// Bytes of templates, and of what they define, that are kept at a time.
const KEPT_TEMPLATES: u64 = 12 << 20;
const KEPT_DEFINITIONS: u64 = 24 << 20;

/// How much larger than its text a template is in memory, and what it defines.
const TEMPLATE_TO_TEXT: usize = 5;
const DEFINITION_TO_TEXT: usize = 10;
/// What a small one takes besides.
const LEAST_BYTES: usize = 8192;

/// Something that was made of a template's text.
#[derive(Debug)]
struct Kept<T> {
    value: Arc<T>,
    bytes_of_text: usize,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            bytes_of_text: self.bytes_of_text,
        }
    }
}

impl<T> Kept<T> {
    fn weight(&self, to_text: usize) -> u32 {
        u32::try_from(LEAST_BYTES + to_text * self.bytes_of_text).unwrap_or(u32::MAX)
    }
}

#[derive(Clone)]
pub struct Templates {
    store: Store,
    key: EncryptionKey,
    /// Encrypt hidden parameters (`encrypt_parameters_and_properties`).
    encrypt: bool,
    /// What the operator has types stand for.
    global: Arc<ResourceRegistry>,
    world: World,
    parsed: Cache<i64, Kept<Template>>,
    definitions: Cache<(String, i64), Kept<StackDefinition>>,
}

/// A template that has no rows yet.
#[derive(Clone)]
pub struct NewTemplate {
    template: Arc<Template>,
    row: NewRawTemplate,
    /// JSON text.
    files: Option<String>,
}

impl NewTemplate {
    /// Writes the rows, and gives the template's id.
    pub async fn write(&self, session: &mut Session) -> Result<i64, StoreError> {
        let mut row = self.row.clone();
        if let Some(files) = &self.files {
            row.files_id = Some(session.raw_template_files_create(files).await?);
        }
        session.raw_template_create(&row).await
    }
}

impl Templates {
    pub fn new(store: Store, key: EncryptionKey, encrypt: bool, global: Arc<ResourceRegistry>, world: World) -> Self {
        Self {
            store,
            key,
            encrypt,
            global,
            world,
            parsed: Cache::builder()
                .max_capacity(KEPT_TEMPLATES)
                .weigher(|_: &i64, kept: &Kept<Template>| kept.weight(TEMPLATE_TO_TEXT))
                .build(),
            definitions: Cache::builder()
                .max_capacity(KEPT_DEFINITIONS)
                .weigher(|_: &(String, i64), kept: &Kept<StackDefinition>| kept.weight(DEFINITION_TO_TEXT))
                .build(),
        }
    }

    pub async fn get(&self, id: i64) -> Result<Arc<Template>, StackError> {
        Ok(self.kept(id).await?.value)
    }

    async fn kept(&self, id: i64) -> Result<Kept<Template>, StackError> {
        if let Some(template) = self.parsed.get(&id).await {
            return Ok(template);
        }
        let row = self
            .store
            .raw_template_get(id)
            .await?
            .ok_or(StackError::TemplateMissing(id))?;
        let bytes_of_text = row.template.as_ref().map_or(0, String::len);
        let template = Kept {
            value: Arc::new(self.parse(row).await?),
            bytes_of_text,
        };
        self.parsed.insert(id, template.clone()).await;
        Ok(template)
    }

    /// What a template defines for a stack.
    pub async fn definition(&self, stack: &store::Stack, template_id: i64) -> Result<Arc<StackDefinition>, StackError> {
        let key = (stack.id.clone(), template_id);
        // The checks of a new stack all want it at once; one makes it.
        match self
            .definitions
            .try_get_with(key, self.define(stack, template_id))
            .await
        {
            Ok(definition) => Ok(definition.value),
            Err(shared) => match Arc::try_unwrap(shared) {
                Ok(error) => Err(error),
                // Somebody else has the error; ours may be another by now.
                Err(_) => Ok(self.define(stack, template_id).await?.value),
            },
        }
    }

    async fn define(&self, stack: &store::Stack, template_id: i64) -> Result<Kept<StackDefinition>, StackError> {
        let template = self.kept(template_id).await?;
        let definition = StackDefinition::new(template.value, &identity_of(stack, true), &self.world)?;
        Ok(Kept {
            value: Arc::new(definition),
            bytes_of_text: template.bytes_of_text,
        })
    }

    /// An environment that a user gives, over what the operator has set.
    pub fn environment(&self, given: &Value) -> Result<Environment, StackError> {
        Ok(Environment::from_value(given)?.under(&self.global))
    }

    /// Stores a template and gives the id of its row.
    pub async fn insert(&self, template: &Arc<Template>, definition: &StackDefinition) -> Result<i64, StackError> {
        let new = self.prepare(template, definition)?;
        let write = self
            .store
            .transaction(new.clone(), |session, new| Box::pin(new.write(session)));
        let id = write.await?;
        self.remember(id, new).await;
        Ok(id)
    }

    /// What a template's rows will be.
    pub fn prepare(&self, template: &Arc<Template>, definition: &StackDefinition) -> Result<NewTemplate, StackError> {
        let mut template = with_types_looked_up(template, definition);
        let mut environment = object(template.environment().to_stored());
        if self.encrypt {
            let hidden = definition.parameters().hidden_texts()?;
            let names = self.key.hide_parameters(&mut environment, &hidden)?;
            // What is kept says what the row says, so that all engines show the same.
            Arc::make_mut(&mut template).environment_mut().note_encrypted(names);
        }
        let files = template.files();
        Ok(NewTemplate {
            files: (!files.is_empty()).then(|| dumps(&files.to_value())),
            row: NewRawTemplate {
                template: dumps(&Value::Object(template.body().clone())),
                environment: dumps(&Value::Object(environment)),
                files_id: None,
            },
            template,
        })
    }

    /// Keeps what was written, so that nobody has to read it.
    pub async fn remember(&self, id: i64, new: NewTemplate) {
        let kept = Kept {
            value: new.template,
            bytes_of_text: new.row.template.len(),
        };
        self.parsed.insert(id, kept).await;
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
