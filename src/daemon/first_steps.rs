//! What the daemon does before it connects to anything, done for its findings alone.
//!
//! Each room says whether it could use what heat.conf has for it; here that becomes a refusal with file, group and
//! option. So what would fail in use fails before anything runs, and `--check-config` knows all that the daemon knows.

use std::collections::BTreeSet;

use super::logging;
use crate::cloud;
use crate::exception::chain;
use crate::identity::policy::ResourcePolicy;
use crate::messaging::{self, Options, SetupError};
use crate::settings::clients::SERVICES;
use crate::settings::{Findings, Origin, Reading, Settings, SettingsError, SettingsSources};
use crate::store::DatabaseOptions;

/// Reads the settings and finds all that keeps an engine from running with them.
pub fn read_settings(sources: &SettingsSources) -> Reading {
    let mut reading = Settings::read_for_engine(sources);
    let findings = take(&reading.settings);
    reading.add(findings);
    reading
}

fn take(settings: &Settings) -> Findings {
    let mut findings = Findings::default();
    open_log(settings, &mut findings);
    open_bus(settings, &mut findings);
    open_database(settings, &mut findings);
    set_up_clients(settings, &mut findings);
    read_policy(settings, &mut findings);
    findings
}

fn open_log(settings: &Settings, findings: &mut Findings) {
    if let Err(error) = logging::check(&settings.logging) {
        let refusal = settings.refusal("DEFAULT", error.option(), chain(&error));
        findings.problems.push(refusal);
    }
    findings.warnings.extend(logging::unusable_part(&settings.logging));
}

fn open_bus(settings: &Settings, findings: &mut Findings) {
    const NOTIFICATIONS: &str = "oslo_messaging_notifications";
    let mut options = Options::new(&settings.messaging);
    for problem in options.problems() {
        findings.problems.push(bus_refusal(settings, "DEFAULT", &problem));
    }
    let notifications = &settings.messaging.notifications;
    if let Some(url) = &notifications.transport_url {
        options.transport.transport_url = url.clone();
        for problem in options.problems() {
            findings.problems.push(bus_refusal(settings, NOTIFICATIONS, &problem));
        }
    }
    for driver in messaging::unsupported_drivers(notifications) {
        findings.warnings.push(format!(
            "[{NOTIFICATIONS}] driver: '{driver}' is not supported and gets no notifications"
        ));
    }
}

fn bus_refusal(settings: &Settings, group_of_url: &str, problem: &SetupError) -> SettingsError {
    match problem {
        SetupError::TransportUrl(problem) => settings.refusal(group_of_url, "transport_url", problem),
        SetupError::Query { option, problem } => settings.refusal(
            group_of_url,
            "transport_url",
            format!("{option} in its query: {problem}"),
        ),
        SetupError::Option { option, problem } => settings.refusal("oslo_messaging_rabbit", option, problem),
        SetupError::QueueName(_) => settings.refusal("oslo_messaging_rabbit", "use_queue_manager", chain(problem)),
    }
}

fn open_database(settings: &Settings, findings: &mut Findings) {
    let problem = DatabaseOptions::from_settings(&settings.database).and_then(|options| options.problem());
    if let Some(problem) = problem {
        let refusal = settings.refusal("database", "connection", chain(&problem));
        findings.problems.push(refusal);
    }
}

/// A file of `[clients]` that all services share is complained about once.
fn set_up_clients(settings: &Settings, findings: &mut Findings) {
    let mut told = BTreeSet::new();
    for service in SERVICES {
        let client = settings.clients.for_service(service);
        if client.ca_file.is_none() && client.cert_file.is_none() && client.key_file.is_none() {
            continue;
        }
        let Err(error) = cloud::check_client(&client) else {
            continue;
        };
        let own_group = format!("clients_{service}");
        let is_own = settings
            .options
            .get(&own_group, error.option())
            .is_some_and(|option| option.origin != Origin::Default);
        let group = if is_own { own_group } else { "clients".to_owned() };
        if told.insert((group.clone(), error.option())) {
            let refusal = settings.refusal(&group, error.option(), chain(&error));
            findings.problems.push(refusal);
        }
    }
}

fn read_policy(settings: &Settings, findings: &mut Findings) {
    const GROUP: &str = "oslo_policy";
    let file = settings.find_file(&settings.policy.policy_file);
    let is_named = settings
        .options
        .get(GROUP, "policy_file")
        .is_some_and(|option| option.origin != Origin::Default);
    if file.is_none() && is_named {
        findings.warnings.push(format!(
            "[{GROUP}] policy_file: there is no {}; the default rules hold",
            settings.policy.policy_file.display()
        ));
    }
    if let Err(error) = ResourcePolicy::read(file, Vec::new()) {
        findings
            .problems
            .push(settings.refusal(GROUP, "policy_file", chain(&error)));
    }
    if let Err(error) = ResourcePolicy::read(None, settings.policy_directories()) {
        findings
            .problems
            .push(settings.refusal(GROUP, "policy_dirs", chain(&error)));
    }
}
