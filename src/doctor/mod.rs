//! Looks at everything that an engine needs, and tells an operator what is wrong, why it matters and what to do.
//!
//! It asks what an engine would ask, on connections of its own, and takes no work. It changes nothing, but for queues of
//! engines that are gone, when it is told to remove them. What cannot be reached ends the questions that depend on it, and
//! no others.

mod broker;
mod database;
mod engines;
mod identity;
mod names;
mod queues;
mod report;
mod secrets;
mod stacks;
mod topology;

pub use report::{Area, Finding, Report, Severity};

use broker::Broker;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::clock::Clock;
use crate::cloud::{Cloud, CloudOptions};
use crate::settings::{Reading, Settings};
use crate::store::Store;

/// How long one of those who are asked may take with all that it is asked; what takes longer is a finding of its own.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at everything. `remove`: queues of engines that are gone go, if they are empty.
pub async fn examine(reading: Reading, remove: bool) -> Report {
    let mut report = Report::default();
    let is_usable = reading.problems.is_empty();
    look_at_configuration(&reading, &mut report);
    if !is_usable {
        return report;
    }
    let settings = Arc::new(reading.settings);
    let store = timeout(PATIENCE, database::look(&settings, &mut report)).await;
    let store = store.unwrap_or_else(|_| {
        tell_silence(Area::Database, "the database", &mut report);
        None
    });
    if let Some(store) = &store {
        secrets::look(&settings, store, &mut report).await;
    }
    let mut broker = broker::look(&settings, &mut report).await;
    let cloud = cloud_of(&settings, &mut report);
    if let Some(broker) = broker.as_mut().filter(|broker| broker.takes_messages) {
        topology::look(&settings, broker, cloud.as_ref(), &mut report).await;
    }
    if let Some(cloud) = &cloud {
        identity::look(&settings, cloud, &mut report).await;
    }
    match &store {
        Some(store) => {
            look_at_engines(&settings, store, broker.as_ref(), remove, &mut report).await;
            store.close().await;
        }
        None => left_out(
            Area::Engines,
            "which engines live, which stacks are asleep, and whose queues are left",
            "the database",
            &mut report,
        ),
    }
    if let Some(broker) = broker {
        let _ = timeout(PATIENCE, broker.bus.close()).await;
    }
    report
}

/// The engines, and what they hold and leave. Those whom nobody can ask are judged by nothing that only they could say.
async fn look_at_engines(
    settings: &Settings,
    store: &Store,
    broker: Option<&Broker>,
    remove: bool,
    report: &mut Report,
) {
    let askable = broker.filter(|broker| broker.may_ask_engines());
    let lacking = match broker {
        Some(broker) if broker.takes_messages => "all permissions on the broker",
        Some(_) => "a broker that takes messages",
        None => "the broker",
    };
    let bus = askable.map(|broker| &broker.bus);
    if bus.is_none() {
        left_out(Area::Engines, "which engines answer", lacking, report);
    }
    let Some(mut known) = engines::look(settings, store, bus, report).await else {
        let what = "which stacks are asleep, and whose queues are left";
        return left_out(Area::Stacks, what, "the service table", report);
    };
    stacks::look(settings, store, bus, &mut known, report).await;
    match bus {
        Some(bus) => {
            if timeout(PATIENCE, queues::look(bus, &known, remove, report))
                .await
                .is_err()
            {
                tell_silence(Area::Queues, "the broker", report);
            }
        }
        None => left_out(Area::Queues, "whose queues are left", lacking, report),
    }
}

fn tell_silence(area: Area, who: &str, report: &mut Report) {
    report.problem(
        area,
        format!("{who} takes connections and had not answered all questions after {PATIENCE:?}"),
        "engines wait for these answers, and stacks for the engines",
        SILENT,
    );
}

const SILENT: &str = "see whether it is overloaded, and whether something on the way (a firewall, a proxy) drops what is \
                      sent";

fn left_out(area: Area, what: &str, without: &str, report: &mut Report) {
    report.unseen(
        area,
        format!("{what}: without {without} nobody can tell"),
        "more may be wrong than is told here",
        "put right what is said of it, and look again",
    );
}

fn look_at_configuration(reading: &Reading, report: &mut Report) {
    for problem in &reading.problems {
        report.problem(
            Area::Configuration,
            problem.to_string(),
            "an engine refuses to start with it",
            "correct the option in the place that is named",
        );
    }
    let settings = &reading.settings;
    for warning in &settings.warnings {
        report.warning(
            Area::Configuration,
            warning.clone(),
            "it works, but perhaps not as it is meant",
            "see docs/compatibility-options.md",
        );
    }
    if reading.problems.is_empty() {
        let files: Vec<String> = settings.files.iter().map(|file| file.display().to_string()).collect();
        let read = if files.is_empty() {
            "no file; all options have their defaults".to_owned()
        } else {
            files.join(", ")
        };
        report.fine(Area::Configuration, format!("sound, read from {read}"));
    }
}

fn cloud_of(settings: &Settings, report: &mut Report) -> Option<Cloud> {
    let cloud = Cloud::new(CloudOptions::from(settings), Clock::system());
    cloud
        .inspect_err(|error| {
            report.problem(
                Area::Identity,
                crate::exception::chain(error),
                "no service of the cloud can be reached",
                "correct the options of [clients]",
            );
        })
        .ok()
}
