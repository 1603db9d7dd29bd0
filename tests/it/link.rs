//! A link to a server that a test can cut, stall, slow down and restore, or break at one statement or message of many.
//!
//! What passes is taken apart as far as is needed to count it: the commands of a database connection, the messages that
//! are published on a broker's. Everything else goes through as it comes.

mod protocol;
mod steps;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

pub use self::protocol::Protocol;
use self::protocol::{Conversation, Units};
pub use self::steps::{Steps, Strike};

/// The state of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weather {
    Fair,
    /// Connections are closed, and new ones refused.
    Cut,
    /// Connections stay, and nothing passes.
    Stalled,
    /// Everything takes so much longer.
    Slow(Duration),
    /// The database has no connection left for anybody new.
    Full,
}

pub struct Link {
    pub port: u16,
    weather: Arc<watch::Sender<Weather>>,
    /// Counts up to close the connections that there are.
    generation: watch::Sender<u64>,
    /// Counts up to let them pass nothing any more, not even their end.
    oblivion: watch::Sender<u64>,
    /// What the broker seems to say to everybody.
    announced: tokio::sync::broadcast::Sender<Vec<u8>>,
    keeps_cancellations: Arc<AtomicBool>,
}

impl Link {
    /// To a server; what passes counts as `steps`.
    pub async fn counting(host: &str, port: u16, protocol: Protocol, steps: Arc<Steps>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own_port = listener.local_addr().expect("an address").port();
        let (weather, _) = watch::channel(Weather::Fair);
        let (generation, _) = watch::channel(0);
        let (oblivion, _) = watch::channel(0);
        let (announced, _) = tokio::sync::broadcast::channel(4);
        let link = Self {
            port: own_port,
            weather: Arc::new(weather),
            generation,
            oblivion,
            announced,
            keeps_cancellations: Arc::default(),
        };
        let server = (host.to_owned(), port);
        let (weather, generation) = (link.weather.clone(), link.generation.subscribe());
        let oblivion = link.oblivion.subscribe();
        let announced = link.announced.clone();
        let keeps_cancellations = link.keeps_cancellations.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let relay = Relay {
                    weather: weather.subscribe(),
                    generation: generation.clone(),
                    oblivion: oblivion.clone(),
                    announced: announced.clone(),
                    keeps_cancellations: keeps_cancellations.clone(),
                    protocol,
                    steps: steps.clone(),
                    conversation: Arc::default(),
                    answer: Arc::default(),
                };
                tokio::spawn(relay.run(client, server.clone()));
            }
        });
        link
    }

    pub fn weather(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// Lets the broker say that it is short of memory, or that it is no longer.
    pub fn block(&self, blocked: bool) {
        let _ = self.announced.send(protocol::blocked(blocked));
    }

    /// From now on nobody hears from the broker that a subscription is over.
    pub fn keep_cancellations(&self) {
        self.keeps_cancellations.store(true, Ordering::SeqCst);
    }

    /// Closes the connections that there are; new ones are welcome.
    pub fn drop_connections(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// As a firewall that loses its table: the connections that there are pass nothing any more, and neither side learns of
    /// it, nor of the other's end. New ones are welcome.
    pub fn forget_connections(&self) {
        self.oblivion.send_modify(|generation| *generation += 1);
    }
}

#[derive(Clone)]
struct Relay {
    weather: watch::Receiver<Weather>,
    generation: watch::Receiver<u64>,
    oblivion: watch::Receiver<u64>,
    announced: tokio::sync::broadcast::Sender<Vec<u8>>,
    keeps_cancellations: Arc<AtomicBool>,
    protocol: Protocol,
    steps: Arc<Steps>,
    conversation: Arc<std::sync::Mutex<Conversation>>,
    answer: Arc<AnswerGate>,
}

/// What comes back is held from the moment on at which a step is to lose its answer.
#[derive(Default)]
struct AnswerGate {
    is_shut: AtomicBool,
    has_come: Notify,
}

impl Relay {
    async fn run(mut self, client: TcpStream, server: (String, u16)) {
        self.generation.mark_unchanged();
        self.oblivion.mark_unchanged();
        let weather = *self.weather.borrow();
        match weather {
            Weather::Cut => return,
            Weather::Full => {
                let mut client = client;
                let _ = client.write_all(&protocol::refusal(0, 1040)).await;
                return;
            }
            _ => {}
        }
        let Ok(server) = TcpStream::connect((server.0.as_str(), server.1)).await else {
            return;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let to_client = Arc::new(tokio::sync::Mutex::new(to_client));
        let end = {
            let (mut weather, mut generation) = (self.weather.clone(), self.generation.clone());
            async move {
                tokio::select! {
                    _ = weather.wait_for(|weather| *weather == Weather::Cut) => {}
                    _ = generation.changed() => {}
                }
            }
        };
        let mut announced = self.announced.subscribe();
        let announce = {
            let to_client = to_client.clone();
            async move {
                while let Ok(words) = announced.recv().await {
                    if to_client.lock().await.write_all(&words).await.is_err() {
                        return;
                    }
                }
            }
        };
        // Both directions end with either, and with the link.
        tokio::select! {
            () = self.clone().ask(from_client, to_server, to_client.clone()) => {}
            () = self.clone().answer(from_server, to_client) => {}
            () = announce => {}
            () = end => {}
        }
    }

    async fn ask(
        mut self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        back: Arc<tokio::sync::Mutex<OwnedWriteHalf>>,
    ) {
        let mut units = Units::of_client(self.protocol);
        while let Ok(unit) = units.next(&mut from).await {
            self.weathered().await;
            let step = self.conversation.lock().expect("no panic").step(self.protocol, &unit);
            match step.and_then(|what| self.steps.meet(&what)) {
                None => {}
                Some(Strike::Before) => return self.steps.strike().await,
                Some(Strike::After) => {
                    self.answer.is_shut.store(true, Ordering::SeqCst);
                    if to.write_all(&unit).await.is_ok() {
                        self.rest_of_message(&mut units, &mut from, &mut to).await;
                        self.answer.has_come.notified().await;
                    }
                    return self.steps.strike().await;
                }
                Some(Strike::Refuse(code)) => {
                    let refusal = protocol::refusal(1, code);
                    if back.lock().await.write_all(&refusal).await.is_err() {
                        return;
                    }
                    self.steps.strike().await;
                    continue;
                }
            }
            if to.write_all(&unit).await.is_err() {
                break;
            }
        }
        self.unless_forgotten().await;
    }

    /// A message is published by several units, of which the first counts.
    async fn rest_of_message(&self, units: &mut Units, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) {
        if self.protocol != Protocol::Amqp {
            return;
        }
        let rest = async {
            while let Ok(unit) = units.next(from).await {
                if to.write_all(&unit).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = rest => {}
            () = self.answer.has_come.notified() => self.answer.has_come.notify_one(),
        }
    }

    async fn answer(mut self, mut from: OwnedReadHalf, to: Arc<tokio::sync::Mutex<OwnedWriteHalf>>) {
        let mut units = Units::of_server(self.protocol);
        while let Ok(unit) = units.next(&mut from).await {
            if self.answer.is_shut.load(Ordering::SeqCst) {
                self.answer.has_come.notify_one();
                return std::future::pending().await;
            }
            self.conversation.lock().expect("no panic").heard(self.protocol, &unit);
            self.weathered().await;
            if self.keeps_cancellations.load(Ordering::SeqCst) && protocol::is_cancellation(&unit) {
                continue;
            }
            if to.lock().await.write_all(&unit).await.is_err() {
                break;
            }
        }
        self.unless_forgotten().await;
    }

    /// Returns, unless nobody may learn anything of this connection any more.
    async fn unless_forgotten(&self) {
        if self.oblivion.has_changed().unwrap_or(false) {
            std::future::pending().await
        }
    }

    async fn weathered(&mut self) {
        self.unless_forgotten().await;
        let weather = *self.weather.borrow();
        match weather {
            Weather::Fair | Weather::Full => {}
            Weather::Slow(delay) => tokio::time::sleep(delay).await,
            Weather::Stalled | Weather::Cut => {
                let _ = self
                    .weather
                    .wait_for(|weather| !matches!(weather, Weather::Stalled | Weather::Cut))
                    .await;
                self.unless_forgotten().await;
            }
        }
    }
}
