//! Quoting of URLs as `urllib.parse` does it.

use std::fmt::Write;

/// `urllib.parse.quote(text, safe)`.
pub fn quote(text: &str, safe: &str) -> String {
    let mut quoted = String::new();
    for byte in text.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || "_.-~".contains(character) || safe.contains(character) {
            quoted.push(character);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(quoted, "%{byte:02X}");
        }
    }
    quoted
}

/// `urllib.parse.quote_plus(text)`.
pub fn quote_plus(text: &str) -> String {
    quote(text, " ").replace(' ', "+")
}

/// Schemes whose URLs have a place for a host even when it is empty.
const SCHEMES_WITH_HOST: &[&str] = &[
    "", "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp", "snews",
    "prospero", "rtsp", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss",
];

/// `urllib.parse.urlunsplit`.
pub fn unsplit(scheme: &str, host: &str, path: &str, query: &str, fragment: &str) -> String {
    let mut url = path.to_owned();
    let takes_host = !scheme.is_empty() && SCHEMES_WITH_HOST.contains(&scheme) && !url.starts_with("//");
    if !host.is_empty() || takes_host {
        if !url.is_empty() && !url.starts_with('/') {
            url.insert(0, '/');
        }
        url = format!("//{host}{url}");
    }
    if !scheme.is_empty() {
        url = format!("{scheme}:{url}");
    }
    if !query.is_empty() {
        url = format!("{url}?{query}");
    }
    if !fragment.is_empty() {
        url = format!("{url}#{fragment}");
    }
    url
}
