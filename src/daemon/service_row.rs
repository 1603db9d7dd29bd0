//! The engine's row in the service table, by which others see that it lives.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::stack::services::Services;
use crate::store::{NewService, StoreError, Swap};

/// The name under which engines of both kinds report.
const BINARY: &str = "heat-engine";
const TOPIC: &str = "engine";

/// Engines of this machine that have not reported for so many intervals are taken for dead.
const SILENT_INTERVALS: u32 = 3;

/// How long the database may take for the last word.
const LEAVING: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct ServiceRow {
    services: Services,
    id: String,
    hostname: String,
}

impl ServiceRow {
    pub fn new(services: &Services) -> Self {
        let hostname = hostname::get()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Self {
            services: services.clone(),
            id: services.clock.new_uuid(),
            hostname,
        }
    }

    /// Cleans up after engines of this machine that are gone, and enters the own row.
    pub async fn enter(&self) -> Result<(), StoreError> {
        self.retire_silent().await?;
        if let Err(error) = self.services.store.service_create(&self.as_new()).await {
            // The answer may be lost, and the row there.
            self.leave().await;
            return Err(error);
        }
        tracing::debug!(service_id = self.id, "entered the service table");
        Ok(())
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
            // A report that waits for the database is no reason to stay.
            let Some(reported) = stop.run_until_cancelled(self.report()).await else {
                return;
            };
            if let Err(error) = reported {
                tracing::error!(error = &error as &dyn std::error::Error, "the service report failed");
            }
        }
    }

    /// Marks the own row as deleted, so that nobody waits for this engine. Where the database does not answer, the row
    /// goes stale by itself.
    pub async fn leave(&self) {
        let retired = self.services.store.service_retire(&self.id);
        match tokio::time::timeout(LEAVING, retired).await {
            Ok(Ok(_)) => tracing::info!("Service {} is deleted", self.id),
            Ok(Err(error)) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the service row remains");
            }
            Err(_) => tracing::error!("the service row remains: the database does not answer"),
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
