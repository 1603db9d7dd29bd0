//! `make_url`: a URL from its parts, each of them escaped.

use serde_json::{Map, Value};

use super::strings::not_an_integer;
use crate::python::number::{PyNumber, parse_int};
use crate::python::repr;
use crate::python::repr::to_text;
use crate::python::url::{quote, quote_plus, unsplit};
use crate::python::value::{class_name, is_true};
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Call, Expression, Resolver};

const PARTS: [&str; 8] = [
    "scheme", "username", "password", "host", "port", "path", "query", "fragment",
];

/// Checks the parts in their order, and stops at the query as Heat does.
fn check<'a, T: 'a>(
    name: &str,
    part: impl Fn(&str) -> Option<&'a T>,
    is_call: impl Fn(&T) -> bool,
    render: impl Fn(&T) -> Value,
    all: impl Fn() -> Value,
) -> Result<(), Fault> {
    for key in PARTS {
        let Some(value) = part(key) else { continue };
        if is_call(value) {
            if key == "query" {
                return Ok(());
            }
            continue;
        }
        let value = render(value);
        match key {
            "query" if value.is_object() => return Ok(()),
            "query" => {
                return Err(Fault::TypeError(format!(
                    "The \"{key}\" argument to \"{name}\" must be a map"
                )));
            }
            "port" => check_port(name, &value, &all)?,
            _ if value.is_string() => {}
            _ => {
                return Err(Fault::TypeError(format!(
                    "The \"{key}\" argument to \"{name}\" must be a string"
                )));
            }
        }
    }
    Ok(())
}

fn check_port(name: &str, value: &Value, all: impl Fn() -> Value) -> Result<(), Fault> {
    let port = match value {
        Value::String(text) => parse_int(text).ok_or_else(|| {
            Fault::ValueError(format!(
                "Invalid URL port \"{text}\" for {name} called with {}",
                repr(&all())
            ))
        })?,
        other => match PyNumber::of(other) {
            Some(PyNumber::Int(port)) => port,
            Some(PyNumber::Float(port)) => PyNumber::Float(port.trunc())
                .as_exact_integer()
                .ok_or_else(|| not_an_integer(other))?,
            None => return Err(not_an_integer(other)),
        },
    };
    if port <= 0.into() || port > 65535.into() {
        return Err(Fault::ValueError(format!(
            "Invalid URL port {port}, must be in range 1-65535"
        )));
    }
    Ok(())
}

pub(super) fn validate(call: &Call) -> Result<(), Fault> {
    let name = call.name.as_str();
    let Some(entries) = call.arguments.as_map() else {
        return Err(Fault::TypeError(format!("The arguments to \"{name}\" must be a map")));
    };
    let unknown: Vec<&str> = entries
        .keys()
        .map(String::as_str)
        .filter(|key| !PARTS.contains(key))
        .collect();
    if !unknown.is_empty() {
        return Err(Fault::ValueError(format!(
            "Invalid arguments to \"{name}\": {}",
            unknown.join(", ")
        )));
    }
    check(
        name,
        |key| entries.get(key),
        Expression::is_call,
        Expression::render,
        || call.arguments.render(),
    )
}

pub(super) fn resolve(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let parts = match resolver.resolve(arguments)? {
        Value::Object(parts) => parts,
        other => return Err(no_parts(&other).into()),
    };
    check(
        name,
        |key| parts.get(key),
        |_| false,
        Value::clone,
        || Value::Object(parts.clone()),
    )?;
    let text = |key: &str| parts.get(key).map(to_text).unwrap_or_default();
    if parts.get("fragment").is_some_and(|fragment| !fragment.is_string()) {
        return Err(Fault::TypeError("quote_from_bytes() expected bytes".to_owned()).into());
    }
    let scheme = text("scheme");
    if scheme.contains(':') {
        return Err(Fault::ValueError("URL \"scheme\" should not contain ':'".to_owned()).into());
    }
    let query = query_text(parts.get("query"));
    let url = unsplit(
        &scheme,
        &host_text(&parts, &text),
        &quote(&text("path"), "/"),
        &query.replace("%2F", "/"),
        &quote(&text("fragment"), "/"),
    );
    Ok(Value::String(url))
}

/// What Python says where it looks for parts in something else.
fn no_parts(value: &Value) -> Fault {
    let class = class_name(value);
    let is_there = match value {
        Value::String(text) => PARTS.iter().any(|part| text.contains(part)),
        Value::Array(items) => PARTS.iter().any(|part| items.iter().any(|item| item == part)),
        _ => return Fault::TypeError(format!("argument of type '{class}' is not iterable")),
    };
    match (is_there, value) {
        (false, _) => Fault::AttributeError(format!("'{class}' object has no attribute 'get'")),
        (true, Value::String(_)) => Fault::TypeError("string indices must be integers, not 'str'".to_owned()),
        (true, _) => Fault::TypeError("list indices must be integers or slices, not str".to_owned()),
    }
}

fn host_text(parts: &Map<String, Value>, text: &impl Fn(&str) -> String) -> String {
    let mut host_text = String::new();
    let (username, password) = (quote(&text("username"), ""), quote(&text("password"), ""));
    if !username.is_empty() || !password.is_empty() {
        host_text.push_str(&username);
        if !password.is_empty() {
            host_text.push(':');
            host_text.push_str(&password);
        }
        host_text.push('@');
    }
    let host = text("host");
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(&host);
    let host = quote(bare, ":");
    if host.contains(':') {
        host_text.push_str(&format!("[{host}]"));
    } else {
        host_text.push_str(&host);
    }
    if let Some(port) = parts.get("port").filter(|port| is_true(port)) {
        host_text.push(':');
        host_text.push_str(&to_text(port));
    }
    host_text
}

fn query_text(query: Option<&Value>) -> String {
    let entries = query.and_then(Value::as_object);
    let pairs: Vec<String> = entries
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{}={}", quote_plus(key), quote_plus(&to_text(value))))
        .collect();
    pairs.join("&")
}
