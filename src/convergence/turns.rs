//! Who of those that want to work is next.
//!
//! An engine works on so many checks at a time, and the rest wait for their turn. First come, first served would let one
//! stack of thousands of resources keep everybody else waiting until it is done. So whoever has the fewest at work is
//! next: by project, and within a project by traversal. A check that only waits (for its object, for its
//! predecessors) lays its turn down meanwhile.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::oneshot;

use crate::settings::FairShares;

/// For whom a check works.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    pub project: Arc<str>,
    pub traversal: Arc<str>,
}

#[derive(Clone, Debug)]
pub struct Turns {
    state: Arc<Mutex<State>>,
    shares: FairShares,
}

#[derive(Debug)]
struct State {
    free: usize,
    at_work: Counts,
    /// Everybody with a number that tells who came first.
    waiting: IndexMap<Party, VecDeque<(u64, oneshot::Sender<()>)>>,
    next_number: u64,
}

/// How many are at work.
#[derive(Debug, Default)]
struct Counts {
    of_project: HashMap<Arc<str>, usize>,
    of_traversal: HashMap<Arc<str>, usize>,
}

impl Counts {
    fn begin(&mut self, party: &Party) {
        *self.of_project.entry(party.project.clone()).or_default() += 1;
        *self.of_traversal.entry(party.traversal.clone()).or_default() += 1;
    }

    fn end(&mut self, party: &Party) {
        let counts = [
            (&mut self.of_project, &party.project),
            (&mut self.of_traversal, &party.traversal),
        ];
        for (counts, key) in counts {
            if let Some(count) = counts.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(key);
                }
            }
        }
    }

    fn shares(&self, party: &Party, shares: FairShares) -> (usize, usize) {
        let of = |counts: &HashMap<Arc<str>, usize>, key: &Arc<str>| counts.get(key).copied().unwrap_or(0);
        match shares {
            FairShares::Project => (
                of(&self.of_project, &party.project),
                of(&self.of_traversal, &party.traversal),
            ),
            FairShares::Stack => (0, of(&self.of_traversal, &party.traversal)),
            FairShares::None => (0, 0),
        }
    }
}

impl Turns {
    pub fn new(places: usize, shares: FairShares) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                free: places,
                at_work: Counts::default(),
                waiting: IndexMap::new(),
                next_number: 0,
            })),
            shares,
        }
    }

    /// Waits until it is the party's turn.
    pub async fn take(&self, party: Party) -> Turn {
        self.wait_for(&party).await;
        Turn {
            turns: self.clone(),
            party,
            is_held: Mutex::new(true),
        }
    }

    async fn wait_for(&self, party: &Party) {
        let called = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                state.at_work.begin(party);
                return;
            }
            let (call, called) = oneshot::channel();
            let number = state.next_number;
            state.next_number += 1;
            state
                .waiting
                .entry(party.clone())
                .or_default()
                .push_back((number, call));
            called
        };
        let mut waiting = Waiting {
            turns: self,
            party,
            called,
            is_called: false,
        };
        // Nobody is forgotten: whoever has waited without a call is called when a place is free.
        let _ = (&mut waiting.called).await;
        waiting.is_called = true;
    }

    /// Gives a place to whoever is next.
    fn pass_on(&self, party: &Party) {
        let mut state = self.state();
        state.at_work.end(party);
        while let Some(next) = state.next(self.shares) {
            let Some(waiting) = state.waiting.get_mut(&next) else {
                break;
            };
            let call = waiting.pop_front();
            if waiting.is_empty() {
                state.waiting.swap_remove(&next);
            }
            state.at_work.begin(&next);
            if call.is_some_and(|(_, call)| call.send(()).is_ok()) {
                return;
            }
            // That one has gone away.
            state.at_work.end(&next);
        }
        state.free += 1;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&self, shares: FairShares) -> Option<Party> {
        let rank = |(party, waiting): &(&Party, &VecDeque<(u64, oneshot::Sender<()>)>)| {
            let first = waiting.front().map_or(u64::MAX, |(number, _)| *number);
            (self.at_work.shares(party, shares), first)
        };
        self.waiting.iter().min_by_key(rank).map(|(party, _)| party.clone())
    }
}

/// Somebody who waits. If he goes away when he has just been called, the place is somebody else's.
struct Waiting<'a> {
    turns: &'a Turns,
    party: &'a Party,
    called: oneshot::Receiver<()>,
    is_called: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.called.close();
        if !self.is_called && self.called.try_recv().is_ok() {
            self.turns.pass_on(self.party);
        }
    }
}

