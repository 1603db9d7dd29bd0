//! One action on one resource, from taking its lock to giving it back.
//!
//! The plug-in acts and looks; everything else is here: states and their events, polling, the stack's timeout,
//! cancelling, and trying again. A plug-in's call is never dropped half-way: timeouts and cancelling act between calls.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::error::CheckEnd;
use super::tracked::{Lock, STATE_CHANGED, Tracked};
use super::witness::{Decision, Step};
use super::work::Work;
use crate::plugins::questions::Questions;
use crate::resource::failure::{Failure, Remedy};
use crate::resource::instance::Instance;
use crate::resource::plugin::{Change, Changed, Progress};
use crate::resource::properties::{Depth, Properties, PropertyError};
use crate::resource::state::{Action, Status};
use crate::stack::services::Services;

/// One resource under work.
pub(super) struct Operation<'a> {
    pub work: &'a Work<'a>,
    /// The lock is ours and the object asked for: the first thing to do is to wait for it.
    pub is_begun: bool,
    pub services: &'a Services,
    /// What the resource was called when the operation began: the text of a timeout.
    pub described_as: String,
    pub tracked: &'a mut Tracked,
    pub instance: &'a mut Instance,
    /// Written when the resource leaves INIT.
    pub metadata: Value,
}

/// An update, decided but not done.
pub(super) struct Update<'a> {
    pub after: Properties,
    pub before: Properties,
    pub definition_changed: bool,
    pub template_id: i64,
    pub requires: &'a [i64],
}

/// What a type is asked to do, as the plug-in contract calls it.
const MAKE: &str = "make";
const CHANGE: &str = "change";
const UNMAKE: &str = "unmake";

/// How an action went, before it is recorded.
enum Outcome {
    Done,
    Replace(String),
    Failed(Failure),
    /// A create was refused for its properties.
    Invalid(PropertyError),
    Aborted(Abort),
    /// Another engine waits for the object from here on, and has the lock.
    PassedOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abort {
    TimedOut,
    Cancelled,
    EngineEnds,
}

/// Between two looks at an object that names no time of its own.
const LONGEST_LOOK: Duration = Duration::from_secs(1 << 20);

/// Between attempts to go on while the database or the broker is away.
pub(super) const OUTAGE_PAUSE: Duration = Duration::from_secs(2);

/// What an engine that is to end waits for is offered again, perhaps to an engine that has just come.
const OFFERED_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// Why an action was aborted that its engine gave back.
pub(super) const ENGINE_STOPPED: &str = "the engine was stopped";

/// Why a resource failed whose worker was told to stop, by an engine of either kind.
pub(super) const CANCELLED: &str = "user triggered cancel";

/// The most that a retried action waits at random on top of its back-off.
const RETRY_JITTER: Duration = Duration::from_secs(2);

impl Operation<'_> {
    pub async fn create(&mut self) -> Result<(), CheckEnd> {
        let limit = self.retry_limit();
        let mut creates = 0;
        let mut first_failure: Option<CheckEnd> = None;
        loop {
            match self.create_once(creates == 0).await {
                Ok(()) => return Ok(()),
                Err((end, Remedy::RetryAction)) => {
                    creates += 1;
                    let failure = first_failure.get_or_insert(end);
                    if creates > limit {
                        return Err(std::mem::replace(failure, CheckEnd::Contended));
                    }
                }
                Err((end, _)) => return Err(end),
            }
            if let Err(end) = self.undo_failed_create(limit).await {
                return Err(first_failure.unwrap_or(end));
            }
            self.pause(creates).await?;
        }
    }

    async fn create_once(&mut self, validate: bool) -> Result<(), (CheckEnd, Remedy)> {
        let outcome = match std::mem::take(&mut self.is_begun) {
            true => self.wait_until_settled(Action::Create).await,
            false => {
                self.begin(Action::Create, 1).await.map_err(terminal)?;
                self.make(validate).await
            }
        };
        self.finish(Action::Create, outcome).await
    }

