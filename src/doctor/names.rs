//! The names that engines of both kinds, heat-api and those who read notifications have to agree upon.

use crate::rpc::listener::LISTENER_TOPIC;
use crate::rpc::{contract, worker};
use crate::settings::Settings;

pub const TOPICS: [&str; 3] = [contract::TOPIC, worker::WORKER_TOPIC, LISTENER_TOPIC];

/// What a queue is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Requests,
    Notifications,
}

/// The queues that engines of both kinds, heat-api and those who read notifications have to agree upon.
pub fn shared_queues(settings: &Settings) -> Vec<(String, Use)> {
    let own_host = format!("{}.{}", contract::TOPIC, settings.engine.host);
    let shared = [contract::TOPIC.to_owned(), own_host, worker::WORKER_TOPIC.to_owned()];
    let shared = shared.into_iter().map(|name| (name, Use::Requests));
    let of_notifications = notification_queues(settings).into_iter();
    shared
        .chain(of_notifications.map(|name| (name, Use::Notifications)))
        .collect()
}

/// Those to which notifications go; none of another bus, which is not asked for here.
pub fn notification_queues(settings: &Settings) -> Vec<String> {
    let notifications = &settings.messaging.notifications;
    let is_sent = notifications
        .drivers
        .iter()
        .any(|driver| driver.starts_with("messaging"));
    let topics = notifications
        .topics
        .iter()
        .filter(|_| is_sent && notifications.transport_url.is_none());
    topics
        .flat_map(|topic| [format!("{topic}.info"), format!("{topic}.error")])
        .collect()
}
