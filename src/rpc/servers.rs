//! The three topics of an engine, served.

use std::sync::Arc;

use super::call::Engine;
use super::contract;
use super::handover::Handover;
use super::listener::{LISTENER_TOPIC, LISTENER_VERSION, Listener};
use super::worker::{BusyWorker, WORKER_TOPIC, WORKER_VERSION, Worker};
use crate::convergence::engine::Convergence;
use crate::identity::policy::ResourcePolicy;
use crate::identity::token_descriptions::TokenDescriptions;
use crate::messaging::{Bus, Pulse, RpcServer, ServerOptions, SetupError};

/// Calls from other engines must be answered in time however busy this one is.
const LISTENER_CONCURRENCY: usize = 64;

/// What runs of an engine towards the bus.
#[derive(Debug)]
pub struct Servers {
    pub contract: RpcServer,
    pub worker: RpcServer,
    pub listener: RpcServer,
}

impl Servers {
    pub fn start(bus: &Bus, convergence: Convergence, policy: Arc<ResourcePolicy>) -> Result<Self, SetupError> {
        let services = &convergence.services;
        let settings = services.settings.clone();
        let engine_id = services.engine_id.clone();
        let clock = services.clock.clone();
        let peers = convergence.peers.clone();
        let handover = match settings.own.hand_over_to_python {
            true => Handover::new(peers, bus.clone(), clock, &settings.engine.host),
            false => Handover::disabled(peers, bus.clone(), clock, &settings.engine.host),
        };
        let serve = |topic: &str, server: &str, version: &str, concurrency: usize| ServerOptions {
            topic: topic.to_owned(),
            server: server.to_owned(),
            version: version.to_owned(),
            concurrency,
            prefetch: u16::try_from(concurrency).unwrap_or(u16::MAX),
            // The engines of one host share a server of the contract; an engine's id is nobody else's.
            is_unique: server == engine_id,
        };
        let begun_at_a_time = settings.own.checks_begun_at_a_time();
        let requests = settings.messaging.transport.executor_thread_pool_size as usize;
        let checks = settings.own.max_checks_in_flight as usize;
        let listener = Listener::new(convergence.running.clone());
        let worker = Worker {
            convergence: convergence.clone(),
            handover: handover.clone(),
            tokens: TokenDescriptions::default(),
        };
        let engine = Engine {
            convergence,
            policy,
            handover,
        };
        // In the order in which others may come to need them: an engine must answer for itself before it takes work.
        Ok(Self {
            listener: RpcServer::start(
                bus,
                serve(LISTENER_TOPIC, &engine_id, LISTENER_VERSION, LISTENER_CONCURRENCY),
                Arc::new(listener),
            )?,
            worker: RpcServer::start(
                bus,
                ServerOptions {
                    prefetch: u16::try_from(begun_at_a_time).unwrap_or(u16::MAX),
                    ..serve(WORKER_TOPIC, &engine_id, WORKER_VERSION, checks)
                },
                Arc::new(worker),
            )?,
            contract: RpcServer::start(
                bus,
                serve(contract::TOPIC, &settings.engine.host, contract::VERSION, requests),
                Arc::new(engine),
            )?,
        })
    }

    pub fn pulses(&self) -> [Pulse; 3] {
        self.all().map(RpcServer::pulse)
    }

    /// Resolves once all topics are consumed.
    pub async fn ready(&self) {
        for server in self.all() {
            server.ready().await;
        }
    }

    /// Takes no new work; what was delivered but not begun goes back to its queue. Other engines still get answers.
    pub async fn stop_consuming(&self) {
        self.contract.stop_consuming().await;
        self.worker.stop_consuming().await;
    }

    /// Resolves when no request and no check is being worked on.
    pub async fn idle(&self) {
        self.contract.idle().await;
        self.worker.idle().await;
    }

    pub async fn close(self) {
        self.contract.close().await;
        self.worker.close().await;
        self.listener.close().await;
    }

    fn all(&self) -> [&RpcServer; 3] {
        [&self.listener, &self.worker, &self.contract]
    }
}

/// What others find of a process that does one check and takes no other work: it answers that it lives, so that nobody
/// takes its lock for that of a dead engine, and it can be told to stop.
#[derive(Debug)]
pub struct Presence {
    listener: RpcServer,
    worker: RpcServer,
}

impl Presence {
    pub fn start(bus: &Bus, convergence: &Convergence) -> Self {
        let running = &convergence.running;
        let serve = |topic: &str, version: &str| ServerOptions {
            topic: topic.to_owned(),
            server: convergence.services.engine_id.clone(),
            version: version.to_owned(),
            concurrency: LISTENER_CONCURRENCY,
            prefetch: 0,
            is_unique: true,
        };
        let listener = Arc::new(Listener::new(running.clone()));
        let worker = Arc::new(BusyWorker {
            running: running.clone(),
        });
        Self {
            listener: RpcServer::start_alone(bus, serve(LISTENER_TOPIC, LISTENER_VERSION), listener),
            worker: RpcServer::start_alone(bus, serve(WORKER_TOPIC, WORKER_VERSION), worker),
        }
    }

    pub async fn ready(&self) {
        self.listener.ready().await;
        self.worker.ready().await;
    }

    pub async fn close(self) {
        self.listener.close().await;
        self.worker.close().await;
    }
}
