//! Serves the requests of a target.
//!
//! oslo.messaging acknowledges a request when it arrives, and loses it with the process. Here a request is
//! acknowledged by its handler, or for it when it returns; what a process holds unacknowledged when it dies goes to
//! another engine. No request can hurt another: each has a task of its own, and a panic ends in an error for its
//! caller alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::{Channel, Consumer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bus::Bus;
use super::connection::Live;
use super::declare::{DeclareError, declare_queue, short, table, until_unread};
use super::envelope;
use super::error::SetupError;
use super::fault::Fault;
use super::handover;
use super::measure;
use super::pulse::{Attempt, Pulse};
use super::replies::Replies;
use super::request::{Answer, Dispatch, Frame, Incoming, Request};
use super::settlement::{Admission, Arrival, Ending, Ledger, Settlement, Verdict};
use super::topology::QueueDeclaration;
use super::version;

const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(500);
const PING: &str = "oslo_rpc_server_ping";
const PING_VERSION: &str = "1.0";

/// What a server listens on, and how much of it at a time.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub topic: String,
    pub server: String,
    /// Requests up to this version are served (same major number, no higher minor number).
    pub version: String,
    /// Requests from one queue that are worked on at the same time. Each queue has its own, so that what is meant for
    /// this server alone does not wait behind what any server could do.
    pub concurrency: usize,
    /// Unacknowledged requests that the broker may have out to us from each queue. 0 is no limit, and takes
    /// from other engines what they could begin with sooner. A handler that acknowledges early makes room.
    pub prefetch: u16,
    /// No other process will ever be this server: its own queue goes when it ends.
    pub is_unique: bool,
}

/// A running server.
#[derive(Debug)]
pub struct RpcServer {
    shared: Arc<Shared>,
    subscribed: watch::Receiver<usize>,
    /// Subscriptions to what other servers could take as well.
    taking: watch::Receiver<usize>,
    attempts: Vec<Arc<Attempt>>,
    /// Go with this server.
    own_queues: Vec<String>,
}

