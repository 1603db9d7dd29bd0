//! Keystone, and the users that the engine has of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::json;

use super::Place;
use crate::lab::Lab;

#[test]
fn refused_logins_are_told_apart() {
    let place = Place::new("logins");
    let lab = Lab::get();
    let wrong_broker = format!(
        "[DEFAULT]\ntransport_url = rabbit://{}:wrong@{}:{}/{}\n",
        lab.broker.user, lab.broker.host, lab.broker.port, place.vhost.name
    );
    let visit = place.visit(
        &format!("{wrong_broker}stack_domain_admin_password = wrong\n[trustee]\npassword = wrong\n"),
        &[],
    );
    let problems = visit.of("problem");
    for wanted in [
        "broker: 127.0.0.1:",
        "ACCESS_REFUSED",
        "identity: [trustee] heat cannot log in: The request you have made requires authentication.",
        "identity: heat_domain_admin cannot log in to the domain of stack users: The request you have made",
    ] {
        assert!(
            problems.iter().any(|problem| problem.contains(wanted)),
            "{wanted} in {problems:?}"
        );
    }
}

#[test]
fn an_administrator_of_stack_users_who_is_none_is_found() {
    let place = Place::new("admin");
    let told = |extra: &str| place.visit(&format!("[DEFAULT]\n{extra}\n"), &[]);
    for (extra, name) in [
        ("stack_domain_admin = nobody", "nobody"),
        (
            "stack_user_domain_name = nowhere\nstack_user_domain_id =",
            "heat_domain_admin",
        ),
        // A user of another domain.
        (
            "stack_domain_admin = heat\nstack_domain_admin_password = heatservice",
            "heat",
        ),
    ] {
        let visit = told(extra);
        let wanted = format!("identity: {name} cannot log in to the domain of stack users: The request you have made");
        assert!(visit.has("problem", &wanted), "{extra}: {}", visit.report);
        assert_eq!(visit.code, Some(1));
    }
}

#[test]
fn a_role_that_nobody_made_is_found() {
    let visit = Place::new("role").visit("[DEFAULT]\nheat_stack_user_role = nobody_made_it\n", &[]);
    assert!(
        visit.has("problem", "identity: there is no role nobody_made_it"),
        "{}",
        visit.report
    );
}

/// A Keystone that names its version and fails at everything else, for as long as the test runs.
fn failing_keystone() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = BufReader::new(connection.expect("a connection"));
            let (mut first, mut length) = (String::new(), 0);
            connection.read_line(&mut first).expect("a request");
            loop {
                let mut line = String::new();
                connection.read_line(&mut line).expect("a header");
                if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().expect("a number");
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            connection.read_exact(&mut vec![0; length]).expect("a body");
            let (status, body) = match first.starts_with("GET /v3 ") || first.starts_with("GET /v3/ ") {
                true => ("200 OK", json!({"version": {"id": "v3.14"}})),
                false => (
                    "500 Internal Server Error",
                    json!({"error": {"code": 500, "message": "a table is full"}}),
                ),
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
            let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            // Whoever asked may have gone.
            let _ = connection.get_mut().write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_keystone_that_fails_is_not_a_wrong_password() {
    let url = failing_keystone();
    let extra = format!("[clients_keystone]\nauth_uri = {url}\n[trustee]\nauth_url = {url}\n");
    let visit = Place::new("keystone500").visit(&extra, &[]);
    assert!(
        visit.has("problem", "identity: [trustee] heat cannot log in: "),
        "{}",
        visit.report
    );
    let report = visit.report.to_string();
    assert!(
        report.contains("Keystone itself fails") && !report.contains("correct username"),
        "{report}"
    );
}
