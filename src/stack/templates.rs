//! Templates by the id of their row. A row never changes while a stack refers to it, so each is read and parsed once.

use std::sync::Arc;

use moka::future::Cache;

use super::error::StackError;
use crate::identity::crypt::Cipher;
use crate::store::Store;
use crate::template::Template;

/// Templates that are kept at a time; one may be as large as `max_template_size`.
const KEPT: u64 = 200;

#[derive(Clone)]
pub struct Templates {
    parsed: Cache<i64, Arc<Template>>,
    cipher: Cipher,
}

impl Templates {
    pub fn new(cipher: Cipher) -> Self {
        Self { parsed: Cache::new(KEPT), cipher }
    }
}
