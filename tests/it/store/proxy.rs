//! A database connection that breaks when the test says so.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::lab::{Lab, TestDatabase};

/// What loses its answer: the server does the work, and the connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    Commit,
    Statement,
}

pub struct Proxy {
    port: u16,
    plan: Arc<Mutex<Option<Lost>>>,
}

impl Proxy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let plan: Arc<Mutex<Option<Lost>>> = Arc::default();
        let plans = plan.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, plans.clone()));
            }
        });
        Self { port, plan }
    }

    pub fn url(&self, database: &TestDatabase) -> String {
        let server = &Lab::get().database;
        format!(
            "mysql+pymysql://{}:{}@127.0.0.1:{}/{}",
            server.user, server.password, self.port, database.name
        )
    }

    /// The next request of that kind loses its answer.
    pub fn lose_answer(&self, lost: Lost) {
        *self.plan.lock().expect("no panic") = Some(lost);
    }

    pub fn has_struck(&self) -> bool {
        self.plan.lock().expect("no panic").is_none()
    }
}

async fn pass_on(client: TcpStream, plan: Arc<Mutex<Option<Lost>>>) {
    let server = &Lab::get().database;
    let Ok(server) = TcpStream::connect((server.host.as_str(), server.port)).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let muted = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(Notify::new());
    let (mute, answer) = (muted.clone(), answered.clone());
    let answers = tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
            if mute.load(Ordering::SeqCst) {
                answer.notify_one();
                return;
            }
            if to_client.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    });
    while let Ok(packet) = read_packet(&mut from_client).await {
        let lost = {
            let mut plan = plan.lock().expect("no panic");
            if plan.is_some_and(|lost| matches_packet(lost, &packet)) {
                plan.take()
            } else {
                None
            }
        };
        muted.store(lost.is_some(), Ordering::SeqCst);
        if to_server.write_all(&packet).await.is_err() {
            break;
        }
        if lost.is_some() {
            answered.notified().await;
            break;
        }
    }
    answers.abort();
}

async fn read_packet(from: &mut tokio::net::tcp::OwnedReadHalf) -> std::io::Result<Vec<u8>> {
    let mut header = [0; 4];
    from.read_exact(&mut header).await?;
    let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    let mut packet = header.to_vec();
    packet.resize(4 + length, 0);
    from.read_exact(&mut packet[4..]).await?;
    Ok(packet)
}

fn matches_packet(lost: Lost, packet: &[u8]) -> bool {
    match lost {
        Lost::Commit => packet.get(4) == Some(&0x03) && packet[5..].starts_with(b"COMMIT"),
        Lost::Statement => packet.get(4) == Some(&0x17),
    }
}
