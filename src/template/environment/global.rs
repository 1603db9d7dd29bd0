//! What the operator sets for all stacks: the environments of `environment_dir`.

use std::sync::Arc;

use super::registry::ResourceRegistry;
use super::{RESOURCE_REGISTRY, map_section};
use crate::template::error::TemplateError;
use crate::template::reading::read_environment;

/// Of what the files say, only what types stand for has an effect on stacks.
#[derive(Debug, Clone, Default)]
pub struct GlobalEnvironment {
    registry: ResourceRegistry,
}

impl GlobalEnvironment {
    /// Adds the text of a file on top of those before it. One that is wrong changes nothing.
    pub fn load(&mut self, text: &str) -> Result<(), TemplateError> {
        let sections = read_environment(text)?;
        let mut registry = self.registry.clone();
        registry.load(&map_section(RESOURCE_REGISTRY, sections.get(RESOURCE_REGISTRY))?)?;
        self.registry = registry;
        Ok(())
    }

    pub fn into_registry(self) -> Arc<ResourceRegistry> {
        Arc::new(self.registry)
    }
}
