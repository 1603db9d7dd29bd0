//! A contract to serve in tests, and a bus to serve it on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use heat_engine::clock::Clock;
use heat_engine::messaging::{
    Answer, Bus, Dispatch, Fault, Options, PublishError, Request, RpcClient, RpcServer, ServerOptions, Target,
};
use heat_engine::settings::{Settings, SettingsSources};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

use crate::lab::TestVhost;

/// Options as an operator would have them, on a vhost.
pub fn options(vhost: &TestVhost, query: &str) -> Options {
    let settings = Settings::load(&SettingsSources::default()).expect("the defaults are good");
    let mut options = Options::new(&settings.messaging);
    options.transport.transport_url = format!("{}?{query}", vhost.transport_url()).into();
    options
}

pub fn bus(vhost: &TestVhost, query: &str) -> Bus {
    Bus::open(options(vhost, query), Clock::system()).expect("the options are good")
}

pub struct Methods {
    pub recorded: Mutex<HashMap<i64, usize>>,
    pub release: Notify,
    /// One for each; a `Notify` would keep only the last.
    begun: Semaphore,
    pub last: Mutex<Option<Seen>>,
}

impl Default for Methods {
    fn default() -> Self {
        Self {
            recorded: Mutex::default(),
            release: Notify::new(),
            begun: Semaphore::new(0),
            last: Mutex::default(),
        }
    }
}

impl Methods {
    /// Waits until one more that can be waited for has begun.
    pub async fn begins(&self) {
        self.begun.acquire().await.expect("it is never closed").forget();
    }
}

/// What a handler saw of its request.
pub struct Seen {
    pub redelivered: bool,
    pub unique_id: Option<String>,
}

pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

#[async_trait]
impl Dispatch for Methods {
    fn contains(&self, method: &str) -> bool {
        let methods = [
            "echo",
            "repeat",
            "missing",
            "broken",
            "slow",
            "record",
            "hold",
            "hold_acknowledged",
            "refuse_once",
        ];
        methods.contains(&method)
    }

    async fn call(&self, request: Request) -> Result<Answer, Fault> {
        *self.last.lock().unwrap() = Some(Seen {
            redelivered: request.frame.redelivered(),
            unique_id: request.unique_id.clone(),
        });
        match request.method.as_str() {
            "echo" => Ok(json!({"arguments": request.arguments, "context": request.context}).into()),
            "repeat" => {
                let times = request.arguments["times"].as_u64().unwrap_or_default();
                Ok(Value::from("x".repeat(usize::try_from(times).unwrap_or_default())).into())
            }
            "missing" => {
                let name = request.arguments["name"].as_str().unwrap_or_default();
                let message = format!("The Stack ({name}) could not be found.");
                Err(Fault::heat(
                    "EntityNotFound",
                    message,
                    object(json!({"entity": "Stack", "name": name})),
                ))
            }
            "broken" => panic!("as asked"),
            "slow" => {
                let seconds = request.arguments["seconds"].as_f64().unwrap_or_default();
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                Ok(json!("awake").into())
            }
            "record" => {
                let number = request.arguments["number"].as_i64().unwrap_or(-1);
                *self.recorded.lock().unwrap().entry(number).or_default() += 1;
                Ok(Value::Null.into())
            }
            "hold" => {
                self.begun.add_permits(1);
                self.release.notified().await;
                Ok(Value::Null.into())
            }
            "hold_acknowledged" => {
                request.acknowledge().await;
                self.begun.add_permits(1);
                self.release.notified().await;
                Ok(Value::Null.into())
            }
            "refuse_once" => {
                if self.recorded.lock().unwrap().insert(-2, 1).is_none() {
                    request.requeue().await;
                }
                self.begun.add_permits(1);
                Ok(Value::Null.into())
            }
            other => panic!("{other} was not to be called"),
        }
    }
}

impl Methods {
    /// How many different numbers came.
    pub fn count(&self) -> usize {
        self.recorded.lock().unwrap().len()
    }
}

pub fn server_options(server: &str) -> ServerOptions {
    ServerOptions {
        topic: "engine".to_owned(),
        server: server.to_owned(),
        version: "1.36".to_owned(),
        concurrency: 64,
        prefetch: 64,
        is_unique: false,
    }
}

pub async fn serve(bus: &Bus, server: &str) -> (RpcServer, Arc<Methods>) {
    let methods = Arc::new(Methods::default());
    let server = RpcServer::start(bus, server_options(server), methods.clone()).expect("queues have names");
    server.ready().await;
    (server, methods)
}

/// Casts `record` to any server.
pub async fn cast_number(client: &RpcClient, number: i64) -> Result<(), PublishError> {
    let target = Target::topic("engine", "1.0");
    client
        .cast(&target, "record", object(json!({"number": number})), &Map::new())
        .await
}

/// Calls a method of any server that answers.
pub async fn echo(bus: &Bus) {
    let (target, timeout) = (Target::topic("engine", "1.0"), Duration::from_secs(20));
    let (client, context) = (RpcClient::new(bus), Map::new());
    let answer = client.call(&target, "echo", Map::new(), &context, timeout).await;
    answer.expect("somebody answers");
}

/// Casts numbers from zero on, with a pause after each, in the background.
pub fn cast_numbers(client: RpcClient, count: usize, pause: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        for number in (0..).take(count) {
            cast_number(&client, number).await.expect("the bus is open");
            tokio::time::sleep(pause).await;
        }
    })
}

/// Looks again and again until it holds; the broker's management API lags behind by seconds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..300 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("in vain waited for: {what}");
}
