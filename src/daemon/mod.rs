//! Start and stop: timers, systemd, signals, logging, graceful drain.
//!
//! [`run`] sets up what every daemon has and calls [`engine::serve`], which holds what is Heat's. The order of an end is
//! fixed: consumers stop, the own row of the service table goes (so that nobody waits for this engine), what runs is
//! finished or handed back, connections close.

pub mod database_watch;
pub mod engine;
pub mod first_steps;
pub mod global_environment;
pub mod lifecycle;
pub mod logging;
pub mod monitoring;
pub mod service_row;
pub mod signals;
pub mod systemd;
mod tables;
pub mod vitals;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::settings::option::Treatment;
use crate::settings::{Origin, Settings, SettingsSources};
use lifecycle::{Drained, Shutdown};
use logging::{Logging, LoggingError};
use signals::Signals;
use systemd::Liveness;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long the runtime waits for threads that still compute.
const LAST_THREADS: Duration = Duration::from_secs(5);

#[derive(Debug, Error)]
pub enum DaemonError {
    #[error("cannot set up logging")]
    Logging(#[from] LoggingError),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    #[error("the engine has failed")]
    Engine(#[from] engine::EngineError),
}

/// What the engine is given.
#[derive(Clone)]
pub struct Daemon {
    pub settings: Arc<Settings>,
    pub shutdown: Shutdown,
    liveness: Liveness,
}

impl Daemon {
    /// Everything is connected and messages are taken.
    pub fn ready(&self) {
        info!("heat-engine-rs {VERSION} on {} is ready", self.settings.engine.host);
        systemd::ready("serving");
    }

    /// Let systemd's watchdog restart the process when there are stuck parts for too long.
    pub fn watch(&self, stuck_parts: impl Fn() -> Vec<&'static str> + Send + 'static) {
        self.liveness.watch(stuck_parts);
    }

    /// Wait for the tasks of [`Shutdown::spawn`] within the grace period, and say how it went.
    pub async fn drain(&self) -> Drained {
        let drained = self.shutdown.drain(self.settings.grace_period()).await;
        match drained {
            Drained::Finished | Drained::Forced { tasks: 0 } => info!("all work is done"),
            Drained::HandedBack { tasks } => warn!("the grace period is over; {tasks} tasks are left to other engines"),
            Drained::Forced { tasks } => warn!("{tasks} tasks are left to other engines"),
            Drained::Abandoned { tasks } => error!("{tasks} tasks did not heed the order to stop and are abandoned"),
        }
        drained
    }
}

/// Run the daemon until a signal ends it. `sources` are read again at SIGHUP.
pub fn run(settings: Settings, sources: SettingsSources) -> Result<(), DaemonError> {
    let logging = Logging::start(&settings)?;
    announce(&settings);
    let runtime = runtime(settings.own.worker_threads).map_err(DaemonError::Runtime)?;
    let result = runtime.block_on(run_until_ordered(settings, sources, logging));
    runtime.shutdown_timeout(LAST_THREADS);
    result
}

fn runtime(worker_threads: usize) -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if worker_threads > 0 {
        builder.worker_threads(worker_threads);
    }
    builder.thread_name("heat-engine").enable_all().build()
}

async fn run_until_ordered(settings: Settings, sources: SettingsSources, logging: Logging) -> Result<(), DaemonError> {
    let signals = Signals::listen().map_err(DaemonError::Signals)?;
    let shutdown = Shutdown::new();
    let finished = CancellationToken::new();
    let on_stop = {
        let finished = finished.clone();
        move || {
            systemd::stopping();
            tokio::spawn(systemd::extend_stop_timeout(finished.clone()));
        }
    };
    let reload = move || {
        systemd::reloading();
        logging.reload(&sources);
        systemd::reloaded();
    };
    tokio::spawn(signals.obey(shutdown.clone(), on_stop, reload));
    let liveness = Liveness::default();
    tokio::spawn(systemd::feed_watchdog(liveness.clone(), finished.clone()));

    let daemon = Daemon {
        settings: Arc::new(settings),
        shutdown,
        liveness,
    };
    let result = engine::serve(daemon).await;
    finished.cancel();
    if let Err(error) = &result {
        error!(error = error as &dyn std::error::Error, "the engine has failed");
    }
    info!("heat-engine-rs has ended");
    Ok(result?)
}

fn announce(settings: &Settings) {
    info!("heat-engine-rs {VERSION} starts, process {}", std::process::id());
    if settings.files.is_empty() {
        warn!("no heat.conf was found; all options have their defaults");
    }
    for file in &settings.files {
        info!("configuration: {}", file.display());
    }
    for warning in &settings.warnings {
        warn!("configuration: {warning}");
    }
    for option in settings.options.iter() {
        debug!("configuration: {option:?}");
        if let (Treatment::Instead(what), false) = (option.spec.treatment, option.origin == Origin::Default) {
            let (group, name) = (option.group, option.spec.name);
            info!("configuration: {}: [{group}] {name} is not used: {what}", option.origin);
        }
    }
}
