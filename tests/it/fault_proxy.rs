//! A door to a real service that can be made to stick: it counts what passes, and answers in the service's place where
//! a test says so.
//!
//! The service's own address is replaced by the door's in everything that comes back, so that a catalogue leads here too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One request, as it was sent.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub head: String,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// `POST /v3/users`, without the query.
    pub fn call(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        format!("{} {path}", self.method)
    }
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fate {
    /// The service gets it.
    Pass,
    /// The service does not get it; this status is the answer.
    Refuse(u16, &'static str),
    /// The same, with this text for an explanation.
    Say(u16, String),
    /// The service does not get it; this, which is JSON, is the answer.
    Answer(u16, String),
    /// The service gets it, but its answer is lost.
    LoseAnswer,
    /// Neither request nor answer arrives.
    Lose,
}

type Rule = Box<dyn FnMut(&Seen) -> Fate + Send>;

pub struct FaultProxy {
    pub url: String,
    state: Arc<State>,
}

struct State {
    url: String,
    upstream: String,
    seen: Mutex<Vec<Seen>>,
    rule: Mutex<Rule>,
}

impl FaultProxy {
    /// In front of `upstream`, an `http://host:port`.
    pub async fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            url: url.clone(),
            upstream: upstream.trim_end_matches('/').to_owned(),
            seen: Mutex::default(),
            rule: Mutex::new(Box::new(|_| Fate::Pass)),
        });
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = serving.clone();
                tokio::spawn(async move { state.serve(client).await });
            }
        });
        Self { url, state }
    }

    /// Decides about all requests from now on.
    pub fn rule(&self, rule: impl FnMut(&Seen) -> Fate + Send + 'static) {
        *self.state.rule.lock().expect("not poisoned") = Box::new(rule);
    }

    /// The next requests of this call (`POST /v3/users`) meet these fates; all others pass.
    pub fn next(&self, call: &str, fates: impl IntoIterator<Item = Fate>) {
        let call = call.to_owned();
        let mut fates = fates.into_iter().collect::<Vec<_>>().into_iter();
        self.rule(move |seen| {
            if seen.call() == call {
                fates.next().unwrap_or(Fate::Pass)
            } else {
                Fate::Pass
            }
        });
    }

    /// The request of that number, counted from zero and from now on, meets `fate`; all others pass. The answer tells
    /// whether there was such a request.
    pub fn break_request(&self, number: usize, fate: Fate) -> impl Fn() -> bool {
        let seen_requests = Arc::new(AtomicUsize::new(0));
        let counter = seen_requests.clone();
        self.rule(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
            current if current == number => fate.clone(),
            _ => Fate::Pass,
        });
        move || seen_requests.load(Ordering::SeqCst) > number
    }

    /// Forgets and gives what has passed so far.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.seen.lock().expect("not poisoned"))
    }

    pub fn take_calls(&self) -> Vec<String> {
        self.take_seen().iter().map(Seen::call).collect()
    }
}

impl State {
    async fn serve(&self, mut client: TcpStream) {
        let Some(request) = read_message(&mut client).await else {
            return;
        };
        let seen = seen_of(&request);
        let fate = (self.rule.lock().expect("not poisoned"))(&seen);
        self.seen.lock().expect("not poisoned").push(seen);
        let answered = match fate {
            Fate::Refuse(status, headers) => refusal(status, headers, "Refused by the test."),
            Fate::Say(status, text) => refusal(status, "", &text),
            Fate::Answer(status, body) => answer(status, "", &body),
            Fate::Lose => return,
            Fate::Pass => self.forward(&request).await,
            Fate::LoseAnswer => {
                self.forward(&request).await;
                return;
            }
        };
        let _ = client.write_all(&answered).await;
        let _ = client.shutdown().await;
    }

    async fn forward(&self, request: &Message) -> Vec<u8> {
        let address = self.upstream.trim_start_matches("http://");
        let mut server = TcpStream::connect(address).await.expect("the service answers");
        let mut head: String = request
            .head
            .lines()
            .filter(|line| !is_hop_by_hop(line))
            .collect::<Vec<_>>()
            .join("\r\n");
        head.push_str("\r\nConnection: close\r\n\r\n");
        server.write_all(head.as_bytes()).await.expect("the service listens");
        server.write_all(&request.body).await.expect("the service listens");
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).await.expect("the service answers");
        self.readdress(&answer)
    }

    fn readdress(&self, answer: &[u8]) -> Vec<u8> {
        let split = find(answer, b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8_lossy(&answer[..split]);
        let body = String::from_utf8_lossy(&answer[split + 4..]).replace(&self.upstream, &self.url);
        let kept: Vec<&str> = head
            .lines()
            .filter(|line| !is_hop_by_hop(line) && !line.to_lowercase().starts_with("content-length:"))
            .collect();
        let head = kept.join("\r\n");
        format!(
            "{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

struct Message {
    head: String,
    body: Vec<u8>,
}

async fn read_message(stream: &mut TcpStream) -> Option<Message> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        if let Some(split) = find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
                .unwrap_or(0);
            if bytes.len() >= split + 4 + length {
                let body = bytes[split + 4..split + 4 + length].to_vec();
                return Some(Message { head, body });
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

fn seen_of(request: &Message) -> Seen {
    let mut first = request.head.lines().next().unwrap_or_default().split(' ');
    Seen {
        method: first.next().unwrap_or_default().to_owned(),
        path: first.next().unwrap_or_default().to_owned(),
        head: request.head.clone(),
        body: String::from_utf8_lossy(&request.body).into_owned(),
    }
}

fn refusal(status: u16, headers: &str, text: &str) -> Vec<u8> {
    answer(
        status,
        headers,
        &format!("{{\"error\": {{\"code\": {status}, \"message\": \"{text}\"}}}}"),
    )
}

fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} As the test says\r\nContent-Type: application/json\r\nx-openstack-request-id: req-refused\r\n\
         {headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn is_hop_by_hop(line: &str) -> bool {
    let line = line.to_lowercase();
    line.starts_with("connection:") || line.starts_with("keep-alive:")
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
