//! Steps of an engine, counted over all of its links, and the one that fails.

use std::sync::Mutex;

/// How a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// It never reaches the server, and the connection breaks.
    Before,
    /// The server does what it asks for, and the connection breaks before the answer.
    After,
    /// The server refuses it, with this error number. For a message it is the same as `Before`.
    Refuse(u16),
}

#[derive(Default)]
pub struct Steps(Mutex<Plan>);

#[derive(Default)]
struct Plan {
    counting: bool,
    seen: Vec<String>,
    strike: Option<(usize, Strike)>,
    /// Every step of so many fails.
    often: Option<(usize, Strike)>,
    /// Beginnings of the steps that are meant; empty for all.
    among: &'static [&'static str],
    met: usize,
    struck: Option<String>,
    /// What happens beside the failure.
    at_strike: Option<Box<dyn FnOnce() + Send>>,
}

impl Steps {
    /// Counts from zero. The step of that number fails so, and `at_strike` runs at that moment.
    pub fn arm(&self, strike: Option<(usize, Strike)>, at_strike: impl FnOnce() + Send + 'static) {
        *self.0.lock().expect("no panic") = Plan {
            counting: true,
            strike,
            at_strike: Some(Box::new(at_strike)),
            ..Plan::default()
        };
    }

    /// Every step whose number divides by `interval` fails, until the next `disarm`.
    pub fn arm_often(&self, interval: usize, strike: Strike) {
        *self.0.lock().expect("no panic") = Plan {
            counting: true,
            often: Some((interval, strike)),
            ..Plan::default()
        };
    }

    /// As `arm`, where only steps count that begin so.
    pub fn arm_among(
        &self,
        among: &'static [&'static str],
        strike: (usize, Strike),
        at_strike: impl FnOnce() + Send + 'static,
    ) {
        self.arm(Some(strike), at_strike);
        self.0.lock().expect("no panic").among = among;
    }

    /// As `arm_often`, where only steps count that begin so.
    pub fn arm_often_among(&self, among: &'static [&'static str], interval: usize, strike: Strike) {
        self.arm_often(interval, strike);
        self.0.lock().expect("no panic").among = among;
    }

    /// Counts no more. What the steps were, and which of them failed.
    pub fn disarm(&self) -> (Vec<String>, Option<String>) {
        let plan = std::mem::take(&mut *self.0.lock().expect("no panic"));
        (plan.seen, plan.struck)
    }

    pub fn is_armed(&self) -> bool {
        self.0.lock().expect("no panic").counting
    }

    /// Whether a step has failed, and what was to happen then has begun.
    pub fn has_struck(&self) -> bool {
        let plan = self.0.lock().expect("no panic");
        plan.struck.is_some() && plan.at_strike.is_none()
    }

    pub(super) fn meet(&self, what: &str) -> Option<Strike> {
        let mut plan = self.0.lock().expect("no panic");
        if !plan.counting || is_housekeeping(what) {
            return None;
        }
        plan.seen.push(what.to_owned());
        if !plan.among.is_empty() && !plan.among.iter().any(|beginning| what.starts_with(beginning)) {
            return None;
        }
        let number = plan.met;
        plan.met += 1;
        let once = plan.strike.filter(|(at, _)| *at == number);
        let again = plan.often.filter(|(interval, _)| number.is_multiple_of(*interval));
        let (_, strike) = once.or(again)?;
        plan.struck = Some(what.to_owned());
        Some(match strike {
            Strike::Refuse(_) if what.starts_with("publish") => Strike::Before,
            strike => strike,
        })
    }

    pub(super) async fn strike(&self) {
        let at_strike = self.0.lock().expect("no panic").at_strike.take();
        if let Some(at_strike) = at_strike {
            at_strike();
        }
    }
}

/// What an engine does by the clock, and on each new connection: no step of its work.
fn is_housekeeping(what: &str) -> bool {
    const REPORT_AND_SWEEP: [&str; 10] = [
        " service ",
        "FROM service",
        "GET_LOCK",
        "stack_lock WHERE engine_id IS NOT NULL",
        "COALESCE(s.convergence, 0)",
        "FROM event ORDER BY id DESC LIMIT 1",
        "FROM sync_point p JOIN stack s",
        "s.action = 'DELETE' AND s.status = 'COMPLETE'",
        "FROM user_creds c",
        "t.created_at < ?",
    ];
    what.starts_with("SET ") || REPORT_AND_SWEEP.iter().any(|part| what.contains(part))
}
