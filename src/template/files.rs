//! The files that travel with a template.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::TemplateError;
use crate::python::{to_text, value::class_name};

/// Contents by name; cheap to share between templates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Files(Arc<Map<String, Value>>);

impl Files {
    /// Takes what a request brings or a row holds: a map, or nothing.
    pub fn from_value(files: Value) -> Result<Self, TemplateError> {
        match files {
            Value::Null => Ok(Self::default()),
            Value::Object(files) => Ok(Self(Arc::new(files))),
            other => Err(TemplateError::value_error(format!(
                "Expected dict, got <class '{}'> for files, (value is {})",
                class_name(&other),
                to_text(&other)
            ))),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    pub fn to_value(&self) -> Value {
        Value::Object(Map::clone(&self.0))
    }

    /// These files with others added; the others win.
    pub fn updated(&self, others: &Files) -> Self {
        if others.is_empty() {
            return self.clone();
        }
        let mut files = Map::clone(&self.0);
        files.extend(others.0.iter().map(|(name, content)| (name.clone(), content.clone())));
        Self(Arc::new(files))
    }
}
