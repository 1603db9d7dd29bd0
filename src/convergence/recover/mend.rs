//! Waking a stack that is asleep.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::asleep::Finding;
use super::counters::RecoveryCounters;
use super::sweep::Swept;
use super::{Recovery, Sent, Sweep};
use crate::cloud::Advice;
use crate::convergence::picture::{Lost, Picture};
use crate::convergence::traversal::{Plan, PlannedTemplate};
use crate::convergence::worker_client::CheckMessage;
use crate::identity::RequestContext;
use crate::resource::state::Action;
use crate::stack::Stack;
use crate::stack::creation::create_user_project;
use crate::stack::credentials::stored_context;
use crate::stack::error::StackError;
use crate::store::{DatedSyncPoint, NewestEvents, StackChanges, Swap};

/// Whoever holds a resource notices by itself that the time is over, and says so better.
const TIME_FOR_NOBODY: Duration = Duration::from_secs(10);
const TIME_FOR_HOLDERS: Duration = Duration::from_secs(120);

/// How long a start may take that we have begun: stopping workers, and laying out thousands of nodes.
const TIME_FOR_A_START: Duration = Duration::from_secs(60);

/// Pauses between attempts at the same node double this often.
const MOST_DOUBLINGS: u32 = 6;

impl Recovery {
    pub(super) async fn wake_stacks(&mut self, sweep: &mut Sweep) -> Result<(), StackError> {
        let rows = self.engine.services.store.stacks_in_progress(true).await?;
        let known: HashSet<String> = rows.iter().map(|row| row.id.clone()).collect();
        let traversals: HashSet<String> = rows.iter().filter_map(|row| row.current_traversal.clone()).collect();
        self.freed.retain(|id| known.contains(id));
        self.looked_at.retain(|id, _| known.contains(id));
        self.begun_again.retain(|id, _| known.contains(id));
        self.sent_again
            .retain(|(traversal, _), _| traversals.contains(traversal));
        for row in rows {
            if sweep.outcome() == Swept::Part {
                break;
            }
            let stack_id = row.id.clone();
            let woken = match Stack::from_row(&self.engine.services, row).await {
                Ok(stack) => self.wake(sweep, stack).await,
                Err(error) => Err(error),
            };
            match woken {
                Ok(()) => {}
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => {
                    RecoveryCounters::count(&self.counters.stacks_given_up);
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(stack_id, error, "the stack could not be looked after this time");
                }
            }
        }
        Ok(())
    }

    async fn wake(&mut self, sweep: &mut Sweep, mut stack: Stack) -> Result<(), StackError> {
        if self.is_over_time(&stack).await? {
            return self.time_out(sweep, &mut stack).await;
        }
        if self.freed.of(stack.id()).is_none() && !self.is_due(&stack) {
            return Ok(());
        }
        self.look_closely(sweep, &mut stack).await?;
        if sweep.outcome() == Swept::Everything {
            self.freed.forget(stack.id());
            self.looked_at.insert(stack.id().to_owned(), Instant::now());
        }
        Ok(())
    }

    async fn look_closely(&mut self, sweep: &mut Sweep, stack: &mut Stack) -> Result<(), StackError> {
        let store = &self.engine.services.store;
        let points = store.sync_points_of(stack.id(), stack.traversal()).await?;
        let events = store.events_newest(stack.id()).await?;
        match self.engine.picture(&stack.row, &points, events.clone()).await? {
            Some(picture) => {
                let nothing = HashSet::new();
                let freed = self.freed.of(stack.id()).unwrap_or(&nothing);
                let findings = picture.findings(sweep.heard_before, freed);
                let is_message =
                    |finding: &Finding| matches!(finding, Finding::Send(lost) if !picture.is_gone(&lost.node));
                if self.is_untold(stack) && findings.iter().any(is_message) {
                    // What the message said beside the node is told nowhere else.
                    let reason = format!("Engine went down during stack {}", stack.action());
                    return self.record_failure(sweep, stack, &reason).await;
                }
                for finding in findings {
                    self.mend(sweep, stack, &picture, finding).await?;
                }
                Ok(())
            }
            None => self.begin_again(sweep, stack, &points, &events).await,
        }
    }

    /// Stacks in progress are many, and most of them move: a close look at each is for now and then.
    fn is_due(&self, stack: &Stack) -> bool {
        let last = self.looked_at.get(stack.id());
        last.is_none_or(|last| last.elapsed() >= self.patience())
    }

    async fn mend(
        &mut self,
        sweep: &mut Sweep,
        stack: &mut Stack,
        picture: &Picture,
        finding: Finding,
    ) -> Result<(), StackError> {
        match finding {
            Finding::Send(lost) if picture.is_gone(&lost.node) => self.pass_over(sweep, stack, lost).await,
            Finding::Send(lost) => self.send_again(sweep, stack, lost).await,
            Finding::Unheld { resource_id } => self.fail_unheld(sweep, stack, resource_id).await,
            Finding::Failed { reason } => self.record_failure(sweep, stack, &reason).await,
            Finding::Complete if is_ended_by_python_alone(stack.action()) => {
                // Whoever checks one of the last nodes once more finds that everybody has arrived.
                let last = picture.graph.roots().next().and_then(|root| picture.lost(root));
                match last {
                    Some(lost) => self.send_again(sweep, stack, lost).await,
                    None => Ok(()),
                }
            }
            Finding::Complete if !sweep.has_room() => Ok(()),
            Finding::Complete => {
                tracing::warn!(
                    stack = stack.name(),
                    stack_id = stack.id(),
                    "the end of the traversal was not recorded"
                );
                let context = self.context_for_an_end(stack).await;
                self.engine.mark_complete(&context, stack).await?;
                sweep.mended(&self.counters.ends_recorded);
                Ok(())
            }
        }
    }