    async fn make(&mut self, validate: bool) -> Outcome {
        if validate {
            let constraints = Questions::new(&self.instance.session);
            if let Err(error) = self.instance.properties.validate(Depth::Values, &constraints).await {
                return Outcome::Invalid(error);
            }
        }
        if self.work.engine.watch.leaves_out(MAKE) {
            return Outcome::Done;
        }
        let plugin = self.instance.resource_type.plugin;
        let began = Instant::now();
        let made = plugin.make(self.instance).await;
        self.tell_of(MAKE, began, &made);
        if let Err(failure) = made {
            return Outcome::Failed(failure);
        }
        self.wait_until_settled(Action::Create).await
    }

    async fn undo_failed_create(&mut self, limit: u32) -> Result<(), CheckEnd> {
        let mut deletes = 0;
        loop {
            self.begin(Action::Delete, 1).await?;
            let outcome = self.unmake().await;
            match self.finish(Action::Delete, outcome).await {
                Ok(()) => return Ok(()),
                Err((_, Remedy::RetryAction)) if deletes < limit => {
                    deletes += 1;
                    self.pause(deletes).await?;
                }
                Err((end, _)) => return Err(end),
            }
        }
    }

    /// Lets the resource stand for an object that is not Heat's: takes it over as it is, and looks whether it is well.
    pub async fn take_over(&mut self, external_id: &str) -> Result<(), CheckEnd> {
        self.begin(Action::Adopt, 1).await?;
        let outcome = match self.instance.set_physical_id(Some(external_id)).await {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(failure),
        };
        // What was adopted brings its metadata along; what is not Heat's has none.
        self.tracked.forget_metadata(self.services).await?;
        self.finish(Action::Adopt, outcome).await.map_err(|(end, _)| end)?;
        self.check().await
    }

    async fn check(&mut self) -> Result<(), CheckEnd> {
        let plugin = self.instance.resource_type.plugin;
        let Some(verdict) = plugin.check(self.instance).await else {
            let reason = format!("CHECK not supported for {}", self.instance.type_name);
            let to = (Action::Check, Status::Complete);
            return self
                .tracked
                .set_state(self.services, to, &reason, Lock::Respect, None)
                .await;
        };
        self.begin(Action::Check, 1 + self.contention_retries()).await?;
        let outcome = verdict.map_or_else(Outcome::Failed, |()| Outcome::Done);
        self.finish(Action::Check, outcome).await.map_err(|(end, _)| end)
    }

    /// An update in place; [`CheckEnd::Replace`] when it turns out to need a replacement.
    pub async fn update(&mut self, update: Update<'_>) -> Result<(), CheckEnd> {
        let previous_template = self.tracked.row.current_template_id;
        let outcome = match std::mem::take(&mut self.is_begun) {
            true => {
                self.apply(&update);
                self.wait_until_settled(Action::Update).await
            }
            false => {
                self.tracked.row.updated_at = Some(self.services.clock.utc_now());
                self.tracked.row.requires = union(&self.tracked.row.requires, update.requires);
                self.begin(Action::Update, 1 + self.contention_retries()).await?;
                self.change(&update).await
            }
        };
        match &outcome {
            Outcome::Replace(reason) => {
                self.work.engine.watch.decide(Decision::Replace, || reason.clone());
                self.tracked.row.current_template_id = previous_template;
            }
            Outcome::Done => {
                self.tracked.row.requires = update.requires.to_vec();
                match update.after.to_stored() {
                    Ok(properties) => self.tracked.apply_properties(properties),
                    Err(error) => {
                        let failed = Outcome::Failed(error.into());
                        return self.finish(Action::Update, failed).await.map_err(|(end, _)| end);
                    }
                }
            }
            Outcome::Failed(_) | Outcome::Invalid(_) | Outcome::Aborted(_) | Outcome::PassedOn => {}
        }
        self.finish(Action::Update, outcome).await.map_err(|(end, _)| end)
    }

