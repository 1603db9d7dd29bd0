//! The unique part of the names of reply and fanout queues.
//!
//! With `use_queue_manager` a restarted process finds its old queues again: names count up from one. oslo.messaging counts in
//! shared memory, for the processes of one group; two groups under one name (two engines on a host, or one of ours beside
//! a Python one with the same `processname`) begin with the same numbers and take each other's replies. So each engine
//! of ours takes a place for as long as it runs, the first that is free, and its place is part of the name.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Clock;
use crate::settings::RabbitSettings;

const SHARED_MEMORY: &str = "/dev/shm";

/// Names for the queues of this process.
#[derive(Clone, Debug)]
pub(super) enum QueueNames {
    Random(Clock),
    Counted(Arc<Counted>),
}

#[derive(Debug)]
pub(super) struct Counted {
    directory: PathBuf,
    host: String,
    process: String,
    /// Taken with the first name; the lock on the file is what holds it.
    place: Mutex<Option<(u32, File)>>,
    count: AtomicU64,
}

impl QueueNames {
    pub(super) fn new(options: &RabbitSettings, clock: Clock) -> Self {
        if !options.use_queue_manager {
            return Self::Random(clock);
        }
        let (host, process) = (&options.hostname, &options.processname);
        Self::Counted(Arc::new(Counted::new(Path::new(SHARED_MEMORY), host, process)))
    }

    pub(super) fn unique(&self) -> io::Result<String> {
        match self {
            Self::Random(clock) => Ok(hex_id(clock)),
            Self::Counted(counted) => counted.next(),
        }
    }
}

/// `uuid4().hex`.
pub(super) fn hex_id(clock: &Clock) -> String {
    clock.new_uuid().replace('-', "")
}

impl Counted {
    fn new(directory: &Path, host: &str, process: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            host: host.to_owned(),
            // No Python process has such a name.
            process: format!("{process}-rs"),
            place: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    fn next(&self) -> io::Result<String> {
        let place = self.place()?;
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(format!("{}:{}{place}:{number}", self.host, self.process))
    }

    fn place(&self) -> io::Result<u32> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, _)) = &*place {
            return Ok(*number);
        }
        for number in 1.. {
            let name = format!("{}_{}{number}_qmanager", self.host, self.process);
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(self.directory.join(name))?;
            match file.try_lock() {
                Ok(()) => {
                    *place = Some((number, file));
                    return Ok(number);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::ErrorKind::QuotaExceeded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_of_a_host_counts_by_itself_and_the_next_takes_its_place() {
        let directory = std::env::temp_dir().join(format!("qmanager-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let engine = || Counted::new(&directory, "node", "heat-engine");
        let (first, second) = (engine(), engine());
        let names = [first.next(), second.next(), first.next()].map(Result::unwrap);
        assert_eq!(
            names,
            [
                "node:heat-engine-rs1:1",
                "node:heat-engine-rs2:1",
                "node:heat-engine-rs1:2"
            ]
        );
        drop(first);
        assert_eq!(engine().next().unwrap(), "node:heat-engine-rs1:1");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
