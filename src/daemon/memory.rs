//! Memory that was needed once goes back to the system.
//!
//! glibc keeps what is freed for the next time, also hundreds of megabytes after a single large message. It gives them
//! back when it is asked to; a look at the own size now and then says when that is worth it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Growth since the last time that is worth the few milliseconds.
const WORTH_IT: u64 = 16 * 1024 * 1024;

/// Looks until it is told to stop.
pub async fn give_back_regularly(stop: CancellationToken) {
    let mut after_last = resident().unwrap_or(0);
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        let Some(now) = resident() else { return };
        if now < after_last.saturating_add(WORTH_IT) {
            after_last = after_last.min(now);
            continue;
        }
        give_back();
        after_last = resident().unwrap_or(now);
        tracing::debug!(before = now, after = after_last, "gave memory back to the system");
    }
}

/// Bytes of memory that the process holds; `None` where the system does not tell.
pub fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: it takes no pointer, and glibc does it under its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other allocators do it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_does_not_stay_with_the_process() {
        let before = resident().unwrap();
        // Small pieces, with some between them that stay: a large piece would go back by itself.
        let mut pieces: Vec<Option<Box<[u8; 1024]>>> = (0..100_000).map(|_| Some(Box::new([1; 1024]))).collect();
        let full = resident().unwrap();
        assert!(full > before + 50 * 1024 * 1024, "{before} to {full}");
        for (number, piece) in pieces.iter_mut().enumerate() {
            if number % 1000 != 999 {
                *piece = None;
            }
        }
        give_back();
        let after = resident().unwrap();
        assert!(after < before + (full - before) / 2, "{before} to {full} to {after}");
    }
}
