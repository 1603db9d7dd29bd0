//! As much of the protocols as it takes to tell one request from the next.

use std::collections::HashMap;
use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    MySql,
    Amqp,
}

/// Reads a stream unit by unit: packets of a database, frames of a broker.
pub(super) struct Units {
    protocol: Protocol,
    /// What a client says before its first frame.
    greeting: usize,
}

impl Units {
    pub fn of_client(protocol: Protocol) -> Self {
        let greeting = if protocol == Protocol::Amqp { 8 } else { 0 };
        Self { protocol, greeting }
    }

    pub fn of_server(protocol: Protocol) -> Self {
        Self { protocol, greeting: 0 }
    }

    pub async fn next(&mut self, from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
        if self.greeting > 0 {
            let mut greeting = vec![0; std::mem::take(&mut self.greeting)];
            from.read_exact(&mut greeting).await?;
            return Ok(greeting);
        }
        match self.protocol {
            Protocol::MySql => {
                let head = read(from, 4).await?;
                let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
                with_body(from, head, length as usize).await
            }
            Protocol::Amqp => {
                let head = read(from, 7).await?;
                let length = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
                with_body(from, head, length as usize + 1).await
            }
        }
    }
}

/// Whether a broker's frame says that a subscription is over: method 30 of class 60.
pub(super) fn is_cancellation(frame: &[u8]) -> bool {
    frame.first() == Some(&1) && frame.get(7..11) == Some(&[0, 60, 0, 30])
}

async fn read(from: &mut OwnedReadHalf, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn with_body(from: &mut OwnedReadHalf, mut head: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    let start = head.len();
    head.resize(start + length, 0);
    from.read_exact(&mut head[start..]).await?;
    Ok(head)
}

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// What was said on a connection, as far as later words refer to it.
#[derive(Default)]
pub(super) struct Conversation {
    /// The statement that is being prepared.
    preparing: Option<String>,
    prepared: HashMap<u32, String>,
}

impl Conversation {
    /// What a unit of the client asks for, if it is a step.
    pub fn step(&mut self, protocol: Protocol, unit: &[u8]) -> Option<String> {
        match protocol {
            Protocol::Amqp => published(unit),
            Protocol::MySql => self.statement(unit),
        }
    }

    fn statement(&mut self, packet: &[u8]) -> Option<String> {
        // A command begins a new exchange; whatever has a higher number belongs to one.
        let (0, Some((command, rest))) = (packet[3], packet[4..].split_first()) else {
            return None;
        };
        match *command {
            QUERY => Some(String::from_utf8_lossy(rest).into_owned()),
            PREPARE => {
                self.preparing = Some(String::from_utf8_lossy(rest).into_owned());
                None
            }
            EXECUTE => {
                let id = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?);
                Some(self.prepared.get(&id).cloned().unwrap_or_default())
            }
            _ => None,
        }
    }

    /// Learns the numbers of prepared statements.
    pub fn heard(&mut self, protocol: Protocol, unit: &[u8]) {
        if protocol != Protocol::MySql || unit.get(4) != Some(&0) {
            return;
        }
        if let (Some(statement), Some(id)) = (self.preparing.take(), unit.get(5..9)) {
            let id = u32::from_le_bytes(id.try_into().expect("four bytes"));
            self.prepared.insert(id, statement);
        }
    }
}

/// Exchange and routing key of a `basic.publish`.
fn published(frame: &[u8]) -> Option<String> {
    const METHOD_FRAME: u8 = 1;
    const BASIC_PUBLISH: [u8; 4] = [0, 60, 0, 40];
    if frame.first() != Some(&METHOD_FRAME) || frame.get(7..11) != Some(&BASIC_PUBLISH) {
        return None;
    }
    let (exchange, rest) = short_text(frame.get(13..)?)?;
    let (routing_key, _) = short_text(rest)?;
    Some(format!("publish to {exchange:?}: {routing_key}"))
}

fn short_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let text = rest.get(..usize::from(*length))?;
    Some((String::from_utf8_lossy(text).into_owned(), &rest[text.len()..]))
}

/// The answer of a database that refuses a command, or (`number` 0) a connection.
pub(super) fn refusal(number: u8, code: u16) -> Vec<u8> {
    let state = match code {
        1213 => "40001",
        1040 => "08004",
        _ => "HY000",
    };
    let mut body = vec![0xff];
    body.extend(code.to_le_bytes());
    // Before the greeting there is no state.
    let state = if number == 0 {
        String::new()
    } else {
        format!("#{state}")
    };
    body.extend(format!("{state}refused by the test").into_bytes());
    let mut packet = (body.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(number);
    packet.extend(body);
    packet
}

/// `connection.blocked`, with a reason, or `connection.unblocked`.
pub(super) fn blocked(blocked: bool) -> Vec<u8> {
    let reason = b"low on memory";
    let mut method = vec![0, 10, 0, if blocked { 60 } else { 61 }];
    if blocked {
        method.push(reason.len() as u8);
        method.extend(reason);
    }
    let mut frame = vec![1, 0, 0];
    frame.extend((method.len() as u32).to_be_bytes());
    frame.extend(method);
    frame.push(0xce);
    frame
}
