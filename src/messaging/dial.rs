//! Makes one connection to one broker.

use std::time::Duration;

use lapin::tcp::{AsyncTcpStream, RustlsConnector};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{Connection, ConnectionProperties};

use super::options::Options;
use super::transport_url::{Broker, TransportUrl};
use crate::settings::{LoginMethod, RabbitSettings};

const TCP_AND_TLS_PATIENCE: Duration = Duration::from_secs(10);
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(20);
/// lapin keeps buffers for 32 frames each way and connection. With the broker's own 128 kB that would be half of what an
/// idle engine needs; a larger message takes a few frames more.
const FRAME_BYTES: u32 = 32 * 1024;

/// All that brokers of one transport URL have in common.
pub(super) struct Dialer {
    virtual_host: String,
    rabbit: RabbitSettings,
    connection_name: String,
    tls: Option<RustlsConnector>,
}

impl Dialer {
    /// `purpose` tells the connections of a process apart on the broker.
    pub(super) fn new(options: &Options, url: &TransportUrl, tls: Option<RustlsConnector>, purpose: &str) -> Self {
        Self {
            virtual_host: url.virtual_host.clone(),
            rabbit: options.rabbit.clone(),
            connection_name: format!("{}:{}:{purpose}", options.connection_name, std::process::id()),
            tls,
        }
    }

    pub(super) async fn dial(&self, broker: &Broker) -> lapin::Result<Connection> {
        let runtime = lapin::runtime::default_runtime()?;
        let tls = self.tls.clone();
        let properties = ConnectionProperties::default().with_connection_name(self.connection_name.as_str().into());
        let connecting = Connection::connector(
            self.uri(broker),
            runtime,
            async move |uri, runtime| {
                let host = uri.authority.host;
                let addresses = runtime.to_socket_addrs((host.clone(), uri.authority.port));
                let stream = async {
                    let stream = AsyncTcpStream::connect(&runtime, addresses).await?;
                    match &tls {
                        Some(connector) => stream.into_rustls(connector, &host).await,
                        None => Ok(stream),
                    }
                };
                Ok(tokio::time::timeout(TCP_AND_TLS_PATIENCE, stream)
                    .await
                    .map_err(timed_out)??)
            },
            properties,
        );
        let connection = tokio::time::timeout(HANDSHAKE_PATIENCE, connecting).await;
        connection.map_err(|elapsed| lapin::Error::from(timed_out(elapsed)))?
    }

    fn uri(&self, broker: &Broker) -> AMQPUri {
        let heartbeat = self.rabbit.heartbeat_timeout_threshold.as_secs();
        AMQPUri {
            scheme: if self.tls.is_some() {
                AMQPScheme::AMQPS
            } else {
                AMQPScheme::AMQP
            },
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo {
                    username: broker.username.clone(),
                    password: broker.password.clone(),
                },
                host: broker.host.clone(),
                port: broker.port,
            },
            vhost: self.virtual_host.clone(),
            query: AMQPQueryString {
                frame_max: Some(FRAME_BYTES),
                heartbeat: Some(u16::try_from(heartbeat).unwrap_or(u16::MAX)),
                auth_mechanism: Some(match self.rabbit.rabbit_login_method {
                    LoginMethod::Plain => SASLMechanism::Plain,
                    LoginMethod::AmqPlain => SASLMechanism::AMQPlain,
                    LoginMethod::External => SASLMechanism::External,
                    LoginMethod::RabbitCrDemo => SASLMechanism::RabbitCrDemo,
                }),
                ..AMQPQueryString::default()
            },
        }
    }
}

/// In the broker's words where they say what is wrong: lapin adds what only its own developers make sense of.
pub(super) fn reason_of(error: &lapin::Error) -> String {
    match error.kind() {
        lapin::ErrorKind::ProtocolError(error) => format!("{} ({})", error.get_message(), error.get_id()),
        lapin::ErrorKind::IOError(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

/// Whether there is a machine, and no broker on it.
pub(super) fn is_closed_port(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::IOError(error) if error.kind() == std::io::ErrorKind::ConnectionRefused)
}

fn timed_out(_: tokio::time::error::Elapsed) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "the broker did not answer in time")
}
