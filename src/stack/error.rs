//! What can go wrong with a stack as a whole.

use crate::cloud::CloudError;
use crate::store::StoreError;
use crate::template::TemplateError;

#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("{0}")]
    Template(#[from] TemplateError),
    #[error("the database failed")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Cloud(#[from] CloudError),
    #[error("The template with id {0} could not be found")]
    TemplateMissing(i64),
}
