//! Stacks in progress with which nobody seems to go on.

use chrono::{NaiveDateTime, TimeDelta};

use super::engines::Known;
use super::report::{Area, Report};
use crate::exception::chain;
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
    /// An engine that lives holds some of its resources.
    Busy,
    /// Nobody holds anything, and something was heard not long ago: messages are on their way, or lost.
    Between,
    /// Engines that are gone hold its resources.
    HeldByTheDead,
    /// Nobody holds anything, and nothing was heard for a while.
    Quiet,
    /// The time for its action is over.
    Overdue,
}

pub async fn look(settings: &Settings, store: &Store, known: &Known, report: &mut Report) {
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
    let now = store.clock().utc_now();
    let time = TimeDelta::from_std(settings.engine.stack_action_timeout).unwrap_or(TimeDelta::MAX);
    let of = |condition: Condition| -> Vec<&StackInProgress> {
        let stacks = stacks.iter();
        stacks
            .filter(|stack| judge(stack, known, now, time) == condition)
            .collect()
    };
    let busy = of(Condition::Busy).len();
    let mut what = format!("{} in progress, {busy} of them being worked on", stacks.len());
    if let Some(list) = list(&of(Condition::Between)) {
        what += &format!(
            "; nobody holds anything of these, of which something was heard within {QUIET_MINUTES} minutes: {list}"
        );
    }
    report.fine(Area::Stacks, what);
    const INSPECT: &str = "`heat-engine-rs inspect STACK` shows what it waits for; a heat-engine-rs that runs finds and \
                           mends it by itself within minutes";
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
    let lives = |holder: &String| known.living.contains(holder);
    if stack.holders.iter().any(lives) {
        Condition::Busy
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
        let known = Known {
            living: ["alive".to_owned()].into(),
            ..Known::default()
        };
        judge(&stack, &known, at(130), TimeDelta::minutes(60))
    }

    #[test]
    fn who_is_held_by_the_living_is_busy_however_long_it_takes() {
        assert_eq!(condition(100, &["alive"]), Condition::Busy);
        assert_eq!(condition(100, &["alive", "dead"]), Condition::Busy);
        assert_eq!(condition(128, &["dead"]), Condition::HeldByTheDead);
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
