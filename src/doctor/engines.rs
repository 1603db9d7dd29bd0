//! Which engines live, of either kind and of which version.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use chrono::NaiveDateTime;
use futures_util::future::join_all;
use serde_json::{Map, Value};

use super::report::{Area, Report};
use crate::convergence::peers::{KIND_MARK, LISTENER_TOPIC, LISTENER_VERSION};
use crate::daemon::VERSION;
use crate::exception::chain;
use crate::identity::RequestContext;
use crate::messaging::{Bus, CallError, ExchangeKind, Fit, RpcClient, Target};
use crate::settings::Settings;
use crate::store::{Service, Store};

/// An engine that is busy may answer later than others wait for it; nobody is called dead for that here.
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// What is known of the engines when they have been asked.
#[derive(Debug, Default)]
pub struct Known {
    /// Engines that report or answer: what is theirs is left to them.
    pub living: HashSet<String>,
    /// All that the service table knows of, of past times too.
    pub ever: HashSet<String>,
    standings: HashMap<String, Standing>,
}

/// Whether somebody goes on with what an engine holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Answers,
    /// It has reported not long ago, and does not answer.
    Silent,
    /// It neither reports nor answers.
    Gone,
    /// Nobody could ask it.
    Unasked,
}

impl Known {
    pub fn standing(&self, engine_id: &str) -> Standing {
        self.standings.get(engine_id).copied().unwrap_or(Standing::Unasked)
    }

    /// Asks those who hold something and have no row in the service table: a check by hand (`--once`) has none.
    pub async fn ask_also(&mut self, settings: &Settings, bus: Option<&Bus>, holders: &[&str]) {
        let strangers: BTreeSet<&str> = holders
            .iter()
            .copied()
            .filter(|holder| !self.standings.contains_key(*holder))
            .collect();
        let strangers: Vec<&str> = strangers.into_iter().collect();
        let answers = ask_each(settings, bus, &strangers).await;
        for (stranger, answer) in strangers.into_iter().zip(answers) {
            self.standings.insert(stranger.to_owned(), standing_of(false, &answer));
        }
    }
}

