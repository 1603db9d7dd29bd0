//! The engine's row in the service table, by which others see that it lives.

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::stack::services::Services;
use crate::store::{NewService, StoreError, Swap};

/// The name under which engines of both kinds report.
const BINARY: &str = "heat-engine";
const TOPIC: &str = "engine";

/// Engines of this machine that have not reported for so many intervals are taken for dead.
const SILENT_INTERVALS: u32 = 3;

#[derive(Clone)]
pub struct ServiceRow {
    services: Services,
    id: String,
    hostname: String,
}

impl ServiceRow {
    /// Cleans up after engines of this machine that are gone, and enters the own row.
    pub async fn enter(services: &Services) -> Result<Self, StoreError> {
        let hostname = hostname::get()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let row = Self {
            services: services.clone(),
            id: services.clock.new_uuid(),
            hostname,
        };
        row.retire_silent().await?;
        services.store.service_create(&row.as_new()).await?;
        tracing::debug!(service_id = row.id, "entered the service table");
        Ok(row)
    }

    /// Reports at each interval until it is told to stop. A report that fails is made up for by the next.
    pub async fn keep_up(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(self.services.settings.engine.periodic_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return,
            }
            if let Err(error) = self.report().await {
                tracing::error!(error = &error as &dyn std::error::Error, "the service report failed");
            }
        }
    }

    /// Marks the own row as deleted, so that nobody waits for this engine.
    pub async fn leave(&self) {
        match self.services.store.service_retire(&self.id).await {
            Ok(_) => tracing::info!("Service {} is deleted", self.id),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the service row remains");
            }
        }
    }

    async fn report(&self) -> Result<(), StoreError> {
        if self.services.store.service_report(&self.id).await? == Swap::Gone {
            self.services.store.service_create(&self.as_new()).await?;
        }
        Ok(())
    }

    async fn retire_silent(&self) -> Result<(), StoreError> {
        let interval = self.services.settings.engine.periodic_interval * SILENT_INTERVALS;
        let time_line = self.services.clock.utc_now() - interval;
        let host = &self.services.settings.engine.host;
        let retired = self
            .services
            .store
            .services_retire_silent(host, BINARY, &self.hostname, &self.id, time_line)
            .await?;
        if retired > 0 {
            tracing::info!("{retired} services of this machine were aborted");
        }
        Ok(())
    }

    fn as_new(&self) -> NewService {
        NewService {
            id: self.id.clone(),
            engine_id: self.services.engine_id.clone(),
            host: self.services.settings.engine.host.clone(),
            hostname: self.hostname.clone(),
            binary: BINARY.to_owned(),
            topic: TOPIC.to_owned(),
            report_interval: i64::try_from(self.services.settings.engine.periodic_interval.as_secs())
                .unwrap_or(i64::MAX),
        }
    }
}
