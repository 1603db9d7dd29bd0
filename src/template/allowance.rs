//! What the functions of a template may cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;

use super::error::{Fault, TemplateError};
use crate::yaql;

const MIB: usize = 1024 * 1024;

/// How large one value may become on its way. Functions multiply: a template of a few hundred bytes can ask for terabytes.
pub(super) const WORK_FOR_ONE: usize = 64 * MIB;
/// For all values of one template, one after the other.
const WORK_TOGETHER: usize = 4096 * MIB;
/// For all values that are there at the same time.
const KEPT_TOGETHER: usize = 256 * MIB;

/// What all that is computed of one template, in one look at it, may cost together, however many functions, properties and
/// outputs there are. Clones share it.
#[derive(Debug, Clone)]
pub struct Allowance {
    left: Arc<Left>,
    pub(super) yaql: yaql::Allowance,
}

#[derive(Debug)]
struct Left {
    work: AtomicUsize,
    kept: AtomicUsize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            left: Arc::new(Left {
                work: AtomicUsize::new(WORK_TOGETHER),
                kept: AtomicUsize::new(KEPT_TOGETHER),
            }),
            yaql: yaql::Allowance::default(),
        }
    }
}

impl Allowance {
    /// Pays for work before it is done.
    pub(super) fn spend(&self, work: usize) -> Result<(), Fault> {
        take(&self.left.work, work).ok_or_else(|| exceeded("the values of the template's functions are", WORK_TOGETHER))
    }

    /// Pays for a value that stays while others are computed, and becomes text with them so many times.
    pub fn keep(&self, value: Value, times_as_text: usize) -> Result<Value, Fault> {
        take(&self.left.kept, (1 + times_as_text) * weight(&value))
            .map(|()| value)
            .ok_or_else(|| exceeded("the values of the template are", KEPT_TOGETHER))
    }
}

fn take(left: &AtomicUsize, wanted: usize) -> Option<()> {
    left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(wanted))
        .ok()
        .map(drop)
}

fn exceeded(what: &str, limit: usize) -> Fault {
    Fault::Template(TemplateError::AllowanceExceeded {
        message: format!("{what} too large together (more than {limit} bytes)"),
    })
}

/// About what a value takes, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(entries) => entries.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_stays_is_paid_together_and_by_how_often_it_is_there() {
        let allowance = Allowance::default();
        let large = json!({"x": ["a".repeat(MIB)]});
        let kept = (0..10)
            .filter(|_| allowance.clone().keep(large.clone(), 63).is_ok())
            .count();
        assert_eq!(kept, 3);
        assert!(allowance.keep(json!("small"), 63).is_ok());
    }

    #[test]
    fn work_is_paid_together() {
        let allowance = Allowance::default();
        assert!(allowance.spend(WORK_TOGETHER).is_ok());
        let refused = allowance.clone().spend(1).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Request limit exceeded: the values of the template's functions are too large together \
             (more than 4294967296 bytes)"
        );
        assert!(Allowance::default().spend(1).is_ok());
    }
}