fn standing_of(reports: bool, answer: &Answer) -> Standing {
    match answer {
        Answer::Python | Answer::Ours(_) => Standing::Answers,
        Answer::Silence if reports => Standing::Silent,
        Answer::Silence => Standing::Gone,
        Answer::NotAsked => Standing::Unasked,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Python,
    Ours(String),
    Silence,
    /// Without a broker nobody can be asked.
    NotAsked,
}

#[derive(Clone, Debug)]
struct Engine {
    service: Service,
    reports: bool,
    answer: Answer,
}

pub async fn look(settings: &Settings, store: &Store, bus: Option<&Bus>, report: &mut Report) -> Option<Known> {
    let services = match store.services_ever().await {
        Ok(services) => services,
        Err(error) => {
            report.problem(
                Area::Engines,
                format!("the service table cannot be read: {}", chain(&error)),
                "engines find each other by it",
                "see what is said of the database",
            );
            return None;
        }
    };
    let now = store.clock().utc_now();
    let ever = services.iter().map(|service| service.engine_id.clone()).collect();
    let engines = ask(settings, services, bus, now).await;
    if bus.is_some() {
        judge_answers(&engines, report);
    }
    for engine in &engines {
        judge_one(engine, now, report);
    }
    let lives = |engine: &&Engine| engine.reports || matches!(engine.answer, Answer::Python | Answer::Ours(_));
    Some(Known {
        living: engines
            .iter()
            .filter(lives)
            .map(|engine| engine.service.engine_id.clone())
            .collect(),
        ever,
        standings: engines
            .iter()
            .map(|engine| {
                let standing = standing_of(engine.reports, &engine.answer);
                (engine.service.engine_id.clone(), standing)
            })
            .collect(),
    })
}

async fn lacks_exchange(bus: &Bus) -> bool {
    for exchange in bus.expected_exchanges(&[LISTENER_TOPIC]) {
        if exchange.kind == ExchangeKind::Topic && matches!(bus.examine_exchange(&exchange).await, Ok(Fit::Missing)) {
            return true;
        }
    }
    false
}

/// Those that are not marked as gone.
async fn ask(settings: &Settings, services: Vec<Service>, bus: Option<&Bus>, now: NaiveDateTime) -> Vec<Engine> {
    let present: Vec<Service> = services
        .into_iter()
        .filter(|service| service.deleted_at.is_none())
        .collect();
    let ids: Vec<&str> = present.iter().map(|service| service.engine_id.as_str()).collect();
    let answers = ask_each(settings, bus, &ids).await;
    present
        .into_iter()
        .zip(answers)
        .map(|(service, answer)| Engine {
            reports: service.is_up(now),
            service,
            answer,
        })
        .collect()
}

async fn ask_each(settings: &Settings, bus: Option<&Bus>, engine_ids: &[&str]) -> Vec<Answer> {
    let Some(bus) = bus else {
        return vec![Answer::NotAsked; engine_ids.len()];
    };
    // To ask would make the exchange, and nobody would see any more that it is missing.
    if lacks_exchange(bus).await {
        return vec![Answer::Silence; engine_ids.len()];
    }
    let client = RpcClient::new(bus);
    let questions = engine_ids.iter().map(|engine_id| ask_one(settings, &client, engine_id));
    join_all(questions).await
}

async fn ask_one(settings: &Settings, client: &RpcClient, engine_id: &str) -> Answer {
    let target = Target::topic(LISTENER_TOPIC, LISTENER_VERSION).server(engine_id);
    let mut context = RequestContext::admin("req-doctor".to_owned()).to_wire();
    context.insert(KIND_MARK.to_owned(), Value::Bool(true));
    let patience = settings.engine.engine_life_check_timeout.max(LEAST_PATIENCE);
    match client.call(&target, "listening", Map::new(), &context, patience).await {
        Ok(Value::Bool(true)) => Answer::Python,
        Ok(Value::Object(facts)) => match facts.get(KIND_MARK).and_then(Value::as_str) {
            Some(version) => Answer::Ours(version.to_owned()),
            None => Answer::Silence,
        },
        Err(CallError::NotSent { .. } | CallError::Publish(_) | CallError::ReplyQueue(_)) => Answer::NotAsked,
        _ => Answer::Silence,
    }
}

fn judge_answers(engines: &[Engine], report: &mut Report) {
    let python = engines.iter().filter(|engine| engine.answer == Answer::Python).count();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for engine in engines {
        if let Answer::Ours(version) = &engine.answer {
            *versions.entry(version).or_default() += 1;
        }
    }
    let ours: usize = versions.values().sum();
    judge_number(python, ours, report);
    judge_versions(&versions, report);
    let of_python = engines.iter().filter(|engine| engine.answer == Answer::Python);
    let hosts: BTreeSet<&str> = of_python.map(|engine| engine.service.host.as_str()).collect();
    if !hosts.is_empty() {
        let hosts: Vec<&str> = hosts.into_iter().collect();
        report.unseen(
            Area::Engines,
            format!(
                "the versions of Python's engines, on {}: no table and no answer of theirs has them",
                hosts.join(", ")
            ),
            "engines of another release than the schema's write rows that others misread",
            "`heat-engine --version` on each of these nodes: 27.0.1 is what heat-engine-rs works beside",
        );
    }
}

fn judge_number(python: usize, ours: usize, report: &mut Report) {
    match (python, ours) {
        (0, 0) => report.problem(
            Area::Engines,
            "no engine answers",
            "heat-api gets no answer, and no stack goes on",
            "start heat-engine-rs or heat-engine on at least one node",
        ),
        (0, _) => report.warning(
            Area::Engines,
            format!("{ours} of heat-engine-rs answer, and none of Python's"),
            "resource types and methods that heat-engine-rs does not serve by itself fail (docs/compatibility.md)",
            "keep a Python heat-engine for as long as templates use them",
        ),
        _ => report.fine(
            Area::Engines,
            format!("{ours} of heat-engine-rs and {python} of Python's answer"),
        ),
    }
}

fn judge_versions(versions: &BTreeMap<&str, usize>, report: &mut Report) {
    if versions.is_empty() {
        return;
    }
    if versions.len() == 1 && versions.contains_key(VERSION) {
        report.fine(
            Area::Engines,
            format!("all of heat-engine-rs are of version {VERSION}, as this one"),
        );
    }
    if versions.len() > 1 || versions.keys().any(|version| *version != VERSION) {
        let list: Vec<String> = versions
            .iter()
            .map(|(version, count)| format!("{version} ({count})"))
            .collect();
        report.warning(
            Area::Engines,
            format!(
                "versions of heat-engine-rs that run: {}; this one is {VERSION}",
                list.join(", ")
            ),
            "during an upgrade that is as it should be; later, a node was forgotten",
            "install the same version everywhere, and restart node by node",
        );
    }
}

fn judge_one(engine: &Engine, now: NaiveDateTime, report: &mut Report) {
    let service = &engine.service;
    let name = format!("engine {} on {}", service.engine_id, service.host);
    let silent_for = service
        .updated_at
        .or(service.created_at)
        .map_or(0, |last| (now - last).num_seconds());
    match (engine.reports, &engine.answer) {
        (true, Answer::Silence) => report.problem(
            Area::Engines,
            format!("{name} reports in the service table and does not answer"),
            "it died just now, is cut off from the broker, or stuck: it takes no work, and what it holds waits for it",
            "see whether its process is there, and look into its log; if it does not come back, restart it",
        ),
        (false, Answer::Silence) => report.warning(
            Area::Engines,
            format!("{name} has been silent for {silent_for} s and does not answer"),
            "it is gone without a goodbye; what it held is found and continued by others",
            "nothing, if it is to be gone: the next engine that starts on its machine takes the row away",
        ),
        (false, Answer::Python | Answer::Ours(_)) => report.problem(
            Area::Engines,
            format!("{name} answers and has not reported for {silent_for} s"),
            "others may take it for dead, and its work from it",
            "look into its log for the database; compare the clocks",
        ),
        _ => {}
    }
}

#[cfg(test)]
impl Known {
    pub fn of<const N: usize>(standings: [(&str, Standing); N]) -> Self {
        Known {
            standings: standings.map(|(id, standing)| (id.to_owned(), standing)).into(),
            ..Known::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::super::report::Severity;
    use super::*;

    fn engine(silent_for: i64, answer: Answer) -> (Engine, NaiveDateTime) {
        let now = chrono::DateTime::from_timestamp(1_000_000, 0).unwrap().naive_utc();
        let service = Service {
            id: "row".to_owned(),
            engine_id: "e".to_owned(),
            host: "h".to_owned(),
            hostname: "h".to_owned(),
            binary: "heat-engine".to_owned(),
            topic: "engine".to_owned(),
            report_interval: 60,
            created_at: None,
            updated_at: Some(now - TimeDelta::seconds(silent_for)),
            deleted_at: None,
        };
        let reports = service.is_up(now);
        (
            Engine {
                service,
                reports,
                answer,
            },
            now,
        )
    }

    fn severity(silent_for: i64, answer: Answer) -> Severity {
        let (engine, now) = engine(silent_for, answer);
        let mut report = Report::default();
        judge_one(&engine, now, &mut report);
        report.severity()
    }

    #[test]
    fn an_engine_is_judged_by_what_it_says_and_by_its_row() {
        let ours = || Answer::Ours(VERSION.to_owned());
        assert_eq!(severity(10, ours()), Severity::Fine);
        assert_eq!(severity(10, Answer::Python), Severity::Fine);
        assert_eq!(severity(10, Answer::Silence), Severity::Problem, "cut off");
        assert_eq!(severity(1000, Answer::Silence), Severity::Warning, "dead");
        assert_eq!(severity(1000, ours()), Severity::Problem, "cut off from the database");
        assert_eq!(severity(10, Answer::NotAsked), Severity::Fine);
    }

    #[test]
    fn versions_and_numbers_are_compared() {
        let judged = |answers: &[Answer]| {
            let engines: Vec<Engine> = answers.iter().map(|answer| engine(1, answer.clone()).0).collect();
            let mut report = Report::default();
            judge_answers(&engines, &mut report);
            report
        };
        let ours = |version: &str| Answer::Ours(version.to_owned());
        assert_eq!(judged(&[]).severity(), Severity::Problem);
        assert_eq!(judged(&[ours(VERSION)]).count(Severity::Warning), 1, "no Python engine");
        let with_python = judged(&[ours(VERSION), Answer::Python]);
        assert_eq!(with_python.severity(), Severity::Unseen, "Python's version");
        assert!(with_python.findings[2].what.contains("on h:"), "{with_python:?}");
        let mixed = judged(&[ours(VERSION), ours("0.0.9"), Answer::Python]);
        assert!(
            mixed.findings.iter().any(|finding| finding.what.contains("0.0.9 (1)")),
            "{mixed:?}"
        );
    }
}
