//! SIGTERM and SIGINT order the end, SIGHUP has logging set up anew.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use super::lifecycle::Shutdown;

/// The signals of the process. Once made, none of them kills it any more.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Obey until the process ends. The first order to stop is soft, the next one hard.
    pub async fn obey(mut self, shutdown: Shutdown, on_stop: impl Fn(), mut reload: impl FnMut()) {
        loop {
            let name = tokio::select! {
                Some(()) = self.terminate.recv() => "SIGTERM",
                Some(()) = self.interrupt.recv() => "SIGINT",
                Some(()) = self.hang_up.recv() => {
                    info!("SIGHUP: setting logging up anew");
                    reload();
                    continue;
                }
                else => return,
            };
            if shutdown.is_ordered() {
                warn!("{name} again: leaving at once, other engines continue what runs");
            } else {
                info!("{name}: taking nothing new and finishing what runs; the next signal ends at once");
                on_stop();
            }
            shutdown.order();
        }
    }
}
