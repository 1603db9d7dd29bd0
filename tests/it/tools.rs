//! Tools for people: what cannot be done is said at once, and nothing is done but what was asked.

use crate::daemon::{program, text};
use crate::doctor::Place;

impl Place {
    /// With which code a tool ends, and what it says.
    fn run(&self, extra: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let path = self.configuration(extra).display().to_string();
        let mut line = arguments.to_vec();
        line.extend(["--config-file", &path]);
        let output = program(&line);
        (output.status.code(), text(&output.stderr))
    }
}

#[test]
fn a_database_that_is_away_is_told_at_once() {
    // An engine with these settings waits for ever.
    let away = "[database]\nconnection = mysql+pymysql://u:hunter2@127.0.0.1:1/heat\nmax_retries = -1\n";
    let place = Place::new("tools");
    for (arguments, wanted_code) in [
        (&["inspect", "web"][..], 1),
        (&["--once", "web/db", "--dry-run"], 2),
        (&["--once", "web/db"], 2),
    ] {
        let (code, said) = place.run(away, arguments);
        assert_eq!(code, Some(wanted_code), "{arguments:?}: {said}");
        assert!(
            said.contains("the database at 127.0.0.1:1 cannot be used: ") && said.contains("Connection refused"),
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_broker_that_is_away_is_told_at_once() {
    let away = "[DEFAULT]\ntransport_url = rabbit://u:hunter2@127.0.0.1:1/\n";
    let place = Place::new("tools");
    let (code, said) = place.run(away, &["--once", "web/db"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("no broker can be used: 127.0.0.1:1: Connection refused"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn who_asks_for_two_things_gets_neither() {
    for (arguments, wanted) in [
        (
            &["--once", "web/db", "--check-config"][..],
            "--once cannot be used with --check-config",
        ),
        (
            &["--once", "web/db", "inspect", "web"],
            "--once cannot be used with inspect",
        ),
        (
            &["--check-config", "doctor"],
            "--check-config cannot be used with doctor",
        ),
    ] {
        let output = program(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}
