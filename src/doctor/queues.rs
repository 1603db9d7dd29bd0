//! Queues of engines that are gone.
//!
//! Each engine has two queues of its own, under its id. The Python engine leaves them behind whenever it stops, and ours
//! when it crashes; nobody will read them again, and the broker keeps them for ever.

use super::engines::Known;
use super::report::{Area, Report};
use crate::convergence::recover::{LeftQueue, queues_of, remove_queue};
use crate::exception::chain;
use crate::messaging::Bus;
use crate::stack::error::StackError;

/// As many are named; of more an operator needs the number.
const NAMED: usize = 10;

pub async fn look(bus: &Bus, known: &Known, remove: bool, report: &mut Report) {
    let outcome = async {
        let left = left_queues(bus, known).await?;
        judge(bus, left, remove, report).await
    };
    if let Err(error) = outcome.await {
        report.problem(
            Area::Queues,
            format!("the queues could not be looked at: {}", chain(&error)),
            "what engines left behind stays",
            "see what is said of the broker",
        );
    }
}

async fn left_queues(bus: &Bus, known: &Known) -> Result<Vec<LeftQueue>, StackError> {
    let mut left = Vec::new();
    for engine_id in known.ever.difference(&known.living) {
        let queues = queues_of(bus, engine_id).await?;
        // Somebody reads it: the engine lives after all, and is another finding.
        left.extend(queues.into_iter().filter(|queue| queue.consumers == 0));
    }
    left.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(left)
}

async fn judge(bus: &Bus, left: Vec<LeftQueue>, remove: bool, report: &mut Report) -> Result<(), StackError> {
    let (empty, full): (Vec<_>, Vec<_>) = left.into_iter().partition(LeftQueue::can_go);
    if empty.is_empty() && full.is_empty() {
        report.fine(Area::Queues, "none of engines that are gone");
    }
    if !full.is_empty() {
        report.warning(
            Area::Queues,
            format!("of engines that are gone, with messages in them: {}", list(&full)),
            "the messages were for those engines alone, and nobody will read them",
            "they can go: `rabbitmqctl delete_queue -p VHOST NAME`",
        );
    }
    if empty.is_empty() {
        return Ok(());
    }
    if !remove {
        report.warning(
            Area::Queues,
            format!("of engines that are gone, empty: {}", list(&empty)),
            "the broker keeps them for ever",
            "`heat-engine-rs doctor --remove`, or leave them to the sweep of a heat-engine-rs that runs",
        );
        return Ok(());
    }
    let mut removed = Vec::new();
    for queue in empty {
        if remove_queue(bus, &queue).await? {
            removed.push(queue);
        }
    }
    report.fine(Area::Queues, format!("removed {}", list(&removed)));
    Ok(())
}

fn list(queues: &[LeftQueue]) -> String {
    let names: Vec<&str> = queues.iter().take(NAMED).map(|queue| queue.name.as_str()).collect();
    let more = match queues.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}