struct Shared {
    bus: Bus,
    options: ServerOptions,
    dispatch: Arc<dyn Dispatch>,
    ledger: Ledger,
    replies: Replies,
    /// Requests from their first byte to their reply.
    requests: TaskTracker,
    /// The tasks that hold the subscriptions, until `closed`.
    readers: TaskTracker,
    /// Nothing is taken any more that others could take as well.
    stopped: CancellationToken,
    /// Nothing is taken any more.
    ended: CancellationToken,
    closed: CancellationToken,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RpcServer {
    /// Consumes the queues of a target and hands every request to `dispatch`.
    pub fn start(bus: &Bus, options: ServerOptions, dispatch: Arc<dyn Dispatch>) -> Result<Self, SetupError> {
        let topology = &bus.shared.topology;
        let unique = bus.shared.queue_names.unique().map_err(SetupError::QueueName)?;
        let fanout = topology.fanout_queue(&options.topic, &unique);
        let fanout_queue = fanout.name.clone();
        let own = own_queue(bus, &options);
        let fanout_goes = !bus.options().rabbit.use_queue_manager;
        let candidates = [(options.is_unique, own.name.clone()), (fanout_goes, fanout_queue)];
        let own_queues = candidates.into_iter().filter_map(|(goes, queue)| goes.then_some(queue));
        let own_queues = own_queues.collect();
        let queues = vec![topology.topic_queue(&options.topic), own, fanout];
        Ok(Self::consume(bus, options, dispatch, queues, own_queues))
    }

    /// As [`Self::start`], for a process that answers for itself and takes no part in what the servers of the topic share.
    /// Nobody else knows of it, and nobody could tidy up after it: its queue goes by itself when the process is killed.
    pub fn start_alone(bus: &Bus, options: ServerOptions, dispatch: Arc<dyn Dispatch>) -> Self {
        let queue = bus.shared.topology.passing_queue(&own_name(&options));
        let own_queues = vec![queue.name.clone()];
        Self::consume(bus, options, dispatch, vec![queue], own_queues)
    }

    fn consume(
        bus: &Bus,
        options: ServerOptions,
        dispatch: Arc<dyn Dispatch>,
        queues: Vec<QueueDeclaration>,
        own_queues: Vec<String>,
    ) -> Self {
        let shared = Arc::new(Shared {
            replies: Replies::new(bus.clone()),
            stopped: bus.shared.closed.child_token(),
            ended: bus.shared.closed.child_token(),
            closed: bus.shared.closed.child_token(),
            bus: bus.clone(),
            options,
            dispatch,
            ledger: Ledger::default(),
            requests: TaskTracker::new(),
            readers: TaskTracker::new(),
        });
        let mut attempts = Vec::new();
        let (count, subscribed) = watch::channel(0);
        let (shared_count, taking) = watch::channel(0);
        let own = own_name(&shared.options);
        let places = shared.options.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        for (queue, tag) in queues.into_iter().zip(1..) {
            let is_ours_alone = shared.options.is_unique && queue.name == own;
            let reader = QueueReader {
                stop: match is_ours_alone {
                    true => shared.ended.clone(),
                    false => shared.stopped.clone(),
                },
                taking: (!is_ours_alone).then(|| shared_count.clone()),
                shared: shared.clone(),
                queue,
                tag,
                places: Arc::new(Semaphore::new(places)),
                subscribed: count.clone(),
                attempt: Arc::default(),
            };
            attempts.push(reader.attempt.clone());
            shared.readers.spawn(reader.run());
        }
        Self {
            shared,
            subscribed,
            taking,
            attempts,
            own_queues,
        }
    }

    /// Resolves once all queues are consumed.
    pub async fn ready(&self) {
        let _ = self
            .subscribed
            .clone()
            .wait_for(|count| *count == self.attempts.len())
            .await;
    }

    pub fn pulse(&self) -> Pulse {
        Pulse {
            subscribed: self.subscribed.clone(),
            attempts: self.attempts.clone(),
            readers: self.shared.readers.clone(),
            stopped: self.shared.stopped.clone(),
        }
    }

    /// Takes no new requests but those that are for this server alone, such as an order to stop what it does; what was
    /// delivered but not begun goes back to its queue. What has begun goes on, and can still be acknowledged.
    pub async fn stop_consuming(&self) {
        self.shared.stopped.cancel();
        let _ = self.taking.clone().wait_for(|count| *count == 0).await;
    }

    /// Requests being worked on or answered.
    pub fn running(&self) -> usize {
        self.shared.requests.len()
    }

    /// Resolves when no request is being worked on and every reply is out. To be awaited after `stop_consuming`.
    pub async fn idle(&self) {
        self.shared.requests.close();
        self.shared.requests.wait().await;
    }

    /// Ends: what is unacknowledged goes back to its queue. Queues that are this server's alone go, unless their name is
    /// made to be found again; what is still in them is for a server that nobody will ever be again.
    pub async fn close(self) {
        self.shared.stopped.cancel();
        self.shared.ended.cancel();
        let _ = self.subscribed.clone().wait_for(|count| *count == 0).await;
        self.shared.closed.cancel();
        self.shared.readers.close();
        self.shared.readers.wait().await;
        for queue in &self.own_queues {
            self.shared.bus.delete_own_queue(queue).await;
        }
    }
}

fn own_queue(bus: &Bus, options: &ServerOptions) -> QueueDeclaration {
    bus.shared.topology.topic_queue(&own_name(options))
}

fn own_name(options: &ServerOptions) -> String {
    format!("{}.{}", options.topic, options.server)
}

/// Consumes one queue, through lost connections and deletions.
struct QueueReader {
    shared: Arc<Shared>,
    queue: QueueDeclaration,
    tag: u16,
    places: Arc<Semaphore>,
    subscribed: watch::Sender<usize>,
    taking: Option<watch::Sender<usize>>,
    stop: CancellationToken,
    attempt: Arc<Attempt>,
}

impl QueueReader {
    async fn run(self) {
        let link = self.shared.bus.shared.consuming.clone();
        let mut refusals: u32 = 0;
        while let Some(Ok(live)) = self.stop.run_until_cancelled(link.live()).await {
            self.attempt.begins();
            let consumed = self.consume(&live).await;
            self.attempt.is_over();
            refusals = match consumed {
                Err(error) if live.is_up() => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(queue = self.queue.name, error, "the subscription failed; trying again");
                    refusals.saturating_add(1)
                }
                // The connection is gone, which is told where the next one is made.
                _ => 0,
            };
            let pause = PAUSE_AFTER_ERROR.saturating_mul(1 << refusals.min(6));
            self.stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    /// Consumes for as long as the connection lasts.
    async fn consume(&self, live: &Live) -> Result<(), DeclareError> {
        let channel = live.answered(self.channel(live)).await?;
        while live.is_up() && channel.status().connected() {
            self.attempt.begins();
            let consumer = live.answered(self.subscribe(live, &channel)).await?;
            self.attempt.is_over();
            self.counts()
                .for_each(|counted| counted.send_modify(|count| *count += 1));
            let stopped = self.take_deliveries(live, &channel, consumer).await;
            self.counts()
                .for_each(|counted| counted.send_modify(|count| *count -= 1));
            if stopped {
                // Requests that are still running are acknowledged through this channel.
                self.shared.closed.cancelled().await;
                let _ = live.answered(channel.close(200, "OK".into())).await;
                return Ok(());
            }
            // The broker has cancelled us: the queue was deleted, or its node is gone. The channel is as good as before.
            if live.is_up() {
                tracing::warn!(
                    queue = self.queue.name,
                    "the broker ended the subscription; subscribing again"
                );
            }
            tokio::time::sleep(PAUSE_AFTER_ERROR).await;
        }
        Ok(())
    }

    fn counts(&self) -> impl Iterator<Item = &watch::Sender<usize>> {
        std::iter::once(&self.subscribed).chain(&self.taking)
    }

    async fn channel(&self, live: &Live) -> lapin::Result<Channel> {
        let channel = live.channel().await?;
        let prefetch = self.shared.options.prefetch;
        if prefetch > 0 {
            channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
        }
        Ok(channel)
    }

    async fn subscribe(&self, live: &Live, channel: &Channel) -> Result<Consumer, DeclareError> {
        declare_queue(live, &self.queue).await?;
        let arguments = table(&self.shared.bus.shared.topology.consumer_arguments());
        let tag = self.tag.to_string().as_str().into();
        let consumer = channel.basic_consume(short(&self.queue.name)?, tag, BasicConsumeOptions::default(), arguments);
        Ok(consumer.await?)
    }

    /// Starts a task for each delivery; whether it was told to stop, or the subscription ended by itself.
    async fn take_deliveries(&self, live: &Live, channel: &Channel, mut consumer: Consumer) -> bool {
        let mut unread = std::pin::pin!(until_unread(live, &self.queue.name));
        loop {
            let next = tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    live.over().run_until_cancelled(self.unsubscribe(live, channel, consumer)).await;
                    return true;
                }
                () = live.over().cancelled() => return false,
                next = consumer.next() => next,
                () = &mut unread => {
                    live.over().run_until_cancelled(self.unsubscribe(live, channel, consumer)).await;
                    return false;
                }
            };
            let delivery = match next {
                Some(Ok(delivery)) => delivery,
                Some(Err(error)) => {
                    tracing::debug!(queue = self.queue.name, %error, "the subscription was lost");
                    return false;
                }
                None => return false,
            };
            let delivered = Instant::now();
            tokio::select! {
                place = self.places.clone().acquire_owned() => {
                    let Ok(place) = place else { return true };
                    measure::waited(&self.shared.options.topic, delivered.elapsed());
                    let arrival = Arrival::of(&delivery, live);
                    self.shared.requests.spawn(handle(self.shared.clone(), delivery, arrival, place));
                }
                () = self.stop.cancelled() => Arrival::of(&delivery, live).settle(Verdict::Requeued).await,
            }
        }
    }

