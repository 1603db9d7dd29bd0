//! What `/ready` says in the course of an outage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::metrics::reasons;

/// From the begin of an outage to the first word of it, and from its end to the last.
pub const NOTICED_WITHIN: Duration = Duration::from_secs(5);
const READY_WITHIN: Duration = Duration::from_secs(8);

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What it is to say.
#[derive(Clone, Copy, Debug)]
pub enum Says {
    /// That this is missing, in time.
    Missing(&'static str, Duration),
    /// Nothing, since the engine can work all the time.
    Ready,
    /// One or the other: things come and go.
    Either,
}

struct Word {
    at: Instant,
    status: u16,
    reasons: String,
}

pub struct Watching {
    stop: Arc<AtomicBool>,
    words: JoinHandle<Vec<Word>>,
}

pub struct Watched(Vec<Word>);

impl Watching {
    /// In a thread of its own, since it asks as a stranger does, without the test's runtime.
    pub fn start(address: &str) -> Self {
        let stop: Arc<AtomicBool> = Arc::default();
        let (stopped, address) = (stop.clone(), address.to_owned());
        let words = std::thread::spawn(move || {
            let mut words = Vec::new();
            let mut told_to_stop = None;
            loop {
                let at = Instant::now();
                let (status, reasons) = reasons(&address, "/ready");
                words.push(Word { at, status, reasons });
                // The work may be done before the health has noticed that it can be.
                if stopped.load(Ordering::Relaxed) {
                    let told = *told_to_stop.get_or_insert(at);
                    if status == 200 || told.elapsed() > READY_WITHIN {
                        return words;
                    }
                }
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Self { stop, words }
    }

    pub fn stop(self) -> Watched {
        self.stop.store(true, Ordering::Relaxed);
        Watched(self.words.join().expect("no panic"))
    }
}

impl Watched {
    /// `began` and `over`: when the outage did and was.
    pub fn judge(&self, says: Says, began: Instant, over: Instant) {
        let seconds = |word: &Word| word.at.saturating_duration_since(began).as_secs_f32();
        let told: Vec<String> = self
            .changes()
            .map(|word| format!("{:.1} s: {} {}", seconds(word), word.status, word.reasons))
            .collect();
        println!("an outage of {:.1?}; /ready says {told:#?}", over - began);
        assert!(self.0.iter().all(|word| [200, 503].contains(&word.status)), "{told:#?}");
        match says {
            Says::Either => {}
            Says::Ready => assert!(self.0.iter().all(|word| word.status == 200), "{told:#?}"),
            Says::Missing(what, within) => {
                let first = self
                    .0
                    .iter()
                    .find(|word| word.status == 503 && word.reasons.contains(what));
                let first = first.unwrap_or_else(|| panic!("it never says {what:?}: {told:#?}"));
                assert!(first.at <= began + within, "too late: {told:#?}");
            }
        }
        let last = self.0.iter().rfind(|word| word.status != 200);
        let is_ready_in_time = last.is_none_or(|last| last.at <= over + READY_WITHIN);
        let is_ready = self.0.last().is_some_and(|last| last.status == 200);
        assert!(is_ready && is_ready_in_time, "not ready in time: {told:#?}");
    }

    /// The first word, and each that differs from the one before.
    fn changes(&self) -> impl Iterator<Item = &Word> {
        let differs = |pair: &&[Word]| pair[0].reasons != pair[1].reasons;
        let later = self.0.windows(2).filter(differs).map(|pair| &pair[1]);
        self.0.first().into_iter().chain(later)
    }
}
