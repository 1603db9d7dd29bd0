//! Keeps one connection to one of the brokers up.
//!
//! lapin can recover a connection by itself, but knows one host only and gives up in the end. So a supervisor walks the
//! brokers of the transport URL for as long as it takes, and whoever uses the connection rebuilds what it had on the
//! next one: channels, declarations, subscriptions.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use lapin::tcp::RustlsConnector;
use lapin::{Connection, ConnectionState, ErrorKind, Event};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::dial::{Dialer, is_closed_port, reason_of};
use super::measure;
use super::options::Options;
use super::transport_url::{Broker, TransportUrl};
use crate::clock::Clock;
use crate::settings::{FailoverStrategy, RabbitSettings};

/// lapin tells of a lost connection by an event; this look is for the case that it does not.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// A broker that is not there is burdened by no attempt, and is to be met soon after it has come back.
const LOOK_AT_CLOSED_PORT: Duration = Duration::from_secs(2);
/// For this long a loss is not told again: the connections of a bus have it at the same moment.
const LOSS_TOLD_FOR: Duration = Duration::from_secs(10);
/// For this long it is not told again that there is no broker, which does not change by being told.
const ABSENCE_TOLD_FOR: Duration = Duration::from_secs(60);

/// What was told last about the brokers. The connections of a bus meet the same fault at the same moment, and an operator
/// wants to read of it once.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Mutex<Option<(String, Instant)>>>);

impl Told {
    fn is_news(&self, text: &str, told_for: Duration) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told
            .as_ref()
            .is_some_and(|(last, since)| last == text && since.elapsed() < told_for)
        {
            return false;
        }
        *told = Some((text.to_owned(), Instant::now()));
        true
    }
}

/// A connection that works, or did a moment ago.
pub(super) struct Live {
    connection: Connection,
    /// Tells connections apart; it grows.
    generation: u64,
    broker: String,
    over: CancellationToken,
    /// What was declared through this connection; declaring it once is enough.
    declared: Mutex<HashSet<String>>,
}

impl Live {
    pub(super) async fn channel(&self) -> lapin::Result<lapin::Channel> {
        self.connection.create_channel().await
    }

    /// What the broker answers, for as long as the connection lasts: lapin may leave for ever unanswered what was asked in the
    /// moment in which the connection broke.
    pub(super) async fn answered<T, E: From<lapin::Error>>(
        &self,
        asking: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let answer = self.over.run_until_cancelled(asking).await;
        answer.unwrap_or_else(|| {
            Err(lapin::Error::from(ErrorKind::InvalidConnectionState(ConnectionState::Closed)).into())
        })
    }

    /// Is cancelled when the connection is lost.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn is_up(&self) -> bool {
        self.connection.status().connected()
    }

    pub(super) fn has_declared(&self, name: &str) -> bool {
        self.declared().contains(name)
    }

    pub(super) fn remember_declared(&self, name: &str) {
        self.declared().insert(name.to_owned());
    }

    /// For when something that was declared may be gone again.
    pub(super) fn forget_declared(&self) {
        self.declared().clear();
    }

    fn declared(&self) -> MutexGuard<'_, HashSet<String>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Live({}, generation {})", self.broker, self.generation)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct LinkState {
    pub(super) live: Option<Arc<Live>>,
    /// The broker's reason for not reading what we publish.
    pub(super) blocked: Option<String>,
}

impl LinkState {
    pub(super) fn broker(&self) -> Option<String> {
        self.live.as_ref().map(|live| live.broker.clone())
    }
}

/// The end of the connection that its users hold.
#[derive(Clone, Debug)]
pub(super) struct Link {
    state: watch::Receiver<LinkState>,
}

/// The bus was closed.
#[derive(Debug)]
pub(super) struct Closed;

