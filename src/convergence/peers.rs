//! The other engines of the deployment: which of them live, and which are Python's.
//!
//! The service table looks the same for either kind, and shall. So an engine that wants to know asks: its `listening`
//! call carries a mark in the context. A Python engine does not read it and answers `true`; one of ours answers with its
//! version. What an engine is never changes while it lives, so it is asked for that only until it has said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use moka::Expiry;
use moka::future::Cache;
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::identity::context::RequestContext;
use crate::messaging::{RpcClient, Target};
use crate::store::{Store, StoreError};

/// The topic on which engines ask each other whether they live.
pub const LISTENER_TOPIC: &str = "heat-engine-listener";
pub const LISTENER_VERSION: &str = "1.0";
/// The context key by which our engines recognise each other.
pub const KIND_MARK: &str = "heat_engine_rs";

/// How long an answer counts: a stack of a thousand foreign resources must not ask a thousand times.
const ANSWERS_COUNT_FOR: Duration = Duration::from_secs(2);

/// How long it counts that no Python engine answered: who has just started one expects to be served.
const SILENCE_COUNTS_FOR: Duration = Duration::from_millis(500);

/// An engine that is short of time reports late, and clocks differ. Whether it lives, its answer tells.
const LATE_BY: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub engine_id: String,
    pub host: String,
}

/// The engines that answered just now, this one left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Living {
    pub python: Vec<Peer>,
    pub ours: Vec<Peer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Python,
    Ours,
}

struct Validity;

impl Expiry<(), Arc<Living>> for Validity {
    fn expire_after_create(&self, _key: &(), living: &Arc<Living>, _created_at: Instant) -> Option<Duration> {
        match living.python.is_empty() {
            true => Some(SILENCE_COUNTS_FOR),
            false => Some(ANSWERS_COUNT_FOR),
        }
    }
}

#[derive(Clone)]
pub struct Peers {
    store: Store,
    client: RpcClient,
    clock: Clock,
    own_engine_id: String,
    patience: Duration,
    kinds: Arc<Mutex<HashMap<String, Kind>>>,
    living: Cache<(), Arc<Living>>,
}

impl Peers {
    /// `patience`: how long an engine may take to answer (`engine_life_check_timeout`).
    pub fn new(store: Store, client: RpcClient, clock: Clock, own_engine_id: &str, patience: Duration) -> Self {
        Self {
            store,
            client,
            clock,
            own_engine_id: own_engine_id.to_owned(),
            patience,
            kinds: Arc::default(),
            living: Cache::builder().max_capacity(1).expire_after(Validity).build(),
        }
    }

    pub async fn living(&self) -> Result<Arc<Living>, Arc<StoreError>> {
        self.living
            .try_get_with((), async { self.ask_all().await.map(Arc::new) })
            .await
    }

    async fn ask_all(&self) -> Result<Living, StoreError> {
        let services = self.store.services_all().await?;
        let not_long_before = self.clock.utc_now() - LATE_BY;
        let candidates: Vec<Peer> = services
            .into_iter()
            .filter(|service| service.engine_id != self.own_engine_id && service.is_up(not_long_before))
            .map(|service| Peer {
                engine_id: service.engine_id,
                host: service.host,
            })
            .collect();
        let answers = join_all(candidates.iter().map(|peer| self.ask(&peer.engine_id))).await;
        let mut living = Living::default();
        for (peer, kind) in candidates.into_iter().zip(answers) {
            match kind {
                Some(Kind::Python) => living.python.push(peer),
                Some(Kind::Ours) => living.ours.push(peer),
                None => {}
            }
        }
        self.forget_all_but(&living);
        Ok(living)
    }

    /// `None`: no answer in time.
    async fn ask(&self, engine_id: &str) -> Option<Kind> {
        let target = Target::topic(LISTENER_TOPIC, LISTENER_VERSION).server(engine_id);
        let mut context = RequestContext::admin(format!("req-{}", self.clock.new_uuid())).to_wire();
        let known = self
            .kinds
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(engine_id)
            .copied();
        if known.is_none() {
            context.insert(KIND_MARK.to_owned(), Value::Bool(true));
        }
        let answer = self
            .client
            .call(&target, "listening", Map::new(), &context, self.patience)
            .await
            .ok()?;
        if known.is_some() {
            return known;
        }
        let kind = match answer {
            Value::Object(facts) if facts.contains_key(KIND_MARK) => Kind::Ours,
            Value::Bool(true) => Kind::Python,
            _ => return None,
        };
        self.kinds
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(engine_id.to_owned(), kind);
        Some(kind)
    }

    /// Engine ids are new at every start of an engine: those of the past would pile up.
    fn forget_all_but(&self, living: &Living) {
        let lives = |engine_id: &str| {
            let mut peers = living.python.iter().chain(&living.ours);
            peers.any(|peer| peer.engine_id == engine_id)
        };
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|engine_id, _| lives(engine_id));
    }
}