    /// An adopted stack's data, and that a deleted one is to be abandoned, stand in the messages alone. To guess would
    /// be to create, or to delete, what is somebody's.
    fn is_untold(&self, stack: &Stack) -> bool {
        match stack.action() {
            Action::Adopt => true,
            Action::Delete => self.engine.services.settings.engine.enable_stack_abandon,
            _ => false,
        }
    }

    async fn send_again(&mut self, sweep: &mut Sweep, stack: &Stack, lost: Lost) -> Result<(), StackError> {
        let key = (stack.traversal().to_owned(), lost.node.clone());
        let sent = self.sent_again.get(&key).copied();
        let pause = |times: u32| self.patience() * (1 << times.min(MOST_DOUBLINGS));
        if sent.is_some_and(|sent| sent.last.elapsed() < pause(sent.times)) || !sweep.has_room() {
            return Ok(());
        }
        let context = self.context_for(stack).await?;
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            traversal = stack.traversal(),
            node = %lost.node,
            "nobody works on the node; sending its message again"
        );
        let message = CheckMessage {
            input_data: lost.input_data,
            skip_propagate: lost.skip_propagate,
            accumulated_failures: Some(lost.failures),
            ..CheckMessage::new(&lost.node, stack.traversal())
        };
        self.engine.send_check(&context, message).await?;
        sweep.mended(&self.counters.messages_sent_again);
        let times = sent.map_or(1, |sent| sent.times + 1);
        self.sent_again.insert(
            key,
            Sent {
                times,
                last: Instant::now(),
            },
        );
        Ok(())
    }

    /// A Python engine that finds no row to clean up tells nobody, so such a message is not sent again but done here.
    async fn pass_over(&mut self, sweep: &mut Sweep, stack: &Stack, lost: Lost) -> Result<(), StackError> {
        if !sweep.has_room() {
            return Ok(());
        }
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            traversal = stack.traversal(),
            node = %lost.node,
            "nobody told that the resource is gone"
        );
        let context = self.context_for(stack).await?;
        let request = lost.into_request(stack.traversal().to_owned());
        self.engine.pass_over_gone(&context, &request).await?;
        sweep.mended(&self.counters.nodes_passed_over);
        Ok(())
    }

    async fn fail_unheld(&self, sweep: &mut Sweep, stack: &Stack, resource_id: i64) -> Result<(), StackError> {
        if !sweep.has_room() {
            return Ok(());
        }
        let Some(loaded) = self.engine.services.store.resource_load(resource_id).await? else {
            return Ok(());
        };
        let tracked = self.engine.tracked(stack, &loaded).await;
        let swap = self
            .engine
            .take_lock_from(&tracked, None, loaded.resource.atomic_key)
            .await?;
        if swap.is_updated() {
            sweep.mended(&self.counters.locks_freed);
        }
        Ok(())
    }

    async fn record_failure(&self, sweep: &mut Sweep, stack: &mut Stack, reason: &str) -> Result<(), StackError> {
        if !sweep.has_room() {
            return Ok(());
        }
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            reason,
            "nobody told the stack that it failed"
        );
        let context = self.context_to_fail(stack).await?;
        self.engine.mark_failed(&context, stack, reason).await?;
        sweep.mended(&self.counters.ends_recorded);
        Ok(())
    }

    // ------------------------------------------------------------------ time

    async fn is_over_time(&self, stack: &Stack) -> Result<bool, StackError> {
        let Some(overdue) = stack.time_overdue(&self.engine.services) else {
            return Ok(false);
        };
        if overdue >= TIME_FOR_HOLDERS {
            return Ok(true);
        }
        let store = &self.engine.services.store;
        Ok(overdue >= TIME_FOR_NOBODY && store.engines_locking_stack(stack.id()).await?.is_empty())
    }

    async fn time_out(&self, sweep: &mut Sweep, stack: &mut Stack) -> Result<(), StackError> {
        if !sweep.has_room() {
            return Ok(());
        }
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            "the time of the stack is over"
        );
        let context = self.context_to_fail(stack).await?;
        if self.engine.mark_failed(&context, stack, "Timed out").await? {
            sweep.mended(&self.counters.timeouts);
        }
        Ok(())
    }

    // ------------------------------------------------------------------ starts

    /// The start of the traversal broke off before all of its rows were there. It begins again, under another name: a
    /// starter that is only slow finds that the stack has moved on.
    async fn begin_again(
        &mut self,
        sweep: &mut Sweep,
        stack: &mut Stack,
        points: &[DatedSyncPoint],
        events: &NewestEvents,
    ) -> Result<(), StackError> {
        let heard = events.of_resources.values().chain(&events.of_stack);
        let last_heard = heard
            .filter_map(|event| event.created_at)
            .chain(points.iter().filter_map(|point| point.changed_at))
            .chain([stack.row.updated_at.unwrap_or(stack.row.created_at)])
            .max();
        let is_beginning = self
            .begun_again
            .get(stack.id())
            .is_some_and(|begun| begun.elapsed() < TIME_FOR_A_START);
        if is_beginning || last_heard.is_some_and(|moment| moment >= sweep.heard_before) || !sweep.has_room() {
            return Ok(());
        }
        self.begun_again.insert(stack.id().to_owned(), Instant::now());
        if self.is_untold(stack) {
            let reason = format!("Engine went down during stack {}", stack.action());
            return self.record_failure(sweep, stack, &reason).await;
        }
        tracing::warn!(
            stack = stack.name(),
            stack_id = stack.id(),
            traversal = stack.traversal(),
            "the traversal's start broke off; beginning it again"
        );
        let context = self.context_for(stack).await?;
        // The row of a new stack says CREATE before anybody was told that it has begun.
        if stack.action() == Action::Create && events.of_stack.is_none() {
            create_user_project(&self.engine.services, &context, stack).await?;
            let plan = Plan {
                action: Action::Create,
                template: PlannedTemplate::Stored(stack.row.raw_template_id),
                settings: None,
                stop_workers: false,
            };
            self.engine.converge(&context, stack, plan).await?;
            sweep.mended(&self.counters.starts_begun_again);
            return Ok(());
        }
        let before = stack.traversal().to_owned();
        // The traversal of a snapshot has the snapshot's name.
        if stack.action() != Action::Snapshot {
            stack.row.current_traversal = Some(self.engine.services.clock.new_uuid());
        }
        if !self.rename(stack, &before).await?.is_updated() {
            return Ok(());
        }
        sweep.mended(&self.counters.starts_begun_again);
        let stop_workers = stack.action() == Action::Delete;
        let (engine, mut stack) = (self.engine.clone(), stack.clone());
        self.engine.services.background.spawn(async move {
            engine.run_start(&context, &mut stack, Ok(()), stop_workers).await;
        });
        Ok(())
    }

    async fn rename(&self, stack: &Stack, before: &str) -> Result<Swap, StackError> {
        let changes = StackChanges {
            current_traversal: stack.row.current_traversal.clone(),
            ..StackChanges::default()
        };
        let arguments = (stack.id().to_owned(), before.to_owned(), changes);
        let swap = self
            .engine
            .services
            .store
            .transaction(arguments, |session, (id, before, changes)| {
                Box::pin(async move {
                    let swap = session.stack_swap_in_progress(id, before, changes).await?;
                    if swap.is_updated() {
                        session.sync_points_delete(id, before).await?;
                    }
                    Ok(swap)
                })
            })
            .await?;
        Ok(swap)
    }

    // ------------------------------------------------------------------ who acts

    /// Whoever the stack's credentials make us. Without any, somebody who may do nothing: what needs no service goes on,
    /// and what does fails with the service's word.
    pub(super) async fn context_for(&self, stack: &Stack) -> Result<RequestContext, StackError> {
        let services = &self.engine.services;
        let request_id = format!("req-{}", services.clock.new_uuid());
        match stored_context(services, &request_id, stack).await {
            Err(error) if is_lasting(&error) => {
                tracing::warn!(stack = stack.name(), %error, "the stack has no credentials that let us in");
                Ok(nobody(stack, request_id))
            }
            outcome => outcome,
        }
    }

    /// For an end that needs no service to be recorded.
    pub(super) async fn context_for_an_end(&self, stack: &Stack) -> RequestContext {
        let request_id = format!("req-{}", self.engine.services.clock.new_uuid());
        self.context_for(stack)
            .await
            .unwrap_or_else(|_| nobody(stack, request_id))
    }

    /// A rollback is work for the user; any other failure is only recorded.
    async fn context_to_fail(&self, stack: &Stack) -> Result<RequestContext, StackError> {
        if stack.row.disable_rollback {
            return Ok(self.context_for_an_end(stack).await);
        }
        self.context_for(stack).await
    }
}

/// Whether it will be the same the next time.
fn is_lasting(error: &StackError) -> bool {
    match error {
        StackError::Cloud(error) => error.advice() != Advice::Retry,
        error => matches!(error, StackError::NoStoredCredentials | StackError::Crypt(_)),
    }
}

fn nobody(stack: &Stack, request_id: String) -> RequestContext {
    RequestContext {
        is_admin: false,
        project_id: stack.row.tenant.clone(),
        username: stack.row.username.clone(),
        ..RequestContext::admin(request_id)
    }
}

/// Actions whose end means more than a state of the stack, none of which we know.
fn is_ended_by_python_alone(action: Action) -> bool {
    matches!(
        action,
        Action::Check | Action::Suspend | Action::Resume | Action::Snapshot | Action::Adopt
    )
}
