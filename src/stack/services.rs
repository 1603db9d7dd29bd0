//! What the engine works with: one handle to everything outside of it, shared by all rooms above.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::templates::Templates;
use crate::clock::Clock;
use crate::cloud::Cloud;
use crate::identity::crypt::EncryptionKey;
use crate::messaging::{Notifier, RpcClient};
use crate::settings::Settings;
use crate::store::Store;
use crate::template::World;
use crate::yaql::{Limits, Surroundings};

#[derive(Clone)]
pub struct Services {
    /// New at each start; other engines know this one by it.
    pub engine_id: String,
    pub settings: Arc<Settings>,
    pub clock: Clock,
    pub store: Store,
    pub rpc: RpcClient,
    pub notifier: Notifier,
    pub cloud: Cloud,
    pub key: EncryptionKey,
    pub templates: Templates,
    /// What expressions in templates see of the world.
    pub world: World,
    /// Work that goes on after its request was answered; a stopping daemon waits for it.
    pub background: TaskTracker,
}

/// What `[yaql]` allows to expressions.
pub fn expression_limits(settings: &Settings) -> Limits {
    Limits {
        iterators: settings.yaql.limit_iterators,
        memory: settings.yaql.memory_quota,
    }
}

/// Expressions are told the time by the clock.
pub fn world(limits: Limits, clock: Clock) -> World {
    World::new(limits, move || Surroundings {
        now: clock.utc_now(),
        local_offset: clock.local_offset(),
        seed: u64::from_le_bytes(clock.random_bytes()),
    })
}