    async fn unsubscribe(&self, live: &Live, channel: &Channel, mut consumer: Consumer) {
        let tag = self.tag.to_string().as_str().into();
        if let Err(error) = channel.basic_cancel(tag, BasicCancelOptions::default()).await {
            tracing::debug!(queue = self.queue.name, %error, "the subscription was gone already");
        }
        while let Some(Ok(delivery)) = consumer.next().await {
            Arrival::of(&delivery, live).settle(Verdict::Requeued).await;
        }
    }
}

/// One delivery from its arrival to its reply.
async fn handle(shared: Arc<Shared>, mut delivery: Delivery, arrival: Arrival, place: OwnedSemaphorePermit) {
    let settlement = Settlement::new(arrival.clone());
    let Some(incoming) = read(&shared, &mut delivery, &settlement).await else {
        return;
    };
    let unique_id = incoming
        .unique_id
        .as_deref()
        .map(|id| handover::request_key(id, &delivery.properties));
    if let Some(unique_id) = &unique_id {
        match shared.ledger.admit(unique_id, &arrival, &settlement) {
            Admission::New => {}
            Admission::Running => {
                tracing::info!(
                    unique_id,
                    method = incoming.method,
                    "a request came again while it is worked on"
                );
                return;
            }
            Admission::Finished => {
                tracing::info!(
                    unique_id,
                    method = incoming.method,
                    "dropped a request that was done before"
                );
                settlement.acknowledge().await;
                return;
            }
        }
    }
    let reply_to = incoming.reply_to.clone();
    let outcome = work(&shared, incoming, delivery, settlement.clone()).await;
    let handed_over = matches!(outcome, Ok(Answer::HandedOver));
    settlement.acknowledge().await;
    let requeued = settlement.verdict() == Some(Verdict::Requeued);
    if let Some(unique_id) = &unique_id {
        let ending = if requeued || handed_over {
            Ending::PassedOn
        } else {
            Ending::Finished
        };
        shared.ledger.finish(unique_id, &settlement, ending);
    }
    drop(place);
    let outcome = match outcome {
        Ok(Answer::Value(value)) => Ok(value),
        Ok(Answer::HandedOver) => return,
        Err(fault) => Err(fault),
    };
    if let (Some(reply_to), false) = (reply_to, requeued) {
        shared.replies.send(&reply_to, outcome).await;
    }
}

