//! Constraints that only a check at run time can tell, as far as nobody has to be asked.

use async_trait::async_trait;
use serde_json::Value;

use crate::plugins::questions;
use crate::resource::constraints::CustomConstraints;
use crate::resource::formats;
use crate::template::TemplateError;
use crate::template::parameters::Parameter;

/// Takes it that services know all they would be asked for.
pub struct NobodyToAsk;

#[async_trait]
impl CustomConstraints for NobodyToAsk {
    async fn validate(&self, name: &str, value: &Value) -> Result<(), String> {
        formats::check(name, value).unwrap_or(Ok(()))
    }
}

pub fn validate_parameter(parameter: &Parameter, with_value: bool) -> Result<(), TemplateError> {
    for check in parameter.validate(with_value)? {
        match formats::check(&check.constraint, &check.value) {
            Some(checked) => checked.map_err(|message| check.failure(&message))?,
            None if questions::is_known(&check.constraint) => {}
            None => return Err(check.unknown()),
        }
    }
    Ok(())
}