    async fn change(&mut self, update: &Update<'_>) -> Outcome {
        let constraints = Questions::new(&self.instance.session);
        if let Err(error) = update.after.validate(Depth::Values, &constraints).await {
            return Outcome::Failed(error.into());
        }
        let changed = match self.what_changed(update) {
            Ok(changed) => changed,
            Err(failure) => return Outcome::Failed(failure),
        };
        let change = Change {
            after: &update.after,
            before: &update.before,
            changed: &changed,
            definition_changed: update.definition_changed,
        };
        let plugin = self.instance.resource_type.plugin;
        if !changed.is_empty() && plugin.needs_replace(&change) {
            return Outcome::Replace(requires_replacement(&self.instance.description()));
        }
        if !update.after.can_update(&changed) {
            return Outcome::Replace(requires_replacement(&self.instance.name));
        }
        self.apply(update);
        if self.work.engine.watch.leaves_out(CHANGE) {
            return Outcome::Done;
        }
        let began = Instant::now();
        let changed = plugin.change(self.instance, &change).await;
        self.tell_of(CHANGE, began, &changed);
        match changed {
            Ok(Changed::InPlace) => self.wait_until_settled(Action::Update).await,
            Ok(Changed::AtOnce) => Outcome::Done,
            Ok(Changed::Replace) => Outcome::Replace(requires_replacement(&self.instance.name)),
            Err(failure) => Outcome::Failed(failure),
        }
    }

    fn apply(&mut self, update: &Update<'_>) {
        self.tracked.row.current_template_id = Some(update.template_id);
        self.instance.properties = update.after.clone();
    }

    fn what_changed(&self, update: &Update<'_>) -> Result<BTreeSet<String>, Failure> {
        let changed = update.after.changed_since(&update.before)?;
        update
            .after
            .refuse_immutable(&changed, &self.instance.name, &self.instance.type_name)?;
        Ok(changed)
    }

    /// Removes the object, or only says so when it is to be retained.
    pub async fn delete(&mut self, retain: bool) -> Result<(), CheckEnd> {
        if !std::mem::take(&mut self.is_begun) {
            self.begin(Action::Delete, 1 + self.contention_retries()).await?;
        }
        let mut attempt = 0;
        let outcome = loop {
            let outcome = if retain { Outcome::Done } else { self.unmake().await };
            match outcome {
                Outcome::Failed(failure) if failure.remedy == Remedy::RetryAction && attempt < self.retry_limit() => {
                    attempt += 1;
                    tracing::info!(resource = self.instance.name, attempt, %failure, "the delete is tried again");
                    if let Err(abort) = self.wait(self.back_off(attempt)).await {
                        break Outcome::Aborted(abort);
                    }
                }
                outcome => break outcome,
            }
        };
        self.finish(Action::Delete, outcome).await.map_err(|(end, _)| end)
    }

    async fn unmake(&mut self) -> Outcome {
        if self.work.engine.watch.leaves_out(UNMAKE) {
            return Outcome::Done;
        }
        let plugin = self.instance.resource_type.plugin;
        let began = Instant::now();
        let unmade = plugin.unmake(self.instance).await;
        self.tell_of(UNMAKE, began, &unmade);
        match unmade {
            Ok(()) => {}
            Err(failure) if failure.remedy == Remedy::Missing => return Outcome::Done,
            Err(failure) => return Outcome::Failed(failure),
        }
        let started = Instant::now();
        loop {
            match plugin.gone(self.instance, started.elapsed()).await {
                Ok(Progress::Done) => return Outcome::Done,
                Ok(Progress::Again(pause)) => {
                    if let Err(outcome) = self.wait_for_object(Action::Delete, pause).await {
                        return outcome;
                    }
                }
                Err(failure) if failure.remedy == Remedy::Missing => return Outcome::Done,
                Err(failure) => return Outcome::Failed(failure),
            }
        }
    }

