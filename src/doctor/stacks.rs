//! Stacks in progress with which nobody seems to go on.

use std::collections::BTreeSet;

use chrono::{NaiveDateTime, TimeDelta};

use super::engines::{Known, Standing};
use super::report::{Area, Report};
use crate::exception::chain;
use crate::messaging::Bus;
use crate::settings::Settings;
use crate::store::{StackInProgress, Store};

/// After a silence of this length a stack that nobody holds is worth a look. Messages may wait in a queue for a while.
const QUIET_MINUTES: i64 = 5;
const QUIET: TimeDelta = TimeDelta::minutes(QUIET_MINUTES);

/// As many are named; of more an operator needs the number.
const NAMED: usize = 10;

/// How a stack in progress stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// An engine that answers holds some of its resources.
    Busy,
    /// Whoever holds its resources could not be asked.
    Unseen,
    /// Engines that have reported not long ago, and do not answer, hold its resources.
    HeldByTheSilent,
    /// Nobody holds anything, and something was heard not long ago: messages are on their way, or lost.
    Between,
    /// Engines that are gone hold its resources.
    HeldByTheDead,
    /// Nobody holds anything, and nothing was heard for a while.
    Quiet,
    /// The time for its action is over.
    Overdue,
}

pub async fn look(settings: &Settings, store: &Store, bus: Option<&Bus>, known: &mut Known, report: &mut Report) {
    let stacks = match store.stacks_under_way().await {
        Ok(stacks) => stacks,
        Err(error) => {
            report.problem(
                Area::Stacks,
                format!("the stacks cannot be read: {}", chain(&error)),
                "engines cannot read them either",
                "see what is said of the database",
            );
            return;
        }
    };
    let holders: Vec<&str> = stacks
        .iter()
        .flat_map(|stack| &stack.holders)
        .map(String::as_str)
        .collect();
    known.ask_also(settings, bus, &holders).await;
    tell(&stacks, settings, known, store.clock().utc_now(), report);
}

fn tell(stacks: &[StackInProgress], settings: &Settings, known: &Known, now: NaiveDateTime, report: &mut Report) {
    let time = TimeDelta::from_std(settings.engine.stack_action_timeout).unwrap_or(TimeDelta::MAX);
    let of = |condition: Condition| -> Vec<&StackInProgress> {
        let stacks = stacks.iter();
        stacks
            .filter(|stack| judge(stack, known, now, time) == condition)
            .collect()
    };
    let busy = of(Condition::Busy).len();
    let unseen = of(Condition::Unseen);
    let mut what = format!("{} in progress", stacks.len());
    if unseen.is_empty() {
        what += &format!(", {busy} of them being worked on");
    }
    if let Some(list) = list(&of(Condition::Between)) {
        what += &format!(
            "; nobody holds anything of these, of which something was heard within {QUIET_MINUTES} minutes: {list}"
        );
    }
    report.fine(Area::Stacks, what);
    const INSPECT: &str = "`heat-engine-rs inspect STACK` shows what it waits for; a heat-engine-rs that runs finds and \
                           mends it by itself within minutes";
    let silent = of(Condition::HeldByTheSilent);
    if let Some(list) = list(&silent) {
        let engines: BTreeSet<&str> = silent
            .iter()
            .flat_map(|stack| &stack.holders)
            .filter(|holder| known.standing(holder) == Standing::Silent)
            .map(String::as_str)
            .collect();
        let engines: Vec<&str> = engines.into_iter().collect();
        report.warning(
            Area::Stacks,
            format!(
                "held by {}, which reports and does not answer: {list}",
                engines.join(", ")
            ),
            "if it is gone nobody goes on until its report is overdue; if it is stuck, until it is restarted",
            "see what is said of the engine",
        );
    }
    if let Some(list) = list(&unseen) {
        report.unseen(
            Area::Stacks,
            format!("whether those work who hold them, and could not be asked: {list}"),
            "what a dead engine holds stands still until another one notices",
            "put right what is said of the broker, and look again",
        );
    }
    if let Some(list) = list(&of(Condition::HeldByTheDead)) {
        let why = "nobody goes on with what an engine held that is gone, until somebody notices";
        report.problem(
            Area::Stacks,
            format!("held by engines that are gone: {list}"),
            why,
            INSPECT,
        );
    }
    if let Some(list) = list(&of(Condition::Overdue)) {
        let why = "their time is over, and no engine has marked them as failed";
        report.problem(
            Area::Stacks,
            format!("in progress beyond their time: {list}"),
            why,
            INSPECT,
        );
    }
    if let Some(list) = list(&of(Condition::Quiet)) {
        let why = "a message may be lost, or wait in a queue that no engine reads";
        let what = format!("nobody holds anything of them, and nothing was heard for {QUIET_MINUTES} minutes: {list}");
        report.warning(Area::Stacks, what, why, INSPECT);
    }
}

