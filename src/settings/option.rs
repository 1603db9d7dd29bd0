//! What an option is: a row of a table, so that a group of heat.conf can be read on one screen.
//!
//! The tables are the single source for defaults, former names and limits; the typed structs beside them only give
//! the values a type. The reference in `docs/compatibility-options.md` is written from the same tables.

/// One option of heat.conf.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The key in the file (oslo.config's `dest`: underscores, never hyphens).
    pub name: &'static str,
    pub kind: Kind,
    pub default: DefaultValue,
    /// Never shown, neither in logs nor by `--check-config`.
    pub secret: bool,
    /// Older places of the same option, looked at when the present one is not in a file.
    pub formerly: &'static [FormerName],
    pub treatment: Treatment,
}

/// A group of heat.conf and the tables that make it up.
#[derive(Clone, Copy, Debug)]
pub struct GroupSpec {
    pub name: &'static str,
    pub tables: &'static [&'static [OptionSpec]],
}

impl GroupSpec {
    pub fn options(&self) -> impl Iterator<Item = &'static OptionSpec> {
        self.tables.iter().flat_map(|table| table.iter())
    }

    pub fn option(&self, name: &str) -> Option<&'static OptionSpec> {
        self.options().find(|option| option.name == name)
    }
}

/// What values an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Text,
    Choice {
        values: &'static [&'static str],
        ignore_case: bool,
    },
    /// `MAJOR.<digits>`.
    Microversion {
        major: &'static str,
    },
    /// `host:port` to listen on, or nothing.
    ListenAddress,
    /// An absolute http or https URL.
    HttpUrl,
    Boolean,
    Integer {
        min: Option<i64>,
        max: Option<i64>,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
    },
    /// Comma-separated.
    List,
    HttpUrlList,
    /// The key may be repeated, every occurrence counts.
    Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    Unset,
    /// As an operator would write it.
    Text(&'static str),
    /// Every occurrence of a repeated key.
    Texts(&'static [&'static str]),
    /// The name of this machine.
    Hostname,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerName {
    /// `None`: the group the option is in now.
    pub group: Option<&'static str>,
    pub name: &'static str,
}

/// What the engine does with the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    Honoured,
    /// It is for resource types or methods that a Python engine still serves; there it is honoured.
    HandedOver,
    /// Read and checked, but something else happens: what, in a sentence for the operator.
    Instead(&'static str),
}

impl OptionSpec {
    const fn new(name: &'static str, kind: Kind, default: DefaultValue) -> Self {
        OptionSpec {
            name,
            kind,
            default,
            secret: false,
            formerly: &[],
            treatment: Treatment::Honoured,
        }
    }

    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub const fn formerly(mut self, names: &'static [FormerName]) -> Self {
        self.formerly = names;
        self
    }

    pub const fn min(mut self, least: i64) -> Self {
        self.kind = match self.kind {
            Kind::Integer { max, .. } => Kind::Integer { min: Some(least), max },
            Kind::Number { max, .. } => Kind::Number {
                min: Some(least as f64),
                max,
            },
            other => other,
        };
        self
    }

    pub const fn max(mut self, most: i64) -> Self {
        self.kind = match self.kind {
            Kind::Integer { min, .. } => Kind::Integer { min, max: Some(most) },
            Kind::Number { min, .. } => Kind::Number {
                min,
                max: Some(most as f64),
            },
            other => other,
        };
        self
    }

    pub const fn between(mut self, least: f64, most: f64) -> Self {
        self.kind = Kind::Number {
            min: Some(least),
            max: Some(most),
        };
        self
    }

    pub const fn handed_over(mut self) -> Self {
        self.treatment = Treatment::HandedOver;
        self
    }

    pub const fn instead(mut self, what_happens: &'static str) -> Self {
        self.treatment = Treatment::Instead(what_happens);
        self
    }
}

/// An older name in the same group.
pub const fn was(name: &'static str) -> FormerName {
    FormerName { group: None, name }
}

/// An older name in another group.
pub const fn was_in(group: &'static str, name: &'static str) -> FormerName {
    FormerName {
        group: Some(group),
        name,
    }
}

pub const fn text(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Text, DefaultValue::Text(default))
}

pub const fn text_unset(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Text, DefaultValue::Unset)
}

pub const fn hostname(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Text, DefaultValue::Hostname)
}

pub const fn choice(name: &'static str, default: &'static str, values: &'static [&'static str]) -> OptionSpec {
    OptionSpec::new(
        name,
        Kind::Choice {
            values,
            ignore_case: false,
        },
        DefaultValue::Text(default),
    )
}

pub const fn choice_unset(name: &'static str, values: &'static [&'static str]) -> OptionSpec {
    OptionSpec::new(
        name,
        Kind::Choice {
            values,
            ignore_case: false,
        },
        DefaultValue::Unset,
    )
}

pub const fn choice_any_case(name: &'static str, default: &'static str, values: &'static [&'static str]) -> OptionSpec {
    OptionSpec::new(
        name,
        Kind::Choice {
            values,
            ignore_case: true,
        },
        DefaultValue::Text(default),
    )
}

pub const fn microversion(name: &'static str, major: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Microversion { major }, DefaultValue::Unset)
}

/// `host:port`; nothing by default.
pub const fn listen_address(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::ListenAddress, DefaultValue::Text(""))
}

pub const fn http_url(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::HttpUrl, DefaultValue::Unset)
}

pub const fn boolean(name: &'static str, default: bool) -> OptionSpec {
    OptionSpec::new(
        name,
        Kind::Boolean,
        DefaultValue::Text(if default { "true" } else { "false" }),
    )
}

pub const fn boolean_unset(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Boolean, DefaultValue::Unset)
}

pub const fn integer(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec::new(
        name,
        Kind::Integer { min: None, max: None },
        DefaultValue::Text(default),
    )
}

pub const fn integer_unset(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Integer { min: None, max: None }, DefaultValue::Unset)
}

pub const fn number(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::Number { min: None, max: None }, DefaultValue::Text(default))
}

pub const fn list(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::List, DefaultValue::Text(default))
}

pub const fn list_unset(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::List, DefaultValue::Unset)
}

pub const fn http_url_list(name: &'static str) -> OptionSpec {
    OptionSpec::new(name, Kind::HttpUrlList, DefaultValue::Text(""))
}

pub const fn repeated(name: &'static str, default: &'static [&'static str]) -> OptionSpec {
    OptionSpec::new(name, Kind::Repeated, DefaultValue::Texts(default))
}