    async fn wait_until_settled(&mut self, action: Action) -> Outcome {
        let plugin = self.instance.resource_type.plugin;
        let started = Instant::now();
        loop {
            match plugin.settle(self.instance, action, started.elapsed()).await {
                Ok(Progress::Done) => return Outcome::Done,
                Ok(Progress::Again(pause)) => {
                    if let Err(outcome) = self.wait_for_object(action, pause).await {
                        return outcome;
                    }
                }
                Err(failure) => return Outcome::Failed(failure),
            }
        }
    }

    /// Takes the lock with the new state. An update or delete that finds the lock taken looks again a few times: a
    /// signal or a stored attribute moves the row's key without anybody working on it.
    async fn begin(&mut self, action: Action, attempts: u32) -> Result<(), CheckEnd> {
        let to = (action, Status::InProgress);
        for attempt in 1.. {
            let metadata = Some(&self.metadata);
            match self
                .tracked
                .set_state(self.services, to, STATE_CHANGED, Lock::Acquire, metadata)
                .await
            {
                Err(CheckEnd::Contended) if attempt < attempts => {
                    let pause = self.services.clock.random_duration(RETRY_JITTER);
                    self.work.turn.lay_down(tokio::time::sleep(pause)).await;
                    self.tracked.refresh_key(self.services).await?;
                }
                result => {
                    result?;
                    break;
                }
            }
        }
        (self.instance.action, self.instance.status) = to;
        self.work.receipt.acknowledge().await;
        Ok(())
    }

    /// Records how the action went, and gives the lock back.
    async fn finish(&mut self, action: Action, outcome: Outcome) -> Result<(), (CheckEnd, Remedy)> {
        self.tracked.row.physical_resource_id = self.instance.physical_id().map(str::to_owned);
        let (status, reason, result) = match outcome {
            Outcome::Done => (Status::Complete, STATE_CHANGED.to_owned(), Ok(())),
            Outcome::Replace(reason) => (Status::Complete, reason, Err((CheckEnd::Replace, Remedy::Terminal))),
            Outcome::Failed(failure) => {
                let reason = failure.reason(&self.instance.name);
                let end = CheckEnd::Failed {
                    action,
                    reason: reason.clone(),
                };
                (Status::Failed, reason, Err((end, failure.remedy)))
            }
            Outcome::Invalid(error) => {
                let name = self.instance.name.as_str();
                let reason = Failure::from(error.clone()).reason(name);
                // The stack's reason names the resource before the property once more.
                let end = CheckEnd::Failed {
                    action,
                    reason: Failure::from(error.below(&[name])).reason(name),
                };
                (Status::Failed, reason, Err((end, Remedy::Terminal)))
            }
            Outcome::PassedOn => {
                self.tracked.held.set(false);
                return Err((CheckEnd::PassedOn, Remedy::Terminal));
            }
            Outcome::Aborted(abort) => {
                let (cause, end) = match abort {
                    Abort::TimedOut => (self.timeout_text(action), CheckEnd::TimedOut),
                    Abort::Cancelled => (CANCELLED.to_owned(), CheckEnd::Cancelled),
                    Abort::EngineEnds => (ENGINE_STOPPED.to_owned(), CheckEnd::HandedBack),
                };
                (
                    Status::Failed,
                    format!("{action} aborted ({cause})"),
                    Err((end, Remedy::Terminal)),
                )
            }
        };
        self.release((action, status), &reason).await.map_err(terminal)?;
        (self.instance.action, self.instance.status) = (action, status);
        result
    }

