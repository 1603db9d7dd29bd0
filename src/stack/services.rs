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
    /// Work that goes on after its request was answered; a stopping daemon waits for it.
    pub background: TaskTracker,
}
