//! What others can see of a running engine: metrics for Prometheus, health for whoever restarts engines.
//!
//! Each room counts where the thing happens (its `measure` module); what is known at any moment and need not be counted
//! is looked up when somebody asks ([`gauges`]). Without `metrics_address` nothing is counted.

mod door;
mod gauges;
mod process;
mod queues;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;

use super::vitals::Vitals;
use crate::convergence::recover::RecoveryCounters;
use crate::convergence::running::RunningChecks;
use crate::settings::Settings;
use crate::store::Store;
use crate::{cloud, convergence, messaging, rpc, stack, store};
use door::Shows;

/// Seconds, from a statement to a server that is built.
const BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0,
];

/// How often the exporter tidies up what nobody has fetched.
const UPKEEP: Duration = Duration::from_secs(60);

/// What an engine consists of once it is connected.
#[derive(Clone)]
pub struct Parts {
    pub vitals: Vitals,
    pub store: Store,
    pub running: RunningChecks,
    pub recovery: Arc<RecoveryCounters>,
    pub engine_id: String,
    pub host: String,
}

/// A cheap handle.
#[derive(Clone, Default)]
pub struct Monitoring {
    parts: Arc<OnceLock<Parts>>,
    stopping: CancellationToken,
    exporter: Option<PrometheusHandle>,
}

impl Monitoring {
    /// Opens the doors that the settings ask for. Whoever knocks hears that the engine is starting.
    pub fn open(settings: &Settings, stopping: CancellationToken) -> Self {
        let (metrics, health) = (&settings.own.metrics_address, &settings.own.health_address);
        let monitoring = Self {
            parts: Arc::default(),
            stopping,
            exporter: if metrics.is_empty() { None } else { exporter() },
        };
        let mut doors = Vec::new();
        if !metrics.is_empty() {
            doors.push((metrics, Shows::HealthAndMetrics));
        }
        if !health.is_empty() && health != metrics {
            doors.push((health, Shows::Health));
        }
        for (address, shows) in doors {
            tokio::spawn(door::keep_open(address.clone(), shows, monitoring.clone()));
        }
        monitoring
    }

    /// From now on the engine can be looked at.
    pub fn show(&self, parts: Parts) {
        let (bus, store) = (parts.vitals.bus.clone(), parts.store.clone());
        let own = parts.engine_id.clone();
        if self.parts.set(parts).is_err() {
            return;
        }
        if self.exporter.is_some() {
            let stopping = self.stopping.clone();
            tokio::spawn(queues::watch(bus, stopping.clone()));
            tokio::spawn(gauges::watch_locks(store, own, stopping));
        }
    }

    fn stuck_parts(&self) -> Vec<String> {
        let parts = self.parts.get();
        let stuck = parts.map(|parts| parts.vitals.stuck_parts()).unwrap_or_default();
        stuck.into_iter().map(str::to_owned).collect()
    }

    fn obstacles(&self) -> Vec<String> {
        if self.stopping.is_cancelled() {
            return vec!["the engine stops".to_owned()];
        }
        match self.parts.get() {
            Some(parts) => parts.vitals.obstacles(),
            None => vec!["the engine starts; the database has not answered yet".to_owned()],
        }
    }

    /// The page for Prometheus.
    fn metrics(&self) -> Option<String> {
        let exporter = self.exporter.as_ref()?;
        process::update();
        gauges::update(
            self.parts.get(),
            self.obstacles().is_empty(),
            self.stuck_parts().is_empty(),
        );
        Some(exporter.render() + &process::processor_time())
    }
}

/// The recorder of the process; none if it cannot be had, which is told in the log.
fn exporter() -> Option<PrometheusHandle> {
    let built = install();
    built
        .inspect_err(|error| tracing::error!(error = error as &dyn std::error::Error, "there will be no metrics"))
        .ok()
}

fn install() -> Result<PrometheusHandle, BuildError> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), BUCKETS)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    for describe in [
        cloud::measure::describe,
        convergence::measure::describe,
        messaging::measure::describe,
        rpc::measure::describe,
        stack::measure::describe,
        store::measure::describe,
        gauges::describe,
        process::describe,
        queues::describe,
    ] {
        describe();
    }
    let upkeep = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}
