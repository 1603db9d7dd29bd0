//! What expressions may use, and from whom they learn about time and chance: the language itself knows neither.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::yaql::{Allowance, Error, Limits, Statement, Surroundings};

#[derive(Clone)]
pub struct World {
    limits: Limits,
    surroundings: Arc<dyn Fn() -> Surroundings + Send + Sync>,
}

impl World {
    pub fn new(limits: Limits, surroundings: impl Fn() -> Surroundings + Send + Sync + 'static) -> Self {
        Self {
            limits,
            surroundings: Arc::new(surroundings),
        }
    }

    /// With the stock limits, at a moment that does not pass.
    pub fn still(surroundings: Surroundings) -> Self {
        Self::new(Limits::default(), move || surroundings)
    }

    pub(super) fn evaluate(&self, statement: &Statement, data: &Value, allowance: &Allowance) -> Result<Value, Error> {
        statement.evaluate(data, self.limits, (self.surroundings)(), allowance, |value| {
            value.to_json()
        })
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
