//! The engine inside the daemon: everything connected, in the order in which it is needed, and ended in the reverse.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_util::task::TaskTracker;

use super::Daemon;
use super::database_watch::DatabaseWatch;
use super::global_environment;
use super::monitoring::{Monitoring, Parts};
use super::service_row::ServiceRow;
use super::tables;
use super::vitals::Vitals;
use crate::clock::Clock;
use crate::cloud::{Cloud, CloudOptions, TransportSetupError};
use crate::convergence::engine::Convergence;
use crate::convergence::recover::Recovery;
use crate::identity::crypt::{CryptError, EncryptionKey};
use crate::identity::policy::{PolicyFileError, ResourcePolicy};
use crate::journal::Journal;
use crate::messaging::{Bus, Notifier, Options, RpcClient, SetupError};
use crate::rpc::servers::Servers;
use crate::settings::Settings;
use crate::stack::services::{self, Services};
use crate::stack::templates::Templates;
use crate::store::{DatabaseOptions, Store, StoreError};

/// Why the engine could not start or go on.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error("[database] connection is not set")]
    NoDatabase,
    #[error("the database cannot be used")]
    Store(#[from] StoreError),
    #[error("the message bus cannot be used")]
    Messaging(#[from] SetupError),
    #[error("[DEFAULT] auth_encryption_key cannot be used")]
    EncryptionKey(#[from] CryptError),
    #[error("the clients of OpenStack services cannot be set up")]
    Cloud(#[from] TransportSetupError),
    #[error("the policy file cannot be used")]
    Policy(#[from] PolicyFileError),
    #[error("the timer of the service report broke off")]
    NoReports,
}

/// Serve until the order to stop.
pub async fn serve(daemon: Daemon) -> Result<(), EngineError> {
    let monitoring = Monitoring::open(&daemon.settings, daemon.shutdown.soft().clone());
    let bus = open_bus(&daemon.settings, Vec::new())?;
    tokio::spawn(bus.clone().feel_for_alarms());
    let services = tokio::select! {
        services = connect(daemon.settings.clone(), Some(&bus), Journal::default()) => services?,
        // Nothing has begun that would have to be ended.
        () = daemon.shutdown.soft().cancelled() => return Ok(()),
    };
    let policy = Arc::new(read_policy(&daemon.settings)?);
    let (leaving, ending) = (daemon.shutdown.soft().clone(), daemon.shutdown.hard().clone());
    let convergence = Convergence::new(services.clone(), leaving, ending);
    let recovery = Recovery::new(convergence.clone(), bus.clone());
    let running = convergence.running.clone();
    let servers = Servers::start(&bus, convergence, policy)?;
    let vitals = Vitals {
        bus: bus.clone(),
        pulses: servers.pulses(),
        database: DatabaseWatch::default(),
    };
    watch_over(&daemon, &services, &vitals);
    monitoring.show(Parts {
        vitals,
        store: services.store.clone(),
        running,
        recovery: recovery.counters(),
        engine_id: services.engine_id.clone(),
        host: daemon.settings.engine.host.clone(),
    });
    daemon.shutdown.spawn(tables::look(services.clone()));
    let row = take_part(&daemon, &services, &servers, recovery).await;
    if tokio::time::timeout(FAREWELL, servers.stop_consuming()).await.is_err() {
        tracing::warn!("the broker does not end the subscriptions; going on without");
    }
    if let Ok(Some(row)) = &row {
        row.leave().await;
    }
    finish_work(&daemon, &services, &servers).await;
    let farewell = async {
        servers.close().await;
        services.notifier.flushed().await;
        bus.close().await;
    };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!("the broker does not say goodbye; leaving without");
    }
    if tokio::time::timeout(FAREWELL, services.store.close()).await.is_err() {
        tracing::warn!("the database does not answer what was asked last; leaving without");
    }
    row.map(|_| ())
}

/// From the moment when the broker has us to the order to stop. The row of the service table comes last: an engine that
/// cannot take work shall not look as if it could. The result is the row that is left to remove.
async fn take_part(
    daemon: &Daemon,
    services: &Services,
    servers: &Servers,
    recovery: Recovery,
) -> Result<Option<ServiceRow>, EngineError> {
    let stop = daemon.shutdown.soft();
    if stop.run_until_cancelled(servers.ready()).await.is_none() {
        return Ok(None);
    }
    tracing::info!(engine_id = services.engine_id, "all topics are served");
    let row = ServiceRow::new(services);
    match stop.run_until_cancelled(row.enter()).await {
        Some(entered) => entered?,
        // It may be there or not.
        None => return Ok(Some(row)),
    }
    daemon.ready();
    daemon.shutdown.spawn(recovery.run(stop.clone()));
    // Without its reports the others would soon take this engine for dead, and what it works on from it.
    if daemon.shutdown.spawn(row.clone().keep_up(stop.clone())).await.is_err() {
        row.leave().await;
        return Err(EngineError::NoReports);
    }
    Ok(Some(row))
}

fn watch_over(daemon: &Daemon, services: &Services, vitals: &Vitals) {
    let stop = daemon.shutdown.soft().clone();
    let looks = vitals.database.clone().look_regularly(services.store.clone(), stop);
    daemon.shutdown.spawn(looks);
    let vitals = vitals.clone();
    daemon.watch(move || vitals.stuck_parts());
}

/// How long broker and database may take to end what we have open. They end everything of a process that is gone, too.
const FAREWELL: Duration = Duration::from_secs(10);

/// Begins to connect to a broker. `passed_over`: brokers that have just been tried in vain, as `host:port`.
pub fn open_bus(settings: &Settings, passed_over: Vec<String>) -> Result<Bus, EngineError> {
    let mut options = Options::new(&settings.messaging);
    options.connection_name = format!("heat-engine-rs:{}:{}", settings.engine.host, std::process::id());
    options.max_frame_bytes = settings.own.max_message_bytes;
    options.passed_over = passed_over;
    Ok(Bus::open(options, Clock::system())?)
}

/// Connects everything that work on stacks needs. Without a bus nothing is sent, which is for rehearsals.
pub async fn connect(settings: Arc<Settings>, bus: Option<&Bus>, journal: Journal) -> Result<Services, EngineError> {
    let clock = Clock::system();
    let key = EncryptionKey::new(settings.engine.auth_encryption_key.clone(), clock.clone())?;
    let database = DatabaseOptions::from_settings(&settings.database).ok_or(EngineError::NoDatabase)?;
    let store = Store::connect_watched(&database, clock.clone(), journal.clone()).await?;
    let encrypt = settings.engine.encrypt_parameters_and_properties;
    let global = global_environment::read(&settings.engine.environment_dir).into_registry();
    let notifications = &settings.messaging.notifications;
    let world = services::world(services::expression_limits(&settings), clock.clone());
    Ok(Services {
        engine_id: clock.new_uuid(),
        rpc: bus
            .map_or_else(|| RpcClient::rehearsing(journal.clone()), RpcClient::new)
            .watched(journal.clone()),
        notifier: match bus {
            Some(bus) => Notifier::start(notifications, bus, clock.clone())?.watched(journal.clone()),
            None => Notifier::rehearsing(notifications, clock.clone(), journal.clone()),
        },
        cloud: Cloud::watched(CloudOptions::from(&*settings), clock.clone(), journal)?,
        templates: Templates::new(store.clone(), key.clone(), encrypt, global, world.clone()),
        world,
        background: TaskTracker::new(),
        key,
        settings,
        clock,
        store,
    })
}

fn read_policy(settings: &Settings) -> Result<ResourcePolicy, EngineError> {
    let file = settings.find_file(&settings.policy.policy_file);
    Ok(ResourcePolicy::read(file, settings.policy_directories())?)
}

/// After the grace period, what runs gets so long to be recorded and given back.
const GIVING_BACK: Duration = Duration::from_secs(15);

/// Lets requests, checks and the starts of traversals come to their end within the grace period. What has not by then is
/// given back: its state is recorded and its message sent again, for another engine.
async fn finish_work(daemon: &Daemon, services: &Services, servers: &Servers) {
    services.background.close();
    let work = async {
        servers.idle().await;
        services.background.wait().await;
    };
    tokio::pin!(work);
    let is_finished = tokio::select! {
        () = &mut work => true,
        () = daemon.shutdown.hard().cancelled() => false,
        () = over(daemon.settings.grace_period()) => false,
    };
    if !is_finished {
        daemon.shutdown.order_hard();
        if tokio::time::timeout(GIVING_BACK, work).await.is_err() {
            tracing::error!("work that could not be given back is abandoned");
        }
    }
    daemon.drain().await;
}

async fn over(grace: Option<Duration>) {
    match grace {
        Some(grace) => tokio::time::sleep(grace).await,
        None => std::future::pending().await,
    }
}
