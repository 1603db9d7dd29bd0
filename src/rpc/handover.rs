//! Passing on what only a Python engine can do, so that a cloud loses nothing from the first day.
//!
//! The frame goes on as it came: the caller's reply queue, message id and expiry are in it, and whoever serves it answers
//! the caller. Work for a resource goes to the own queue of one Python engine (`engine_worker.<engine id>`) and cannot
//! come back. A request goes to the queue of a Python engine's host (`engine.<host>`), which engines of ours on that host
//! read too; the count of its handovers ends the circle that this allows.

use std::sync::Arc;

use crate::clock::Clock;
use crate::convergence::peers::{Living, Peer, Peers};
use crate::messaging::{Bus, Frame, PublishError};
use crate::store::StoreError;

/// The broker serves the readers of a queue in turn, so this is enough for a host with that many engines of ours.
const MOST_HANDOVERS: u32 = 32;

/// Whether somebody else has the frame now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Handed {
    Over,
    /// No Python engine lives that could have it.
    NoEngine,
}

#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    #[error("the other engines of the deployment are not known")]
    Peers(#[source] Arc<StoreError>),
    #[error("the frame could not be passed on")]
    Publish(#[from] PublishError),
}

#[derive(Clone)]
pub struct Handover {
    peers: Peers,
    bus: Bus,
    clock: Clock,
    own_host: String,
    enabled: bool,
}

impl Handover {
    pub fn new(peers: Peers, bus: Bus, clock: Clock, own_host: &str) -> Self {
        Self {
            peers,
            bus,
            clock,
            own_host: own_host.to_owned(),
            enabled: true,
        }
    }

    /// For an operator who wants nothing passed on (`hand_over_to_python = false`).
    pub fn disabled(peers: Peers, bus: Bus, clock: Clock, own_host: &str) -> Self {
        Self {
            enabled: false,
            ..Self::new(peers, bus, clock, own_host)
        }
    }

    /// A request of the engine contract.
    pub async fn request(&self, frame: &Frame) -> Result<Handed, HandoverError> {
        if !self.enabled || frame.handovers() >= MOST_HANDOVERS {
            return Ok(Handed::NoEngine);
        }
        let living = self.living().await?;
        let queues = hosts_in_order(&living, &self.own_host, self.chance())
            .into_iter()
            .map(|host| format!("engine.{host}"))
            .collect();
        self.to_first(frame, queues).await
    }

    /// Work on one resource.
    pub async fn work(&self, frame: &Frame) -> Result<Handed, HandoverError> {
        if !self.enabled {
            return Ok(Handed::NoEngine);
        }
        let living = self.living().await?;
        let mut engines: Vec<&Peer> = living.python.iter().collect();
        rotate(&mut engines, self.chance());
        let queues = engines
            .into_iter()
            .map(|peer| format!("engine_worker.{}", peer.engine_id))
            .collect();
        self.to_first(frame, queues).await
    }

    async fn living(&self) -> Result<Arc<Living>, HandoverError> {
        self.peers.living().await.map_err(HandoverError::Peers)
    }

    fn chance(&self) -> usize {
        usize::try_from(self.clock.random_below(1 << 16)).unwrap_or(0)
    }

    async fn to_first(&self, frame: &Frame, queues: Vec<String>) -> Result<Handed, HandoverError> {
        let next = frame.handed_over();
        for queue in queues {
            match self.bus.forward(&next, &queue).await {
                Ok(()) => return Ok(Handed::Over),
                Err(PublishError::Undeliverable { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Handed::NoEngine)
    }
}

/// The hosts of Python engines, those first on which no engine of ours could take the frame again.
fn hosts_in_order<'a>(living: &'a Living, own_host: &str, chance: usize) -> Vec<&'a str> {
    let is_shared = |host: &str| host == own_host || living.ours.iter().any(|peer| peer.host == host);
    let mut hosts: Vec<&str> = living.python.iter().map(|peer| peer.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    rotate(&mut hosts, chance);
    hosts.sort_by_key(|host| is_shared(host));
    hosts
}

/// Spreads the load: each frame begins with another.
fn rotate<T>(items: &mut [T], chance: usize) {
    if !items.is_empty() {
        items.rotate_left(chance % items.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(engine_id: &str, host: &str) -> Peer {
        Peer {
            engine_id: engine_id.to_owned(),
            host: host.to_owned(),
        }
    }

    #[test]
    fn hosts_without_engines_of_ours_come_first() {
        let living = Living {
            python: vec![peer("1", "a"), peer("2", "b"), peer("3", "c"), peer("4", "c")],
            ours: vec![peer("5", "c")],
        };
        assert_eq!(hosts_in_order(&living, "a", 0), ["b", "a", "c"]);
        assert_eq!(hosts_in_order(&living, "elsewhere", 1), ["b", "a", "c"]);
        assert_eq!(hosts_in_order(&living, "elsewhere", 0), ["a", "b", "c"]);
        assert!(hosts_in_order(&Living::default(), "a", 7).is_empty());
    }
}
