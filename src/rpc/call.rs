//! What a method of the contract is given: the engine to work with, and the request.

use std::sync::Arc;

use super::arguments::Arguments;
use super::handover::Handover;
use crate::convergence::engine::Convergence;
use crate::identity::RequestContext;
use crate::identity::policy::ResourcePolicy;
use crate::stack::services::Services;

/// What the methods of the contract work with.
#[derive(Clone)]
pub struct Engine {
    pub convergence: Convergence,
    pub policy: Arc<ResourcePolicy>,
    pub handover: Handover,
}

/// One request, its arguments known to fit the method.
#[derive(Debug)]
pub struct Call {
    pub context: RequestContext,
    pub arguments: Arguments,
}

impl Engine {
    pub fn services(&self) -> &Services {
        &self.convergence.services
    }
}