/// The right to work; it passes on when this is dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    party: Party,
    is_held: Mutex<bool>,
}

impl Turn {
    /// Waits for something that needs no work of ours, while others have the turn.
    pub async fn lay_down<T>(&self, wait: impl Future<Output = T>) -> T {
        self.give_up();
        let value = wait.await;
        self.turns.wait_for(&self.party).await;
        *self.is_held() = true;
        value
    }

    fn give_up(&self) {
        if std::mem::take(&mut *self.is_held()) {
            self.turns.pass_on(&self.party);
        }
    }

    fn is_held(&self) -> MutexGuard<'_, bool> {
        self.is_held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(project: &str, traversal: &str) -> Party {
        Party {
            project: project.into(),
            traversal: traversal.into(),
        }
    }

    /// Takes turns for parties that all come while somebody works, and tells in which order they were called.
    async fn order(shares: FairShares, parties: &[(&str, &str)]) -> Vec<usize> {
        let turns = Turns::new(1, shares);
        let first = turns.take(party("p", "big")).await;
        let called = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (index, (project, traversal)) in parties.iter().enumerate() {
            let (turns, party, called) = (turns.clone(), party(project, traversal), called.clone());
            let waiting = turns.state().next_number + 1;
            tasks.push(tokio::spawn({
                let turns = turns.clone();
                async move {
                    let _turn = turns.take(party).await;
                    called.lock().unwrap().push(index);
                }
            }));
            while turns.state().next_number < waiting {
                tokio::task::yield_now().await;
            }
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        let state = turns.state();
        assert_eq!((state.free, state.waiting.len()), (1, 0));
        assert!(state.at_work.of_project.is_empty() && state.at_work.of_traversal.is_empty());
        drop(state);
        Arc::try_unwrap(called).unwrap().into_inner().unwrap()
    }

    #[tokio::test]
    async fn without_shares_the_first_is_served_first() {
        let order = order(FairShares::None, &[("p", "big"), ("p", "big"), ("q", "small")]).await;
        assert_eq!(order, [0, 1, 2]);
    }

    #[tokio::test]
    async fn whoever_has_the_fewest_at_work_is_next() {
        let turns = Turns::new(4, FairShares::Project);
        let at_work = [
            turns.take(party("p", "big")).await,
            turns.take(party("p", "big")).await,
            turns.take(party("p", "big")).await,
            turns.take(party("q", "other")).await,
        ];
        let mut waiting: Vec<_> = [("p", "big"), ("q", "other"), ("p", "small"), ("r", "new")]
            .into_iter()
            .map(|(project, traversal)| Box::pin(turns.take(party(project, traversal))))
            .collect();
        for wait in &mut waiting {
            assert!(futures_util::poll!(wait.as_mut()).is_pending());
        }
        let mut called = Vec::new();
        for turn in at_work {
            drop(turn);
            for (index, wait) in waiting.iter_mut().enumerate() {
                if !called.contains(&index)
                    && let std::task::Poll::Ready(turn) = futures_util::poll!(wait.as_mut())
                {
                    called.push(index);
                    std::mem::forget(turn);
                }
            }
        }
        // The project that has none; then, of two projects with one each, the traversal that has none.
        assert_eq!(called, [3, 2, 0, 1]);
    }

    #[tokio::test]
    async fn who_waits_for_something_else_lets_others_work() {
        let turns = Turns::new(1, FairShares::Stack);
        let turn = turns.take(party("p", "a")).await;
        turn.lay_down(async { drop(turns.take(party("p", "b")).await) }).await;
        assert_eq!(turns.state().free, 0);
        drop(turn);
        assert_eq!(turns.state().free, 1);
    }

    #[tokio::test]
    async fn who_goes_away_is_passed_over() {
        let turns = Turns::new(1, FairShares::Stack);
        let turn = turns.take(party("p", "a")).await;
        let mut gone = Box::pin(turns.take(party("p", "b")));
        assert!(futures_util::poll!(gone.as_mut()).is_pending());
        drop(gone);
        drop(turn);
        assert_eq!(turns.state().free, 1);

        let turn = turns.take(party("p", "a")).await;
        let mut called_too_late = Box::pin(turns.take(party("p", "b")));
        assert!(futures_util::poll!(called_too_late.as_mut()).is_pending());
        drop(turn);
        assert_eq!(turns.state().free, 0);
        drop(called_too_late);
        assert_eq!(turns.state().free, 1);
    }
}
