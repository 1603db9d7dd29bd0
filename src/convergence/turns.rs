//! Taking turns at a row within one process.
//!
//! Every predecessor of a node writes to the node's sync point, by compare-and-swap. Those that finish in the same
//! process would make each other lose; here they queue up instead, and the swap only has to hold against other engines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

#[derive(Clone, Debug, Default)]
pub struct Turns {
    rows: Arc<Mutex<HashMap<String, Weak<AsyncMutex<()>>>>>,
}

/// The turn at one row; it passes on when this is dropped.
#[derive(Debug)]
pub struct Turn {
    key: String,
    turns: Turns,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    pub async fn take(&self, key: &str) -> Turn {
        let row = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            match rows.get(key).and_then(Weak::upgrade) {
                Some(row) => row,
                None => {
                    let row = Arc::new(AsyncMutex::new(()));
                    rows.insert(key.to_owned(), Arc::downgrade(&row));
                    row
                }
            }
        };
        let guard = row.lock_owned().await;
        Turn {
            key: key.to_owned(),
            turns: self.clone(),
            guard: Some(guard),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The guard holds the last strong reference unless somebody else waits.
        self.guard = None;
        let mut rows = self.turns.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.get(&self.key).is_some_and(|row| row.strong_count() == 0) {
            rows.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_nothing_is_left_behind() {
        let turns = Turns::default();
        let first = turns.take("row").await;
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { drop(turns.take("row").await) }
        });
        let _other_row = turns.take("elsewhere").await;
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
        assert_eq!(turns.rows.lock().unwrap().len(), 1);
    }
}