    /// Gives the lock back with the final state. While the database is away nobody else can take the lock from us, who
    /// are alive: so this is tried for as long as the engine runs.
    async fn release(&mut self, to: (Action, Status), reason: &str) -> Result<(), CheckEnd> {
        loop {
            match self
                .tracked
                .set_state(self.services, to, reason, Lock::Release, None)
                .await
            {
                Err(CheckEnd::Stack(error)) if error.is_outage() && !self.work.engine.ending.is_cancelled() => {
                    tracing::warn!(resource = self.instance.name, %error, "the lock is kept until it can be given back");
                    self.work.turn.lay_down(tokio::time::sleep(OUTAGE_PAUSE)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits, but not past the stack's time and not on after it was cancelled.
    async fn wait(&self, pause: Duration) -> Result<(), Abort> {
        self.work.engine.watch.tell(|| Step::Waits { pause });
        self.work.turn.lay_down(self.until(moment_after(pause))).await
    }

    /// Waits before the next look at the object. An engine that is to end asks others to do it.
    async fn wait_for_object(&self, action: Action, pause: Duration) -> Result<(), Outcome> {
        self.work.engine.watch.tell(|| Step::Waits { pause });
        let wake = moment_after(pause);
        let waiting = async {
            tokio::select! {
                biased;
                ended = self.until(wake) => return ended.map_err(Outcome::Aborted),
                () = self.work.engine.leaving.cancelled() => {}
            }
            loop {
                // Apart, so that those that wait need not keep room for it.
                if self.is_what_the_node_asks_for(action) && Box::pin(self.work.pass_on(self.tracked.row.id)).await {
                    return Err(Outcome::PassedOn);
                }
                let again = Instant::now() + OFFERED_AGAIN_AFTER;
                self.until(wake.min(again)).await.map_err(Outcome::Aborted)?;
                if wake <= again {
                    return Ok(());
                }
            }
        };
        self.work.turn.lay_down(waiting).await
    }

    /// Whether the row and the message tell all about where the action stands. What is deleted to be made once more stands
    /// between two of them.
    fn is_what_the_node_asks_for(&self, action: Action) -> bool {
        self.work.request.node.is_update == (action != Action::Delete)
    }

    async fn until(&self, wake: Instant) -> Result<(), Abort> {
        let deadline = self.work.deadline;
        tokio::select! {
            biased;
            () = self.work.running.cancelled.cancelled() => Err(Abort::Cancelled),
            () = self.work.engine.ending.cancelled() => Err(Abort::EngineEnds),
            () = tokio::time::sleep_until(deadline.min(wake)) => {
                if deadline <= wake { Err(Abort::TimedOut) } else { Ok(()) }
            }
        }
    }

    /// Waits before an action is tried again.
    async fn pause(&self, attempt: u32) -> Result<(), CheckEnd> {
        self.wait(self.back_off(attempt)).await.map_err(|abort| match abort {
            Abort::TimedOut => CheckEnd::TimedOut,
            Abort::Cancelled => CheckEnd::Cancelled,
            Abort::EngineEnds => CheckEnd::HandedBack,
        })
    }

    fn tell_of<T>(&self, call: &'static str, began: Instant, result: &Result<T, Failure>) {
        self.work.engine.watch.tell(|| Step::Asked {
            call,
            took: began.elapsed(),
            failure: result.as_ref().err(),
        });
    }

    fn back_off(&self, attempt: u32) -> Duration {
        Duration::from_secs(1 << attempt.min(16)) + self.services.clock.random_duration(RETRY_JITTER)
    }

    fn retry_limit(&self) -> u32 {
        u32::try_from(self.services.settings.engine.action_retry_limit).unwrap_or(0)
    }

    fn contention_retries(&self) -> u32 {
        u32::try_from(self.services.settings.engine.client_retry_limit).unwrap_or(0)
    }

    fn timeout_text(&self, action: Action) -> String {
        format!(
            "Task {} from {} Timed out",
            action.as_str().to_lowercase(),
            self.described_as
        )
    }
}

fn terminal(end: CheckEnd) -> (CheckEnd, Remedy) {
    (end, Remedy::Terminal)
}

fn requires_replacement(what: &str) -> String {
    format!("The Resource {what} requires replacement.")
}

/// Both lists, without doubles.
fn moment_after(pause: Duration) -> Instant {
    Instant::now() + pause.min(LONGEST_LOOK)
}

fn union(old: &[i64], new: &[i64]) -> Vec<i64> {
    let all: BTreeSet<i64> = old.iter().chain(new).copied().collect();
    all.into_iter().collect()
}
