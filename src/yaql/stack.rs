//! How much of the stack an expression may use. Frames differ in size from build to build, so that counting calls alone
//! would not do; and few expressions are so deep that they are worth a stack of their own.

use std::cell::Cell;

use super::error::Error;

/// Of whatever stack the thread has.
const ORDINARY: usize = 512 * 1024;
/// Of a stack that is made for an expression. It takes memory only as far as it is used.
const DEEP: usize = 24 * 1024 * 1024;
/// What is called without asking uses this much more at most.
const ROOM: usize = 8 * 1024 * 1024;

/// The use of a stack from some place on.
#[derive(Debug)]
pub struct Stack {
    start: usize,
    most: usize,
    is_exhausted: Cell<bool>,
}

impl Stack {
    pub fn ordinary() -> Self {
        Self::with(ORDINARY)
    }

    fn with(most: usize) -> Self {
        Self {
            start: Self::address(),
            most,
            is_exhausted: Cell::new(false),
        }
    }

    pub fn check(&self) -> Result<(), Error> {
        if self.start.abs_diff(Self::address()) > self.most {
            self.is_exhausted.set(true);
            return Err(Error::recursion());
        }
        Ok(())
    }

    /// Whether a check has failed, whatever became of its error.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// About where the stack is now.
    fn address() -> usize {
        let marker = 0_u8;
        (&raw const marker).addr()
    }
}

/// Does something with a deep stack.
pub fn deep<T: Send>(work: impl FnOnce(Stack) -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP + ROOM);
        let work = thread.spawn_scoped(scope, || work(Stack::with(DEEP)));
        // Without a thread it goes too deep, as it would in Python.
        let work = work.map_err(|_| Error::recursion())?;
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
