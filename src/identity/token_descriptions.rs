//! What Keystone says of a caller's token, shared between the requests of one caller.
//!
//! With the service catalogue it is by far the largest part of a context, it comes with every message of a traversal, and a
//! check keeps its context for as long as it waits for its object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;

use super::context::RequestContext;

/// The descriptions that are in use, by token.
#[derive(Clone, Debug, Default)]
pub struct TokenDescriptions(Arc<Mutex<HashMap<String, Weak<Value>>>>);

impl TokenDescriptions {
    /// Lets the context have the description that others have already, if it is the same.
    pub fn share(&self, context: &mut RequestContext) {
        let (Some(token), Some(description)) = (&context.auth_token, &mut context.auth_token_info) else {
            return;
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(token).and_then(Weak::upgrade) {
            Some(shared) if shared == *description => *description = shared,
            _ => {
                known.retain(|_, description| description.strong_count() > 0);
                known.insert(token.clone(), Arc::downgrade(description));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context(token: &str, description: &Value) -> RequestContext {
        RequestContext {
            auth_token: Some(token.to_owned()),
            auth_token_info: Some(Arc::new(description.clone())),
            ..RequestContext::default()
        }
    }

    fn is_one(one: &RequestContext, other: &RequestContext) -> bool {
        let description = |context: &RequestContext| context.auth_token_info.clone().unwrap();
        Arc::ptr_eq(&description(one), &description(other))
    }

    #[test]
    fn the_same_is_kept_once_and_only_while_it_is_used() {
        let descriptions = TokenDescriptions::default();
        let said = json!({"token": {"catalog": [1, 2]}});
        let mut first = context("a", &said);
        let mut second = context("a", &said);
        let mut renewed = context("a", &json!({"token": {"catalog": [3]}}));
        let mut other = context("b", &said);
        for context in [&mut first, &mut second, &mut other, &mut renewed] {
            descriptions.share(context);
        }
        assert!(is_one(&first, &second) && !is_one(&first, &other) && !is_one(&first, &renewed));
        assert_eq!(
            renewed.auth_token_info.as_deref(),
            Some(&json!({"token": {"catalog": [3]}}))
        );
        drop((first, second, other, renewed));
        let last = &mut context("c", &said);
        descriptions.share(last);
        assert_eq!(descriptions.0.lock().unwrap().len(), 1);
    }
}
