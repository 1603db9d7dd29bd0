//! How far a type, property or attribute is supported, and since which release.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Supported,
    Deprecated,
    Unsupported,
    /// Still accepted, no longer shown to anybody.
    Hidden,
    Unknown,
}

impl Support {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "SUPPORTED",
            Self::Deprecated => "DEPRECATED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Hidden => "HIDDEN",
            Self::Unknown => "UNKNOWN",
        }
    }

    /// All of them, in the order in which users are told of them.
    pub const ALL: [Self; 5] = [
        Self::Unknown,
        Self::Supported,
        Self::Deprecated,
        Self::Unsupported,
        Self::Hidden,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportStatus {
    pub status: Support,
    pub version: Option<&'static str>,
    pub message: Option<&'static str>,
    /// What it was before it got this status.
    pub previous: Option<&'static SupportStatus>,
}

impl SupportStatus {
    const fn of(status: Support, version: Option<&'static str>) -> Self {
        Self {
            status,
            version,
            message: None,
            previous: None,
        }
    }

    /// Supported for as long as anybody can remember.
    pub const fn always() -> Self {
        Self::of(Support::Supported, None)
    }

    pub const fn since(version: &'static str) -> Self {
        Self::of(Support::Supported, Some(version))
    }

    pub const fn deprecated(version: &'static str) -> Self {
        Self::of(Support::Deprecated, Some(version))
    }

    pub const fn unsupported(version: &'static str) -> Self {
        Self::of(Support::Unsupported, Some(version))
    }

    pub const fn hidden(version: &'static str) -> Self {
        Self::of(Support::Hidden, Some(version))
    }

    pub const fn message(mut self, message: &'static str) -> Self {
        self.message = Some(message);
        self
    }

    pub const fn previously(mut self, previous: &'static SupportStatus) -> Self {
        self.previous = Some(previous);
        self
    }

    pub const fn is_hidden(&self) -> bool {
        matches!(self.status, Support::Hidden)
    }

    /// As the API shows it.
    pub fn to_api(&self) -> Value {
        let mut shown = Map::new();
        shown.insert("status".into(), self.status.as_str().into());
        shown.insert("message".into(), self.message.into());
        shown.insert("version".into(), self.version.into());
        shown.insert(
            "previous_status".into(),
            self.previous.map_or(Value::Null, SupportStatus::to_api),
        );
        Value::Object(shown)
    }
}