/// Takes the request out of a frame. A frame that holds none is logged and dropped; nobody else can do more with it.
async fn read(shared: &Shared, delivery: &mut Delivery, settlement: &Settlement) -> Option<Incoming> {
    let limit = shared.bus.options().max_frame_bytes;
    let message = envelope::read_aside(&mut delivery.data, &delivery.properties, limit).await;
    let message = match message {
        Ok(message) => message,
        Err(error) => {
            log_unreadable(delivery, &error);
            settlement.acknowledge().await;
            return None;
        }
    };
    match Incoming::read(message) {
        Ok(incoming) => Some(incoming),
        Err(malformed) => {
            measure::unreadable();
            tracing::error!(
                exchange = delivery.exchange.as_str(),
                routing_key = delivery.routing_key.as_str(),
                tag = delivery.delivery_tag,
                unique_id = malformed.unique_id,
                message_id = malformed.reply_to.as_ref().map(|address| address.message_id.as_str()),
                problem = malformed.problem,
                "dropped a malformed request"
            );
            settlement.acknowledge().await;
            if let Some(reply_to) = &malformed.reply_to {
                shared
                    .replies
                    .send(reply_to, Err(Fault::malformed(&malformed.problem)))
                    .await;
            }
            None
        }
    }
}

fn log_unreadable(delivery: &Delivery, error: &envelope::Unreadable) {
    measure::unreadable();
    let ids = envelope::ids_of_unreadable(&delivery.data);
    tracing::error!(
        exchange = delivery.exchange.as_str(),
        routing_key = delivery.routing_key.as_str(),
        tag = delivery.delivery_tag,
        bytes = delivery.data.len(),
        unique_id = ids.unique_id,
        message_id = ids.message_id,
        error = error as &dyn std::error::Error,
        "dropped a frame that cannot be read"
    );
}

async fn work(
    shared: &Shared,
    incoming: Incoming,
    delivery: Delivery,
    settlement: Arc<Settlement>,
) -> Result<Answer, Fault> {
    if incoming.method == PING && shared.bus.options().transport.rpc_ping_enabled {
        check_version(PING_VERSION, &incoming)?;
        return Ok(Answer::Value("pong".into()));
    }
    check_version(&shared.options.version, &incoming)?;
    if incoming.method.starts_with('_') || !shared.dispatch.contains(&incoming.method) {
        tracing::warn!(
            method = incoming.method,
            unique_id = incoming.unique_id,
            "there is no such method"
        );
        return Err(Fault::no_such_method(&incoming.method));
    }
    let method = incoming.method.clone();
    let unique_id = incoming.unique_id.clone();
    let signs_of_life = incoming.reply_to.clone().zip(incoming.call_monitor_timeout);
    let request = Request {
        method: incoming.method,
        arguments: incoming.arguments,
        context: incoming.context,
        version: incoming.version,
        unique_id: incoming.unique_id,
        reply_to: incoming.reply_to,
        misfit: incoming.misfit,
        frame: Frame {
            body: delivery.data.into(),
            properties: delivery.properties,
            routing_key: String::from(delivery.routing_key),
            redelivered: delivery.redelivered,
        },
        settlement,
    };
    let working = AssertUnwindSafe(shared.dispatch.call(request)).catch_unwind();
    let worked = match signs_of_life {
        None => working.await,
        Some((reply_to, timeout)) => tokio::select! {
            worked = working => worked,
            never = shared.replies.send_signs_of_life(&reply_to, timeout / 2) => match never {},
        },
    };
    worked.unwrap_or_else(|panic| {
        let panic = panic_text(panic.as_ref());
        tracing::error!(method, unique_id, panic, "a request ended in a panic");
        Err(Fault::internal(format!(
            "{method} failed inside the engine; its log says more"
        )))
    })
}

fn check_version(served: &str, incoming: &Incoming) -> Result<(), Fault> {
    version::check(served, incoming.namespace.as_deref(), &incoming.version).map_err(|unserved| {
        tracing::warn!(
            method = incoming.method,
            version = incoming.version,
            namespace = incoming.namespace,
            unique_id = incoming.unique_id,
            "{unserved}"
        );
        Fault::unsupported_version(&incoming.version, &incoming.method)
    })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}
