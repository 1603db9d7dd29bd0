//! Reaches the brokers, and tries what the user may do.

use super::PATIENCE;
use super::names::{TOPICS, notification_queues};
use super::report::{Area, Report};
use crate::daemon::engine::open_bus;
use crate::exception::chain;
use crate::messaging::{Bus, Options, Permission, Refusal, Tried, try_brokers};
use crate::settings::Settings;

/// A broker that took us, and what it does not allow us.
#[derive(Debug)]
pub struct Broker {
    pub bus: Bus,
    pub refused: Vec<Refusal>,
    /// It takes messages, as far as is known.
    pub takes_messages: bool,
}

impl Broker {
    /// Whoever lacks a permission gets no answer, however well the engines are; nor does anybody whose question is not taken.
    pub fn may_ask_engines(&self) -> bool {
        self.refused.is_empty() && self.takes_messages
    }
}

pub async fn look(settings: &Settings, report: &mut Report) -> Option<Broker> {
    try_those_of_notifications(settings, report).await;
    let silent = try_each(settings, report).await?;
    let Some(bus) = connected_bus(settings, silent).await else {
        report.problem(
            Area::Broker,
            "a broker took one connection and did not take two more",
            "an engine needs two, and waits until it has them",
            "look into the log of the broker, and at its limits of connections",
        );
        return None;
    };
    let tried = try_permissions(settings, &bus).await;
    // The broker tells a connection of an alarm when that publishes.
    if let Some(reason) = bus.health().blocked {
        report.problem(
            Area::Broker,
            format!("the broker takes no messages: {reason}"),
            "stacks stand still until it does",
            "free memory or disk on the broker's machine (`rabbitmqctl status` shows the alarm)",
        );
        return Some(Broker {
            bus,
            refused: Vec::new(),
            takes_messages: false,
        });
    }
    let takes_messages = tried.unanswered.is_empty();
    tell_of_permissions(&tried, report);
    Some(Broker {
        bus,
        refused: tried.refusals,
        takes_messages,
    })
}

/// A bus whose both connections are up.
async fn connected_bus(settings: &Settings, passed_over: Vec<String>) -> Option<Bus> {
    let bus = open_bus(settings, passed_over).ok()?;
    match tokio::time::timeout(PATIENCE, bus.connected()).await {
        Ok(Ok(())) => Some(bus),
        _ => None,
    }
}

/// The brokers that cannot be used; `None` if none can.
async fn try_each(settings: &Settings, report: &mut Report) -> Option<Vec<String>> {
    let tried = match try_brokers(Options::new(&settings.messaging), PATIENCE).await {
        Ok(tried) => tried,
        Err(error) => {
            report.problem(
                Area::Broker,
                chain(&error),
                "no engine can start",
                "correct [DEFAULT] transport_url and [oslo_messaging_rabbit]",
            );
            return None;
        }
    };
    let any = tried.iter().any(|(_, outcome)| outcome.is_ok());
    let failed = tried.iter().filter(|(_, outcome)| outcome.is_err());
    let failed = failed.map(|(address, _)| address.clone()).collect();
    for (address, outcome) in tried {
        match outcome {
            Ok(took) => report.fine(Area::Broker, format!("{address} answers, in {took:.0?}")),
            Err(reason) if any => report.warning(
                Area::Broker,
                format!("{address}: {reason}"),
                "if the other broker fails too, nothing is left",
                "start it, or take it out of [DEFAULT] transport_url",
            ),
            Err(reason) => report.problem(
                Area::Broker,
                format!("{address}: {reason}"),
                "engines that start wait for a broker, and heat-api gets no answer",
                "start it, or correct address, user, password or virtual host in [DEFAULT] transport_url",
            ),
        }
    }
    any.then_some(failed)
}

/// Notifications may go to a bus of their own.
async fn try_those_of_notifications(settings: &Settings, report: &mut Report) {
    let notifications = &settings.messaging.notifications;
    let is_sent = notifications
        .drivers
        .iter()
        .any(|driver| driver.starts_with("messaging"));
    let Some(url) = notifications.transport_url.as_ref().filter(|_| is_sent) else {
        return;
    };
    let mut options = Options::new(&settings.messaging);
    options.transport.transport_url = url.clone();
    let reasons = match try_brokers(options, PATIENCE).await {
        Ok(tried) if tried.iter().any(|(_, outcome)| outcome.is_ok()) => {
            report.fine(Area::Broker, "a broker for notifications answers");
            return;
        }
        Ok(tried) => tried
            .into_iter()
            .filter_map(|(address, outcome)| Some(format!("{address}: {}", outcome.err()?)))
            .collect(),
        Err(error) => vec![chain(&error)],
    };
    report.problem(
        Area::Broker,
        format!("no broker takes notifications: {}", reasons.join(", ")),
        "those who wait for notifications hear nothing; some thousands are kept, then stacks wait too",
        "start it, or correct [oslo_messaging_notifications] transport_url",
    );
}

async fn try_permissions(settings: &Settings, bus: &Bus) -> Tried {
    let notifications = notification_queues(settings);
    let notifications: Vec<&str> = notifications.iter().map(String::as_str).collect();
    let trying = bus.examine_permissions(&TOPICS, &notifications);
    let unanswered = match tokio::time::timeout(PATIENCE, trying).await {
        Ok(Ok(tried)) => return tried,
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("not within {PATIENCE:?}"),
    };
    Tried {
        unanswered: vec![unanswered],
        ..Tried::default()
    }
}

fn tell_of_permissions(tried: &Tried, report: &mut Report) {
    let Tried { refusals, unanswered } = tried;
    if !unanswered.is_empty() {
        report.problem(
            Area::Broker,
            format!(
                "the broker does not tell what the user may do: {}",
                unanswered.join("; ")
            ),
            "what the engine asks may fail too",
            "look into the log of the broker",
        );
    } else if refusals.is_empty() {
        report.fine(Area::Broker, "the user may make queues, write and read");
    }
    for permission in [Permission::Configure, Permission::Write, Permission::Read] {
        tell_refusals(permission, refusals, report);
    }
}

pub fn tell_refusals(permission: Permission, refusals: &[Refusal], report: &mut Report) {
    let mut of_it = refusals.iter().filter(|refusal| refusal.permission == permission);
    let Some(first) = of_it.next() else { return };
    let others: Vec<&str> = of_it.map(|refusal| refusal.on.as_str()).collect();
    let and_others = match others.is_empty() {
        true => String::new(),
        false => format!("; nor on {}", others.join(", ")),
    };
    report.problem(
        Area::Broker,
        format!(
            "the user lacks the permission to {}: {}{and_others}",
            permission.as_str(),
            first.reason
        ),
        "engines make queues of their own, write to those of others, and read",
        "`rabbitmqctl set_permissions -p VHOST USER \".*\" \".*\" \".*\"`, or patterns that take in what is named",
    );
}
