//! How many messages wait in the queues that all engines share, and for how long.
//!
//! The broker does not tell how old a message is. But it takes the oldest first, so while a queue is not empty its
//! oldest message is at most as old as the time since it was last seen empty.

use std::time::Duration;

use metrics::{describe_gauge, gauge};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::messaging::Bus;
use crate::rpc::{contract, worker};

const MESSAGES: &str = "heat_engine_queue_messages";
const CONSUMERS: &str = "heat_engine_queue_consumers";
const AGE: &str = "heat_engine_queue_age_seconds";

const LOOK_EVERY: Duration = Duration::from_secs(10);

pub fn describe() {
    describe_gauge!(MESSAGES, "Messages that no engine has taken yet, by queue");
    describe_gauge!(CONSUMERS, "Consumers of a queue: engines of either kind that are there");
    describe_gauge!(AGE, "How long a queue has not been empty, in seconds, by queue");
}

pub async fn watch(bus: Bus, stopping: CancellationToken) {
    let mut queues = [contract::TOPIC, worker::WORKER_TOPIC].map(|name| (name, Instant::now()));
    loop {
        for (name, last_empty) in &mut queues {
            match bus.queue_state(name).await {
                Ok(Some(state)) => {
                    if state.waiting == 0 {
                        *last_empty = Instant::now();
                    }
                    gauge!(MESSAGES, "queue" => *name).set(f64::from(state.waiting));
                    gauge!(CONSUMERS, "queue" => *name).set(f64::from(state.consumers));
                    gauge!(AGE, "queue" => *name).set(last_empty.elapsed().as_secs_f64());
                }
                Ok(None) => gauge!(CONSUMERS, "queue" => *name).set(0.0),
                Err(error) => tracing::debug!(queue = *name, %error, "the queue could not be looked at"),
            }
        }
        if stopping
            .run_until_cancelled(tokio::time::sleep(LOOK_EVERY))
            .await
            .is_none()
        {
            return;
        }
    }
}