fn judge(stack: &StackInProgress, known: &Known, now: NaiveDateTime, time: TimeDelta) -> Condition {
    let time = stack.timeout.and_then(TimeDelta::try_minutes).unwrap_or(time);
    // A minute's grace: whoever works on it has to see it first.
    let is_over = stack
        .since
        .and_then(|since| since.checked_add_signed(time))
        .is_some_and(|end| end + TimeDelta::minutes(1) < now);
    let is_held_by_one_who = |standing| stack.holders.iter().any(|holder| known.standing(holder) == standing);
    if is_held_by_one_who(Standing::Answers) {
        Condition::Busy
    } else if is_held_by_one_who(Standing::Unasked) {
        Condition::Unseen
    } else if is_held_by_one_who(Standing::Silent) {
        Condition::HeldByTheSilent
    } else if !stack.holders.is_empty() {
        Condition::HeldByTheDead
    } else if is_over {
        Condition::Overdue
    } else if stack.last_event.or(stack.since).is_none_or(|last| last + QUIET < now) {
        Condition::Quiet
    } else {
        Condition::Between
    }
}

fn list(stacks: &[&StackInProgress]) -> Option<String> {
    if stacks.is_empty() {
        return None;
    }
    let named = stacks.iter().take(NAMED).map(|stack| {
        format!(
            "{} ({}, {}, project {})",
            stack.name, stack.id, stack.action, stack.project
        )
    });
    let mut list = named.collect::<Vec<_>>().join(", ");
    if stacks.len() > NAMED {
        list.push_str(&format!(" and {} more", stacks.len() - NAMED));
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> NaiveDateTime {
        chrono::DateTime::from_timestamp(60 * minute, 0).unwrap().naive_utc()
    }

    fn condition(last_event: i64, holders: &[&str]) -> Condition {
        let stack = StackInProgress {
            id: "id".to_owned(),
            name: "web".to_owned(),
            project: "p".to_owned(),
            action: "CREATE".to_owned(),
            since: Some(at(100)),
            timeout: None,
            last_event: Some(at(last_event)),
            holders: holders.iter().map(|holder| (*holder).to_owned()).collect(),
        };
        let known = Known::of([
            ("alive", Standing::Answers),
            ("silent", Standing::Silent),
            ("dead", Standing::Gone),
        ]);
        judge(&stack, &known, at(130), TimeDelta::minutes(60))
    }

    #[test]
    fn who_is_held_by_the_living_is_busy_however_long_it_takes() {
        assert_eq!(condition(100, &["alive"]), Condition::Busy);
        assert_eq!(condition(100, &["alive", "dead"]), Condition::Busy);
        assert_eq!(condition(128, &["dead"]), Condition::HeldByTheDead);
        assert_eq!(condition(100, &["silent", "dead"]), Condition::HeldByTheSilent);
        assert_eq!(condition(100, &["silent", "not asked"]), Condition::Unseen);
        assert_eq!(condition(128, &[]), Condition::Between);
        assert_eq!(condition(120, &[]), Condition::Quiet);
    }

    #[test]
    fn a_stack_has_its_own_time_or_that_of_the_configuration() {
        let overdue = |timeout, minute| {
            let stack = StackInProgress {
                id: String::new(),
                name: String::new(),
                project: String::new(),
                action: String::new(),
                since: Some(at(100)),
                timeout,
                last_event: Some(at(minute)),
                holders: Vec::new(),
            };
            judge(&stack, &Known::default(), at(minute), TimeDelta::minutes(60)) == Condition::Overdue
        };
        assert!(overdue(None, 162) && !overdue(None, 160));
        assert!(overdue(Some(5), 107) && !overdue(Some(90), 162));
    }
}
