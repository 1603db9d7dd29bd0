//! `kombu_compression`: bodies that are compressed, which a header tells.
//!
//! kombu's `gzip` is a zlib stream. What comes in is read whatever we are set to; what goes out is compressed as the
//! option says, so that a frame tells nothing of its sender.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression as Level;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};

use super::error::SetupError;

const HEADER: &str = "compression";
const GZIP: &str = "application/x-gzip";

/// How bodies that we send are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
}

impl Compression {
    pub(super) fn named(name: Option<&str>) -> Result<Self, SetupError> {
        match name {
            None | Some("") => Ok(Self::None),
            Some("gzip" | "zlib" | GZIP | "application/zlib" | "application/gzip") => Ok(Self::Gzip),
            Some(other) => Err(SetupError::option(
                "kombu_compression",
                format!("'{other}' is not supported; use gzip, or none, in all services that talk to Heat"),
            )),
        }
    }

    pub(super) fn apply(self, body: Bytes, properties: BasicProperties) -> (Bytes, BasicProperties) {
        let compressed = match self {
            Self::None => None,
            // It writes into memory, which does not fail; if it did, the body could go as it is.
            Self::Gzip => deflate(&body).ok(),
        };
        let Some(compressed) = compressed else {
            return (body, properties);
        };
        let mut headers = properties.headers().clone().unwrap_or_default();
        headers.insert(HEADER.into(), AMQPValue::LongString(GZIP.into()));
        (compressed.into(), properties.with_headers(headers))
    }
}

fn deflate(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Level::default());
    encoder.write_all(body)?;
    encoder.finish()
}

/// How the header says that a body is compressed.
pub(super) fn header(properties: &BasicProperties) -> Option<String> {
    let headers: &FieldTable = properties.headers().as_ref()?;
    match headers.inner().get(HEADER)? {
        AMQPValue::LongString(name) => Some(name.to_string()),
        AMQPValue::ShortString(name) => Some(name.to_string()),
        AMQPValue::Void => None,
        other => Some(format!("{other:?}")),
    }
}

/// Why a compressed body cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undecodable {
    #[error("it is compressed as {0}, which is not supported")]
    Unknown(String),
    #[error("it is not what its compression says")]
    Corrupt(#[source] std::io::Error),
    #[error("it is more than {limit} bytes when it is decompressed")]
    TooLarge { limit: usize },
}

/// Decompresses a body, up to a limit: a small body may be made to grow without bounds.
pub(super) fn undo(name: &str, body: &[u8], limit: usize) -> Result<Vec<u8>, Undecodable> {
    if name != GZIP {
        return Err(Undecodable::Unknown(name.to_owned()));
    }
    let mut text = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    ZlibDecoder::new(body)
        .take(most.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(Undecodable::Corrupt)?;
    if text.len() > limit {
        return Err(Undecodable::TooLarge { limit });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_can_be_read() {
        let body = Bytes::from(vec![b'x'; 100_000]);
        let (compressed, properties) = Compression::Gzip.apply(body.clone(), BasicProperties::default());
        assert!(compressed.len() < 1000);
        let name = header(&properties).unwrap();
        assert_eq!(undo(&name, &compressed, 100_000).unwrap(), body);
        assert!(matches!(
            undo(&name, &compressed, 99_999),
            Err(Undecodable::TooLarge { .. })
        ));
        assert!(matches!(undo(&name, &body, 100_000), Err(Undecodable::Corrupt(_))));
        assert!(matches!(
            undo("application/x-bz2", &compressed, 100_000),
            Err(Undecodable::Unknown(_))
        ));
    }
}
