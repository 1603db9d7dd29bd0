//! Between the exchange and the workers: a carrier that delivers late, out of order, and as often as it likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::lab::TestVhost;

const EXCHANGE: &str = "heat";
const WORKERS: &str = "engine_worker";
const OWN_QUEUE: &str = "courier";

/// How frames are delivered.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub copies: u32,
    pub longest_delay: Duration,
    pub seed: u64,
}

/// Takes every `check_resource` for any worker, and delivers it itself.
pub struct Courier {
    taken: Arc<AtomicUsize>,
    under_way: Arc<AtomicUsize>,
    _connection: Connection,
}

impl Courier {
    /// To be called once an engine serves: its queue and the exchange are there then.
    pub async fn start(vhost: &TestVhost, manners: Manners) -> Self {
        let connection = vhost.connect().await;
        let channel = connection.create_channel().await.expect("a channel");
        channel
            .queue_declare(OWN_QUEUE.into(), QueueDeclareOptions::default(), FieldTable::default())
            .await
            .expect("a queue");
        channel
            .queue_bind(
                OWN_QUEUE.into(),
                EXCHANGE.into(),
                WORKERS.into(),
                QueueBindOptions::default(),
                FieldTable::default(),
            )
            .await
            .expect("a binding");
        channel
            .queue_unbind(WORKERS.into(), EXCHANGE.into(), WORKERS.into(), FieldTable::default())
            .await
            .expect("the workers' queue was bound");
        let courier = Self {
            taken: Arc::default(),
            under_way: Arc::default(),
            _connection: connection,
        };
        let no_ack = BasicConsumeOptions {
            no_ack: true,
            ..BasicConsumeOptions::default()
        };
        let mut frames = channel
            .basic_consume(OWN_QUEUE.into(), "".into(), no_ack, FieldTable::default())
            .await
            .expect("a subscription");
        let (taken, under_way) = (courier.taken.clone(), courier.under_way.clone());
        tokio::spawn(async move {
            let mut chance = StdRng::seed_from_u64(manners.seed);
            while let Some(Ok(frame)) = frames.next().await {
                taken.fetch_add(1, Ordering::SeqCst);
                for _ in 0..manners.copies {
                    let delay = manners.longest_delay.mul_f64(chance.random::<f64>());
                    let copy = Copy {
                        channel: channel.clone(),
                        body: renamed(&frame.data),
                        properties: frame.properties.clone(),
                    };
                    under_way.fetch_add(1, Ordering::SeqCst);
                    let under_way = under_way.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        copy.deliver().await;
                        under_way.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            }
        });
        courier
    }

    /// Frames that engines have sent so far.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::SeqCst) == 0
    }
}

struct Copy {
    channel: Channel,
    body: Vec<u8>,
    properties: BasicProperties,
}

impl Copy {
    /// Straight to the queue, past the exchange.
    async fn deliver(self) {
        let published = self.channel.basic_publish(
            "".into(),
            WORKERS.into(),
            BasicPublishOptions::default(),
            &self.body,
            self.properties,
        );
        // The test may be over.
        let _ = published.await;
    }
}

/// The frame under another unique id, so that the filter for a sender's repetitions lets it pass.
fn renamed(body: &[u8]) -> Vec<u8> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut envelope: Value = serde_json::from_slice(body).expect("a frame of ours");
    let message = envelope["oslo.message"].as_str().expect("an envelope");
    let mut message: Value = serde_json::from_str(message).expect("a message");
    let number = COUNTER.fetch_add(1, Ordering::SeqCst);
    message["_unique_id"] = format!("{number:032x}").into();
    envelope["oslo.message"] = message.to_string().into();
    envelope.to_string().into_bytes()
}
