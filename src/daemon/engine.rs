//! The engine inside the daemon.

use thiserror::Error;

use super::Daemon;

/// Why the engine could not start or go on.
#[derive(Debug, Error)]
pub enum EngineError {}

/// Serve until the order to stop.
pub async fn serve(daemon: Daemon) -> Result<(), EngineError> {
    daemon.ready();
    daemon.shutdown.soft().cancelled().await;
    daemon.drain().await;
    Ok(())
}
