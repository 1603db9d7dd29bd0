//! What several tasks ask for at the same moment, done as one.
//!
//! An engine works on hundreds of resources at a time, and each takes its lock, notes something down, gives the lock
//! back. A transaction for each would make the server's log and the round trips of BEGIN and COMMIT the measure of all
//! things. So a task joins a queue; whoever serves it takes all who wait by then into one transaction, or one SELECT.
//! Nobody waits for others to come: if nobody is being served, the next who comes is, alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::error::StoreError;
use super::session::Session;

/// A queue whose members are served in groups.
pub(super) struct Joint<M> {
    queue: Mutex<Queue<M>>,
    /// Groups that are served at the same time.
    most_groups: usize,
    /// Members of a group.
    most_members: usize,
}

struct Queue<M> {
    waiting: std::collections::VecDeque<M>,
    groups: usize,
}

impl<M> Joint<M> {
    pub fn new(most_groups: usize, most_members: usize) -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: std::collections::VecDeque::new(),
                groups: 0,
            }),
            most_groups,
            most_members,
        }
    }

    /// Joins the queue. True if the caller has to see to it that somebody serves ([`Self::next`], until that is `None`).
    pub fn enter(&self, member: M) -> bool {
        let mut queue = self.queue();
        queue.waiting.push_back(member);
        let serves = queue.groups < self.most_groups;
        if serves {
            queue.groups += 1;
        }
        serves
    }

    /// The next group; `None` ends the service.
    pub fn next(&self) -> Option<Vec<M>> {
        let mut queue = self.queue();
        let count = queue.waiting.len().min(self.most_members);
        if count == 0 {
            queue.groups -= 1;
            return None;
        }
        Some(queue.waiting.drain(..count).collect())
    }

    fn queue(&self) -> MutexGuard<'_, Queue<M>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A unit of work that shares its transaction with others.
pub(super) trait JointUnit: Send + Sync {
    fn run<'s>(&'s self, session: &'s mut Session) -> BoxFuture<'s, Result<(), StoreError>>;

    /// Gives the caller what the last run came to, or why there is nothing.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A caller's unit with what it works on.
pub(super) struct CallersUnit<A, T, W> {
    pub arguments: A,
    pub work: W,
    pub value: Mutex<Option<T>>,
    pub answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<A, T, W> JointUnit for CallersUnit<A, T, W>
where
    A: Send + Sync + 'static,
    T: Send + 'static,
    W: for<'s> Fn(&'s mut Session, &'s A) -> BoxFuture<'s, Result<T, StoreError>> + Send + Sync + 'static,
{
    fn run<'s>(&'s self, session: &'s mut Session) -> BoxFuture<'s, Result<(), StoreError>> {
        Box::pin(async move {
            let value = (self.work)(session, &self.arguments).await?;
            *self.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let value = self.value.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens if the caller has gone away; what was written stands.
        let _ = self
            .answer
            .send(committed.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

/// Whether a group's transaction can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stands,
    /// One of its units wants to be rolled back.
    Abandoned,
}

pub(super) fn run_units<'s>(
    session: &'s mut Session,
    units: &'s Vec<Box<dyn JointUnit>>,
) -> BoxFuture<'s, Result<Outcome, StoreError>> {
    Box::pin(async move {
        session.hold_events();
        for unit in units {
            unit.run(session).await?;
            if session.is_abandoned() {
                return Ok(Outcome::Abandoned);
            }
        }
        session.write_held_events().await?;
        Ok(Outcome::Stands)
    })
}

pub(super) fn answer_all(mut units: Vec<Box<dyn JointUnit>>, outcome: Result<(), StoreError>) {
    match outcome {
        Ok(()) => units.into_iter().for_each(|unit| unit.answer(Ok(()))),
        Err(error) => {
            if units.len() == 1
                && let Some(only) = units.pop()
            {
                return only.answer(Err(error));
            }
            let error = Arc::new(error);
            units
                .into_iter()
                .for_each(|unit| unit.answer(Err(StoreError::Joint(error.clone()))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_others_are_served_waits_for_the_next_group() {
        let joint = Joint::new(1, 3);
        assert!(joint.enter(1), "somebody has to serve");
        assert_eq!(joint.next(), Some(vec![1]));
        for member in 2..=5 {
            assert!(!joint.enter(member), "somebody serves");
        }
        assert_eq!(joint.next(), Some(vec![2, 3, 4]));
        assert_eq!(joint.next(), Some(vec![5]));
        assert_eq!(joint.next(), None);
        assert!(joint.enter(6));
    }

    #[test]
    fn several_groups_are_served_at_the_same_time() {
        let joint = Joint::new(2, 3);
        assert!(joint.enter(1) && joint.enter(2) && !joint.enter(3));
        assert_eq!(joint.next(), Some(vec![1, 2, 3]));
        assert_eq!((joint.next(), joint.next()), (None, None));
        assert!(joint.enter(4));
    }
}
