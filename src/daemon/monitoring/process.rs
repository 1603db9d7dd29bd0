//! What the system knows of this process, under the names that Prometheus has for it.

use metrics::{describe_gauge, gauge};

const CPU: &str = "process_cpu_seconds_total";
const MEMORY: &str = "process_resident_memory_bytes";
const FILES: &str = "process_open_fds";
const MOST_FILES: &str = "process_max_fds";
const THREADS: &str = "process_threads";
const START: &str = "process_start_time_seconds";

/// The unit of times in `/proc/PID/stat`: the same on all architectures of Linux.
const TICKS_IN_A_SECOND: f64 = 100.0;

pub fn describe() {
    describe_gauge!(MEMORY, "Memory that the process holds, in bytes");
    describe_gauge!(FILES, "Files and connections that are open");
    describe_gauge!(MOST_FILES, "Files and connections that may be open");
    describe_gauge!(THREADS, "Threads of the process");
    describe_gauge!(START, "When the process was started, in seconds since 1970");
}

/// What is not told is left out.
pub fn update() {
    if let Some(bytes) = resident_memory() {
        gauge!(MEMORY).set(bytes as f64);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        gauge!(FILES).set(open.count() as f64);
    }
    if let Some(most) = most_files() {
        gauge!(MOST_FILES).set(most);
    }
    let Some(stat) = Stat::read() else { return };
    gauge!(THREADS).set(stat.threads);
    if let Some(booted) = booted_at() {
        gauge!(START).set(booted + stat.started_after_boot);
    }
}

/// The part of the page that counters cannot give: they count whole numbers, and an engine is idle for most of its seconds.
pub fn processor_time() -> String {
    let Some(stat) = Stat::read() else {
        return String::new();
    };
    format!(
        "# HELP {CPU} Time that the process has computed, in seconds\n# TYPE {CPU} counter\n{CPU} {}\n",
        stat.cpu_seconds
    )
}

/// In bytes.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

struct Stat {
    cpu_seconds: f64,
    threads: f64,
    started_after_boot: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        Self::parse(&text)
    }

    /// The second field, the program's name, may hold spaces; the others are counted from behind it.
    fn parse(text: &str) -> Option<Self> {
        let (_, behind_name) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = behind_name.split(' ').collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (number(14)? + number(15)?) / TICKS_IN_A_SECOND,
            threads: number(20)?,
            started_after_boot: number(22)? / TICKS_IN_A_SECOND,
        })
    }
}

fn booted_at() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

fn most_files() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_is_no_trouble() {
        let text = "7 (heat) engine) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 12345 1 1";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            (stat.cpu_seconds, stat.threads, stat.started_after_boot),
            (3.0, 9.0, 123.45)
        );
        assert!(Stat::parse("nonsense").is_none());
    }

    #[test]
    fn this_process_is_known() {
        assert!(Stat::read().unwrap().threads >= 1.0);
        assert!(booted_at().unwrap() > 1e9);
        assert!(most_files().unwrap() > 0.0);
    }
}
