//! The unique part of the names of reply and fanout queues.
//!
//! With `use_queue_manager` a restarted process finds its old queues again: names count up from one for each
//! generation of a service. The count is kept in shared memory, in oslo.messaging's own file and format, for the
//! processes of one service on one host; a generation is a process group and the time at which its leader started.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use crate::clock::Clock;
use crate::settings::RabbitSettings;

/// Names for the queues of this process.
#[derive(Clone, Debug)]
pub(super) enum QueueNames {
    Random(Clock),
    Counted { host: String, process: String },
}

impl QueueNames {
    pub(super) fn new(options: &RabbitSettings, clock: Clock) -> Self {
        if options.use_queue_manager {
            Self::Counted {
                host: options.hostname.clone(),
                process: options.processname.clone(),
            }
        } else {
            Self::Random(clock)
        }
    }

    pub(super) fn unique(&self) -> io::Result<String> {
        match self {
            Self::Random(clock) => Ok(hex_id(clock)),
            Self::Counted { host, process } => {
                let path = format!("/dev/shm/{host}_{process}_qmanager");
                Ok(format!(
                    "{host}:{process}:{}",
                    next_count(&path, Generation::of_this_process()?)?
                ))
            }
        }
    }
}

/// `uuid4().hex`.
pub(super) fn hex_id(clock: &Clock) -> String {
    clock.new_uuid().replace('-', "")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generation {
    process_group: u64,
    /// In clock ticks since the system was booted, so that a process id used again is told apart.
    started: u64,
}

impl Generation {
    fn of_this_process() -> io::Result<Self> {
        let process_group = stat_field("self", 5)?;
        let leader = if process_group == 0 {
            std::process::id().into()
        } else {
            process_group
        };
        // The leader may have ended before those it started.
        let started = stat_field(&leader.to_string(), 22).or_else(|_| stat_field("self", 22))?;
        Ok(Self { process_group, started })
    }
}

/// A field of `/proc/PID/stat`, counted from one. The second, the program's name, may hold spaces.
fn stat_field(process: &str, number: usize) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let field = after_name
        .split(' ')
        .nth(number - 3)
        .and_then(|field| field.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("/proc/{process}/stat has no field {number}")))
}

fn next_count(path: &str, present: Generation) -> io::Result<u64> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let count = match parse_count(&text) {
        Some((generation, count)) if generation == present => count + 1,
        _ => 1,
    };
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}:{count}:{}", present.process_group, present.started)?;
    Ok(count)
}

fn parse_count(text: &str) -> Option<(Generation, u64)> {
    let mut fields = text.lines().next()?.split(':').map(|field| field.trim().parse().ok());
    let (process_group, count, started) = (fields.next()??, fields.next()??, fields.next()??);
    Some((Generation { process_group, started }, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_counts_up_and_the_next_begins_anew() {
        let path = std::env::temp_dir().join(format!("qmanager-{}", std::process::id()));
        let path = path.to_str().unwrap();
        let first = Generation {
            process_group: 7,
            started: 1,
        };
        let second = Generation {
            process_group: 7,
            started: 2,
        };
        let counts: Vec<u64> = [first, first, first, second, second]
            .map(|generation| next_count(path, generation).unwrap())
            .into();
        std::fs::remove_file(path).unwrap();
        assert_eq!(counts, [1, 2, 3, 1, 2]);
    }

    #[test]
    fn this_process_has_a_generation() {
        assert!(Generation::of_this_process().unwrap().started > 0);
    }
}
