//! What verbs share that a person runs, beside the engines: they read heat.conf as an engine does, log to stderr, and
//! are not in the way of anybody.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::{UNUSABLE, complain, complain_of_all};
use crate::daemon::engine::{self, EngineError};
use crate::journal::Journal;
use crate::messaging::{Bus, Options, try_brokers};
use crate::settings::{Settings, SettingsSources};
use crate::stack::services::Services;
use crate::store::{DatabaseOptions, Stack, Store};

/// For a broker that took a connection a moment ago.
const CONNECTING: Duration = Duration::from_secs(5);

/// Reads the settings and runs `work`, whose result is the exit code. `verbose`: what an engine logs goes to `log`.
pub fn run<F>(
    sources: &SettingsSources,
    verbose: bool,
    log: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
    work: impl FnOnce(Settings) -> F,
) -> u8
where
    F: Future<Output = u8>,
{
    // Not all that a daemon looks at: whoever runs this may not be allowed to write its log, and need not.
    let mut reading = Settings::read_for_engine(sources);
    if !reading.problems.is_empty() {
        complain_of_all(reading.problems);
        return UNUSABLE;
    }
    // An engine waits for its database; a person wants to be told that it is away.
    reading.settings.database.max_retries = 0;
    log_to(log, verbose);
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(work(reading.settings)),
        Err(error) => {
            complain(anyhow::Error::new(error).context("cannot start the runtime"));
            super::FAILED
        }
    }
}

/// The log files of heat.conf are the engines'.
fn log_to(log: impl for<'w> MakeWriter<'w> + Send + Sync + 'static, verbose: bool) {
    let level = match verbose {
        true => LevelFilter::DEBUG,
        false => LevelFilter::OFF,
    };
    let started = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(log)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    // Somebody has set up logging before: then it is there.
    drop(started);
}

/// What an engine connects, with the address in the error if the database is away.
pub async fn connect(settings: Arc<Settings>, bus: Option<&Bus>, journal: Journal) -> anyhow::Result<Services> {
    let address = DatabaseOptions::from_settings(&settings.database).and_then(|options| options.address());
    engine::connect(settings, bus, journal)
        .await
        .map_err(|error| match (error, address) {
            (EngineError::Store(error), Some(address)) => {
                anyhow::Error::new(error).context(format!("the database at {address} cannot be used"))
            }
            (error, _) => error.into(),
        })
}

/// A bus to a broker that is there. An engine waits for one.
pub async fn reach_broker(settings: &Settings) -> anyhow::Result<Bus> {
    let tried = try_brokers(Options::new(&settings.messaging), CONNECTING)
        .await
        .context("the message bus cannot be used")?;
    let count = tried.len();
    let failed: Vec<(String, String)> = tried
        .into_iter()
        .filter_map(|(address, outcome)| Some((address, outcome.err()?)))
        .collect();
    if failed.len() == count {
        let reasons: Vec<String> = failed
            .into_iter()
            .map(|(address, reason)| format!("{address}: {reason}"))
            .collect();
        anyhow::bail!("no broker can be used: {}", reasons.join(", "));
    }
    let failed = failed.into_iter().map(|(address, _)| address).collect();
    let bus = engine::open_bus(settings, failed)?;
    // What is still being connected when the work ends cannot be closed in order.
    let _ = tokio::time::timeout(CONNECTING, bus.connected()).await;
    Ok(bus)
}

/// Writes to stdout. False when whoever reads has gone (`| head`).
pub fn print(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// The one stack of that name or id.
pub async fn find_stack(store: &Store, name_or_id: &str) -> anyhow::Result<Stack> {
    let mut found = store.stacks_called(name_or_id).await?;
    if let Some(by_id) = found.iter().position(|stack| stack.id == name_or_id) {
        return Ok(found.swap_remove(by_id));
    }
    // The tables' collation takes `a` for `A`, and stacks whose names differ in that alone are two.
    if found.iter().any(|stack| stack.name == name_or_id) {
        found.retain(|stack| stack.name == name_or_id);
    }
    match found.len() {
        0 => anyhow::bail!("there is no stack of the name or id {name_or_id}"),
        1 => Ok(found.swap_remove(0)),
        several => {
            let ids: Vec<String> = found.iter().map(one_of_several).collect();
            anyhow::bail!(
                "{several} stacks are called {name_or_id}; say which by its id:\n  {}",
                ids.join("\n  ")
            )
        }
    }
}

fn one_of_several(stack: &Stack) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    format!(
        "{}  project {}  {}_{}",
        stack.id,
        text(&stack.tenant),
        text(&stack.action),
        text(&stack.status)
    )
}