impl Link {
    /// Starts a supervisor. `purpose` tells the connections of a process apart in logs and on the broker.
    pub(super) fn start(
        options: &Options,
        url: &TransportUrl,
        tls: Option<RustlsConnector>,
        purpose: &'static str,
        clock: Clock,
        closed: CancellationToken,
        told: Told,
    ) -> Self {
        let (sender, state) = watch::channel(LinkState::default());
        let supervisor = Supervisor {
            brokers: BrokerList::new(url.brokers.clone(), options.rabbit.kombu_failover_strategy, &clock),
            dialer: Dialer::new(options, url, tls, purpose),
            rabbit: options.rabbit.clone(),
            purpose,
            clock,
            state: sender,
            closed,
            told,
        };
        tokio::spawn(supervisor.run());
        Self { state }
    }

    /// The present connection; waits for one if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, Closed> {
        let mut state = self.state.clone();
        let state = state
            .wait_for(|state| state.live.as_ref().is_some_and(|live| live.is_up()))
            .await;
        state.ok().and_then(|state| state.live.clone()).ok_or(Closed)
    }

    /// As `live`, but waits also for a broker that takes messages.
    pub(super) async fn unblocked(&self) -> Result<Arc<Live>, Closed> {
        let mut state = self.state.clone();
        let usable =
            |state: &LinkState| state.blocked.is_none() && state.live.as_ref().is_some_and(|live| live.is_up());
        let state = state.wait_for(usable).await;
        state.ok().and_then(|state| state.live.clone()).ok_or(Closed)
    }

    pub(super) fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }

    /// Resolves when the supervisor has ended.
    pub(super) async fn ended(&self) {
        let mut state = self.state.clone();
        while state.changed().await.is_ok() {}
    }
}

/// How long the broker may take to answer our goodbye. A question that is asked in the moment in which the connection breaks
/// is never answered.
const GOODBYE: Duration = Duration::from_secs(5);

struct Supervisor {
    brokers: BrokerList,
    dialer: Dialer,
    rabbit: RabbitSettings,
    purpose: &'static str,
    clock: Clock,
    state: watch::Sender<LinkState>,
    closed: CancellationToken,
    told: Told,
}

