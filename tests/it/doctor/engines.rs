//! Engines that live or do not, and what they hold.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{Place, Visit};
use crate::lab::Lab;
use crate::rpc::Deployment;

#[test]
fn stacks_asleep_are_found() {
    let place = Place::new("asleep");
    place.database.sql(
        "INSERT INTO raw_template (id, template) VALUES (1, '{}'); \
         INSERT INTO stack (id, name, raw_template_id, action, status, tenant, convergence, disable_rollback, created_at) VALUES \
         ('id-1', 'held', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()), \
         ('id-2', 'late', 1, 'UPDATE', 'IN_PROGRESS', 'p', 1, 1, '2026-01-01'), \
         ('id-3', 'done', 1, 'CREATE', 'COMPLETE', 'p', 1, 1, '2026-01-01'), \
         ('id-4', 'new', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()); \
         INSERT INTO resource (id, uuid, stack_id, name, root_stack_id, engine_id, current_template_id, created_at) \
         VALUES (1, UUID(), 'id-1', 'r', 'id-1', 'gone', 1, UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    for wanted in [
        "stacks: held by engines that are gone: held (id-1, CREATE, project p)",
        "stacks: in progress beyond their time: late (id-2, UPDATE, project p)",
    ] {
        assert!(
            visit.of("problem").contains(&wanted.to_owned()),
            "{wanted} in {}",
            visit.report
        );
    }
    assert!(
        visit.has(
            "fine",
            "stacks: 3 in progress, 0 of them being worked on; nobody holds anything of these, of which something was heard \
             within 5 minutes: new (id-4, CREATE, project p)"
        ),
        "{}",
        visit.report
    );
}

#[test]
fn engines_that_are_silent_or_cut_off_are_found() {
    let place = Place::new("engines");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'dead', 'h', 'h', 'heat-engine', 'engine', 60, '2026-01-01', '2026-01-01'), \
         ('2', 'cut-off', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    assert!(
        visit.has("warning", "engines: engine dead on h has been silent for"),
        "{}",
        visit.report
    );
    assert!(visit.has(
        "problem",
        "engines: engine cut-off on h reports in the service table and does not answer"
    ));
}

/// Answers in the place of an engine of ours of another version.
struct Impostor(Child);

impl Impostor {
    fn start(place: &Place, engine_id: &str) -> Self {
        const CODE: &str = r"
import sys
from oslo_config import cfg
import oslo_messaging
cfg.CONF(['--config-file', sys.argv[1]], project='heat')
oslo_messaging.set_transport_defaults('heat')
class Listener:
    target = oslo_messaging.Target(version='1.0')
    def listening(self, ctxt):
        return {'heat_engine_rs': '0.0.0-older'}
target = oslo_messaging.Target(topic='heat-engine-listener', server=sys.argv[2])
server = oslo_messaging.get_rpc_server(
    oslo_messaging.get_rpc_transport(cfg.CONF), target, [Listener()], executor='threading')
server.start()
print('listens', flush=True)
sys.stdin.read()
";
        let lab = Lab::get();
        let mut child = Command::new(&lab.python)
            .args(["-W", "ignore", "-c", CODE])
            .arg(lab.write_heat_conf(&place.database, &place.vhost, ""))
            .arg(engine_id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let said = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert_eq!(line, "listens\n");
        Impostor(child)
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    /// A stack in progress, of which an engine holds a resource.
    fn put_stack_held_by(&self, engine_id: &str) {
        self.database.sql(&format!(
            "INSERT INTO raw_template (id, template) VALUES (1, '{{}}'); \
             INSERT INTO stack (id, name, raw_template_id, action, status, tenant, convergence, disable_rollback, created_at) \
             VALUES ('id-1', 'held', 1, 'CREATE', 'IN_PROGRESS', 'p', 1, 1, UTC_TIMESTAMP()); \
             INSERT INTO resource (id, uuid, stack_id, name, root_stack_id, engine_id, current_template_id, created_at) \
             VALUES (1, UUID(), 'id-1', 'r', 'id-1', '{engine_id}', 1, UTC_TIMESTAMP())"
        ));
    }
}

#[test]
fn a_holder_without_a_row_in_the_service_table_is_asked() {
    let place = Place::new("byhand");
    place.put_stack_held_by("by-hand");
    let gone = "stacks: held by engines that are gone: held (id-1, CREATE, project p)";
    let impostor = Impostor::start(&place, "by-hand");
    let visit = place.visit("", &[]);
    let busy = "stacks: 1 in progress, 1 of them being worked on";
    assert!(
        visit.has("fine", busy) && !visit.has("problem", gone),
        "{}",
        visit.report
    );
    drop(impostor);
    let visit = place.visit("", &[]);
    assert!(visit.has("problem", gone), "{}", visit.report);
}

#[test]
fn a_holder_that_does_not_answer_just_now_is_not_taken_to_work() {
    let place = Place::new("killed");
    place.put_stack_held_by("killed");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'killed', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let visit = place.visit("", &[]);
    let wanted = "stacks: held by killed, which reports and does not answer: held (id-1, CREATE, project p)";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    assert!(
        visit.has("fine", "stacks: 1 in progress, 0 of them being worked on"),
        "{}",
        visit.report
    );
}

#[test]
fn an_engine_of_another_version_is_found() {
    let place = Place::new("version");
    place.database.sql(
        "INSERT INTO service (id, engine_id, host, hostname, `binary`, topic, report_interval, created_at, updated_at) \
         VALUES ('1', 'older', 'h', 'h', 'heat-engine', 'engine', 60, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
    );
    let impostor = Impostor::start(&place, "older");
    let visit = place.visit("", &[]);
    drop(impostor);
    let wanted = "engines: versions of heat-engine-rs that run: 0.0.0-older (1); this one is ";
    assert!(visit.has("warning", wanted), "{}", visit.report);
    assert_eq!(visit.code, Some(0), "an upgrade may be under way");
}

#[test]
fn engines_of_both_kinds_are_told_apart() {
    let deployment = Deployment::new("kinds");
    deployment.start_python("theirs");
    let visit = Visit::to(&deployment.configuration("doctor"), &[]);
    assert!(
        visit.has("fine", "engines: 0 of heat-engine-rs and 1 of Python's answer"),
        "{}",
        visit.report
    );
    let wanted = "engines: the versions of Python's engines, on ";
    assert!(visit.has("unseen", wanted), "{}", visit.report);
    deployment.start_ours("ours");
    let visit = Visit::to(&deployment.configuration("doctor"), &[]);
    assert!(
        visit.has("fine", "engines: 1 of heat-engine-rs and 1 of Python's answer"),
        "{}",
        visit.report
    );
    assert_eq!((visit.code, visit.of("problem")), (Some(0), Vec::new()));
}
