//! What the engine's code logs while it is run by hand, with secrets hidden.
//!
//! Which these are is known once the message has been read and the stack been found. What is logged before waits until then,
//! or until it is over.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::account::Account;

#[derive(Clone)]
pub struct Log {
    account: Account,
    waiting: Arc<Mutex<Vec<String>>>,
}

impl Log {
    pub fn new(account: &Account) -> Self {
        Self {
            account: account.clone(),
            waiting: Arc::default(),
        }
    }

    /// Shows what waits: it was logged before anything of a tenant was read, or it can be hidden now.
    pub fn show_waiting(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for text in waiting {
            let hidden = self.account.hide(&text).unwrap_or(text);
            // There is nobody to tell that stderr is closed.
            let _ = io::stderr().write_all(hidden.as_bytes());
        }
    }
}

impl Write for Log {
    /// An event comes as a whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        match self.account.hide(&text) {
            Some(hidden) => {
                self.show_waiting();
                io::stderr().write_all(hidden.as_bytes())?;
            }
            None => {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push(text.into_owned());
            }
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