impl Supervisor {
    async fn run(mut self) {
        let closed = self.closed.clone();
        let mut generation = 0;
        loop {
            generation += 1;
            let Some(live) = closed.run_until_cancelled(self.connect(generation)).await else {
                return;
            };
            measure::connected(self.purpose);
            tracing::info!(broker = live.broker, purpose = self.purpose, "connected to the broker");
            let live = Arc::new(live);
            let events = live.connection.events_listener();
            self.state.send_modify(|state| state.live = Some(live.clone()));
            let lost = closed.run_until_cancelled(self.watch(&live, events)).await;
            self.state.send_replace(LinkState::default());
            let Some(reason) = lost else {
                let goodbye = live.connection.close(200, "OK".into());
                if tokio::time::timeout(GOODBYE, goodbye).await.is_err() {
                    tracing::debug!(broker = live.broker, "the broker does not answer our goodbye");
                }
                live.over.cancel();
                return;
            };
            live.over.cancel();
            let reason = reason.unwrap_or_else(|| "it was closed".to_owned());
            if self.told.is_news(&format!("lost {}", live.broker), LOSS_TOLD_FOR) {
                tracing::warn!(broker = live.broker, reason, "lost the connection to the broker");
            }
            // All engines lose a broker at the same moment; they need not come back at the same moment too.
            let most = self.rabbit.kombu_reconnect_delay + self.rabbit.kombu_reconnect_splay;
            let pause = self.clock.random_duration(most);
            if closed.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Tries broker after broker, with a pause after each round, until one takes us.
    async fn connect(&mut self, generation: u64) -> Live {
        let mut round = 0;
        loop {
            let mut reasons: Vec<String> = Vec::new();
            let mut nobody_listens = true;
            for _ in 0..self.brokers.len() {
                let broker = self.brokers.next(&self.clock);
                match self.dialer.dial(&broker).await {
                    Ok(connection) => {
                        return Live {
                            connection,
                            generation,
                            broker: broker.address(),
                            over: CancellationToken::new(),
                            declared: Mutex::default(),
                        };
                    }
                    Err(error) => {
                        nobody_listens &= is_closed_port(&error);
                        reasons.push(format!("{}: {}", broker.address(), reason_of(&error)));
                    }
                }
            }
            let pause = self.pause_after_round(round, nobody_listens);
            // The order changes from round to round.
            reasons.sort_unstable();
            let reasons = reasons.join("; ");
            if self.told.is_news(&reasons, ABSENCE_TOLD_FOR) {
                tracing::error!(reasons, ?pause, "no broker takes our connection; trying again");
            }
            tokio::time::sleep(pause).await;
            round += 1;
        }
    }

    /// Half of it is fixed and half of it drawn, so that a pause never shrinks to nothing.
    fn pause_after_round(&self, round: u32, nobody_listens: bool) -> Duration {
        let grown = self.rabbit.rabbit_retry_interval + self.rabbit.rabbit_retry_backoff.saturating_mul(round);
        let most = grown.min(self.rabbit.rabbit_interval_max);
        let most = if nobody_listens {
            most.min(LOOK_AT_CLOSED_PORT)
        } else {
            most
        };
        most / 2 + self.clock.random_duration(most / 2)
    }

    /// Resolves when the connection is lost, with the reason if there is one.
    async fn watch(&self, live: &Live, events: impl futures_util::Stream<Item = Event>) -> Option<String> {
        let mut events = std::pin::pin!(events);
        let mut look = tokio::time::interval(LOOK_INTERVAL);
        let mut reason = None;
        // Blocked before we listened: the state says so.
        while live.is_up() {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::ConnectionBlocked(reason)) => {
                        tracing::error!(broker = live.broker, reason, "the broker takes no messages for now");
                        self.state.send_modify(|state| state.blocked = Some(reason));
                    }
                    Some(Event::ConnectionUnblocked) => {
                        tracing::info!(broker = live.broker, "the broker takes messages again");
                        self.state.send_modify(|state| state.blocked = None);
                    }
                    Some(Event::Error(error)) => reason = Some(reason_of(&error)),
                    Some(_) => {}
                    None => return reason,
                },
                _ = look.tick() => {}
            }
        }
        // The reason may be behind the loss.
        while let Some(Some(event)) = events.next().now_or_never() {
            if let Event::Error(error) = event {
                reason = Some(reason_of(&error));
            }
        }
        reason
    }
}

/// The brokers in the order in which they are tried.
struct BrokerList {
    brokers: Vec<Broker>,
    strategy: FailoverStrategy,
    next: usize,
}

impl BrokerList {
    /// The engines of a cloud share one list: each starts at a place of its own, so that they spread over the brokers.
    fn new(mut brokers: Vec<Broker>, strategy: FailoverStrategy, clock: &Clock) -> Self {
        shuffle(&mut brokers, clock);
        Self {
            brokers,
            strategy,
            next: 0,
        }
    }

    fn len(&self) -> usize {
        self.brokers.len()
    }

    fn next(&mut self, clock: &Clock) -> Broker {
        if self.next == self.brokers.len() {
            self.next = 0;
            if self.strategy == FailoverStrategy::Shuffle {
                shuffle(&mut self.brokers, clock);
            }
        }
        self.next += 1;
        self.brokers[self.next - 1].clone()
    }
}

fn shuffle(brokers: &mut [Broker], clock: &Clock) {
    for last in (1..brokers.len()).rev() {
        let other = clock.random_below(last as u64 + 1) as usize;
        brokers.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broker_gets_its_turn_in_every_round() {
        for strategy in [FailoverStrategy::RoundRobin, FailoverStrategy::Shuffle] {
            let url = TransportUrl::parse("rabbit://a,b,c,d/").unwrap();
            let clock = Clock::system();
            let mut list = BrokerList::new(url.brokers, strategy, &clock);
            for _ in 0..10 {
                let round: HashSet<String> = (0..list.len()).map(|_| list.next(&clock).host).collect();
                assert_eq!(round.len(), 4);
            }
        }
    }
}
