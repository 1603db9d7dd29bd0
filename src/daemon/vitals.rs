//! How the engine is: what the watchdog, the health endpoint and the metrics ask.
//!
//! *Alive* is what makes progress, waiting for a broker or a database that is away included: a restart would not bring
//! those back. *Ready* is what can take work at this moment.

use crate::daemon::database_watch::DatabaseWatch;
use crate::messaging::{Bus, Pulse};

/// A cheap handle.
#[derive(Clone, Debug)]
pub struct Vitals {
    pub bus: Bus,
    pub pulses: [Pulse; 3],
    pub database: DatabaseWatch,
}

impl Vitals {
    /// What is stuck and will not come back by itself; nothing, if the engine is alive.
    pub fn stuck_parts(&self) -> Vec<&'static str> {
        let mut stuck = Vec::new();
        if !self.pulses.iter().all(Pulse::makes_progress) {
            stuck.push("a subscription to the broker is stuck");
        }
        if !self.database.makes_progress() {
            stuck.push("a question to the database is not answered");
        }
        stuck
    }

    /// Why no work is taken at this moment; nothing, if the engine is ready.
    pub fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        let health = self.bus.health();
        if !health.connected {
            obstacles.push("the broker is away".to_owned());
        } else if !self.pulses.iter().all(Pulse::is_ready) {
            obstacles.push("not all queues are consumed".to_owned());
        }
        if let Some(reason) = health.blocked {
            obstacles.push(format!("the broker takes no messages: {reason}"));
        }
        obstacles.extend(self.database.obstacle().map(str::to_owned));
        obstacles
    }
}
