//! Which engines live, of either kind.
//!
//! An engine that reports in the service table lives, even if it does not answer: it may be cut off from the broker and
//! still work on what it holds. An engine that answers lives, even if it does not report. One that does neither is
//! suspected, and is dead if it is the same a while later. Its machine may only have been paused: so it is looked at anew
//! whenever it holds something, and lives again once it reports or answers.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::NaiveDateTime;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::Recovery;
use super::counters::RecoveryCounters;
use crate::identity::RequestContext;
use crate::stack::error::StackError;
use crate::store::Service;

/// Engines that are asked at one time.
const ASKED_TOGETHER: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Engines {
    dead: HashSet<String>,
    suspected_since: HashMap<String, Instant>,
    /// For answers, in this sweep: it costs nobody anything.
    pub waited: Duration,
}

impl Engines {
    pub fn has_suspects(&self) -> bool {
        !self.suspected_since.is_empty()
    }

    /// After an outage of our own, others may need a moment as we did.
    pub fn give_everybody_time(&mut self) {
        self.suspected_since.clear();
    }

    fn forget_all_but(&mut self, holders: &[&String]) {
        self.dead.retain(|engine| holders.contains(&engine));
        self.suspected_since.retain(|engine, _| holders.contains(&engine));
    }

    fn lives(&mut self, engine_id: &str) {
        self.suspected_since.remove(engine_id);
        if self.dead.remove(engine_id) {
            tracing::warn!(engine_id, "the engine, which was taken for dead, lives");
        }
    }

    fn suspect(&mut self, engine_id: &str, suspense: Duration, now: Instant) -> bool {
        let since = *self.suspected_since.entry(engine_id.to_owned()).or_insert(now);
        // The pause between two sweeps may be a little short of it.
        if now.duration_since(since) < suspense.mul_f64(0.8) {
            return false;
        }
        self.suspected_since.remove(engine_id);
        self.dead.insert(engine_id.to_owned());
        true
    }
}

impl Recovery {
    /// Those of the engines that are dead.
    pub(super) async fn dead_among(&mut self, engine_ids: &[String]) -> Result<HashSet<String>, StackError> {
        let own = self.engine.services.engine_id.clone();
        let mut dead = HashSet::new();
        let others: Vec<&String> = engine_ids.iter().filter(|id| **id != own).collect();
        self.engines.forget_all_but(&others);
        if others.is_empty() {
            return Ok(dead);
        }
        let services = self.engine.services.store.services_all().await?;
        let now = self.engine.services.clock.utc_now();
        let mut silent = Vec::new();
        for engine_id in others {
            let is_its = |row: &&Service| row.engine_id == *engine_id;
            match services.iter().find(is_its).is_some_and(|row| reports(row, now)) {
                true => self.engines.lives(engine_id),
                false => silent.push(engine_id.clone()),
            }
        }
        for some in silent.chunks(ASKED_TOGETHER) {
            let asked_at = Instant::now();
            let answers = self.ask(some).await;
            self.engines.waited += asked_at.elapsed();
            for (engine_id, answers) in some.iter().zip(answers) {
                match answers {
                    Ok(true) => self.engines.lives(engine_id),
                    Ok(false) if self.engines.dead.contains(engine_id) => drop(dead.insert(engine_id.clone())),
                    Ok(false) if self.engines.suspect(engine_id, self.suspense(), Instant::now()) => {
                        tracing::warn!(engine_id, "the engine is dead: it neither reports nor answers");
                        RecoveryCounters::count(&self.counters.dead_engines);
                        dead.insert(engine_id.clone());
                    }
                    Ok(false) => tracing::info!(engine_id, "the engine neither reports nor answers"),
                    Err(error) => {
                        // It could not be asked, which says nothing of it.
                        self.engines.suspected_since.remove(engine_id);
                        tracing::debug!(engine_id, %error, "the engine could not be asked");
                    }
                }
            }
        }
        Ok(dead)
    }

    async fn ask(&self, engine_ids: &[String]) -> Vec<Result<bool, StackError>> {
        let context = RequestContext::admin(format!("req-{}", self.engine.services.clock.new_uuid()));
        let engine = &self.engine;
        join_all(engine_ids.iter().map(|id| engine.is_alive(&context, id))).await
    }
}

/// Whether an engine has reported within its interval, or half of one more.
pub(super) fn reports(service: &Service, now: NaiveDateTime) -> bool {
    let Some(last_report) = service.updated_at.or(service.created_at) else {
        return false;
    };
    service.deleted_at.is_none() && (now - last_report).num_milliseconds() <= 1500 * service.report_interval + 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_dead_at_the_first_look() {
        let mut engines = Engines::default();
        let (suspense, first_look) = (Duration::from_secs(10), Instant::now());
        let mut look = |later: u64| engines.suspect("e", suspense, first_look + Duration::from_secs(later));
        assert_eq!([look(0), look(1), look(11)], [false, false, true]);
        assert!(!engines.has_suspects() && engines.dead.contains("e"));
        engines.forget_all_but(&[&"e".to_owned()]);
        assert!(engines.dead.contains("e"), "it is not waited for once more");
        engines.lives("e");
        assert!(!engines.dead.contains("e"), "it is suspected anew, if ever");
    }
}
