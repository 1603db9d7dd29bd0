//! Every step of a stack's life fails in turn: each statement and each message, before the server has it, after, and
//! refused. Then the engine itself dies at each of them.
//!
//! One run takes every [`STRIDE`]th step, a different set for each kind of failure; with `EVERY_STEP=1` it takes them all.

use std::ops::Deref;
use std::process::{Command, Stdio};
use std::time::Duration;

use rstest::rstest;
use serde_json::{Map, Value, json};

use super::RESTLESS;
use crate::cloud::caller;
use crate::convergence::linked::LinkedSite;
use crate::convergence::remains::Remains;
use crate::convergence::site::{Engine, Site, Stack, create_arguments, demo, eventually};
use crate::convergence::templates::{of_every_type, template, test};
use crate::extent::steps;
use crate::lab::Lab;
use crate::link::Strike;

const STRIDE: usize = 7;
const STRIDE_OF_TYPES: usize = 19;
/// Without a message and without a statement for so long, nothing goes on.
const QUIET: Duration = Duration::from_millis(300);

/// What is done to the stack, in this order.
const LIFE: [(&str, &str); 3] = [
    ("create", "CREATE_COMPLETE"),
    ("update", "UPDATE_COMPLETE"),
    ("delete", "gone"),
];

/// `b` needs `a`. The update changes `a` in place, replaces `b`, adds `c` and drops `d`.
fn wanted(round: u32) -> Value {
    let value = json!({"list_join": ["-", [{"get_attr": ["a", "output"]}, "b"]]});
    let mut resources = json!({
        "a": test(json!({"value": round.to_string()})),
        "b": test(json!({"value": value, "update_replace_value": round.to_string()})),
    });
    let third = if round == 1 { "d" } else { "c" };
    resources[third] = test(json!({"value": {"get_attr": ["a", "output"]}}));
    template(resources)
}

/// A site whose engine's steps are counted, and the life of the stacks in it.
struct Course {
    linked: LinkedSite,
    wanted: fn(u32) -> Value,
    /// The context of whoever asks.
    owner: Map<String, Value>,
}

impl Deref for Course {
    type Target = LinkedSite;

    fn deref(&self) -> &LinkedSite {
        &self.linked
    }
}

impl Course {
    async fn lay(hint: &str, extra: &str) -> Self {
        Self {
            linked: LinkedSite::new(hint, extra).await,
            wanted,
            owner: demo().clone(),
        }
    }

    /// Of stacks of all types; some of them are the administrator's business.
    async fn lay_for_every_type(hint: &str) -> Self {
        Self {
            linked: LinkedSite::new(hint, "").await,
            wanted: of_every_type,
            owner: caller("admin", &Lab::get().keystone.url).to_wire(),
        }
    }

    async fn find(&self, name: &str) -> Option<Stack> {
        Some(self.site.find(name).await?.in_project(&self.owner["project_id"]))
    }

    /// Asks for the next thing in a stack's life. The answer may be lost, and does not matter.
    async fn ask(&self, what: &str, name: &str) -> tokio::task::JoinHandle<()> {
        let stack = self.find(name).await;
        let (method, arguments) = match (what, stack) {
            ("update", Some(stack)) => ("update_stack", stack.update_arguments((self.wanted)(2), json!({}))),
            ("delete", Some(stack)) => ("delete_stack", stack.delete_arguments()),
            _ => ("create_stack", create_arguments(name, (self.wanted)(1), json!({}))),
        };
        let (caller, owner) = (self.site.caller(), self.owner.clone());
        tokio::spawn(async move { drop(caller.try_call_as(&owner, method, arguments).await) })
    }

    async fn until(&self, name: &str, state: &str) -> Stack {
        eventually("the stack is there", || async { self.find(name).await.is_some() }).await;
        let stack = self.find(name).await.expect("it was there");
        self.site.until_settled(&stack, state).await;
        stack
    }
}

/// What a life without disturbance comes to, and how many steps each part of it takes.
async fn undisturbed(course: &Course) -> Vec<(Remains, usize)> {
    let mut parts = Vec::new();
    for (what, state) in LIFE {
        course.steps.arm(None, || {});
        let asking = course.ask(what, "undisturbed").await;
        let stack = course.until("undisturbed", state).await;
        asking.await.expect("no panic");
        course.site.until_quiet().await;
        let (seen, _) = course.steps.disarm();
        parts.push((
            course.site.remains(&stack).await.without(Some("undisturbed")),
            seen.len(),
        ));
    }
    parts
}

/// B40, B41: a failure that passes leads to the same rows and the same events as none.
#[rstest]
#[case::before(0, Strike::Before)]
#[case::after(1, Strike::After)]
#[case::deadlock(2, Strike::Refuse(1213))]
#[tokio::test(flavor = "multi_thread")]
async fn each_step_fails_once(#[case] number: usize, #[case] strike: Strike) {
    let course = Course::lay(&format!("fails{number}"), "").await;
    fail_each_step(course, number, strike, STRIDE).await;
}

#[rstest]
#[case::before(0, Strike::Before)]
#[case::after(5, Strike::After)]
#[case::deadlock(10, Strike::Refuse(1213))]
#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_every_type_fails_once(#[case] number: usize, #[case] strike: Strike) {
    let course = Course::lay_for_every_type(&format!("types{number}")).await;
    fail_each_step(course, number, strike, STRIDE_OF_TYPES).await;
}

async fn fail_each_step(course: Course, number: usize, strike: Strike, stride: usize) {
    let _engine = course.engine().await;
    let expected = undisturbed(&course).await;
    let parts: Vec<usize> = expected.iter().map(|(_, steps)| *steps).collect();
    println!("steps of create, update and delete: {parts:?}");
    let most = parts.into_iter().max().unwrap_or(0);
    for step in steps(number, stride).take_while(|step| *step < most) {
        let name = format!("step{step}");
        for ((what, state), (expected, steps)) in LIFE.into_iter().zip(&expected) {
            course.steps.arm((step < *steps).then_some((step, strike)), || {});
            let asking = course.ask(what, &name).await;
            let stack = course.until(&name, state).await;
            asking.await.expect("no panic");
            course.site.until_quiet_for(QUIET).await;
            let (_, struck) = course.steps.disarm();
            let found = course.site.remains(&stack).await.without(Some(&name));
            assert_eq!(&found, expected, "{what}, step {step}, {strike:?}: {struck:?}");
        }
    }
    nothing_is_left(&course.site).await;
    course.linked.site.close().await;
}

async fn nothing_is_left(site: &Site) {
    for table in ["resource", "resource_data", "sync_point", "user_creds"] {
        eventually(table, || async { site.count(table).await == 0 }).await;
    }
    let unowned = "raw_template t WHERE NOT EXISTS \
                   (SELECT 1 FROM stack s WHERE t.id IN (s.raw_template_id, s.prev_raw_template_id))";
    assert_eq!(site.count(unowned).await, 0);
}

/// B01, B05: an engine dies at each step, another starts, and nobody asks again.
#[rstest]
#[case::before(0, Strike::Before)]
#[case::after(3, Strike::After)]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_dies_at_each_step(
    #[case] number: usize,
    #[case] strike: Strike,
    #[values("create", "update", "delete")] deadly: &str,
) {
    let course = Course::lay(&format!("dies{number}{deadly}"), RESTLESS).await;
    let mut engine = course.engine().await;
    let parts = undisturbed(&course).await;
    let part = LIFE
        .iter()
        .position(|(what, _)| *what == deadly)
        .expect("a part of life");
    let (_, most) = &parts[part];
    for step in steps(number, STRIDE).take_while(|step| step < most) {
        let name = format!("{deadly}{step}");
        engine = live_with_a_death(&course, engine, &name, deadly, (step, strike)).await;
    }
    drop(engine);
    course.linked.site.close().await;
}

async fn live_with_a_death(
    course: &Course,
    mut engine: Engine,
    name: &str,
    deadly: &str,
    strike: (usize, Strike),
) -> Engine {
    let site = &course.site;
    for (what, state) in LIFE {
        let victim = engine.process_id();
        match what == deadly {
            true => course.steps.arm(Some(strike), move || kill(victim)),
            false => course.steps.arm(None, || {}),
        }
        let asking = course.ask(what, name).await;
        // The last steps come after the end that can be seen.
        let came = async {
            course.until(name, state).await;
            site.until_quiet_for(QUIET).await;
        };
        let died = eventually("the engine dies, or the part comes to its end", || async {
            course.steps.has_struck()
        });
        tokio::select! { () = came => {}, () = died => {} };
        if course.steps.has_struck() {
            engine.wait().await;
            engine = course.engine().await;
        }
        let stack = course.until(name, state).await;
        asking.abort();
        let (_, struck) = course.steps.disarm();
        let place = format!("{what} with a death in {deadly} at step {}: {struck:?}", strike.0);
        site.until_quiet_for(QUIET).await;
        if state == "gone" {
            site.nothing_is_leaked(&stack).await;
        } else {
            is_as_wanted(site, &stack, &place).await;
        }
        let twice = site
            .texts(&format!(
                "SELECT physical_resource_id FROM event WHERE stack_id = '{}' AND resource_action = 'CREATE' \
                 AND resource_status = 'COMPLETE' GROUP BY physical_resource_id HAVING COUNT(*) > 1",
                stack.id
            ))
            .await;
        assert!(twice.is_empty(), "{place}: made twice: {twice:?}");
    }
    engine
}

/// Of each resource there is one that is as the template wants it, and others only if they are what a death left.
async fn is_as_wanted(site: &Site, stack: &Stack, place: &str) {
    let rows = site.resources(stack).await;
    let round = if site.state(stack).await.starts_with("UPDATE") {
        2
    } else {
        1
    };
    let third = if round == 1 { "d" } else { "c" };
    for name in ["a", "b", third] {
        let sound: Vec<_> = rows
            .iter()
            .filter(|row| row.name == name && row.status == "COMPLETE" && row.action != "DELETE")
            .collect();
        assert_eq!(sound.len(), 1, "{place}: {name} in {rows:#?}");
    }
    for row in &rows {
        assert_eq!(row.engine_id, None, "{place}: {row:?}");
        assert_ne!(row.status, "IN_PROGRESS", "{place}: {row:?}");
    }
    let value = site
        .texts(&format!(
            "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
             WHERE r.stack_id = '{}' AND r.name = 'b' AND r.status = 'COMPLETE' AND d.`key` = 'value'",
            stack.id
        ))
        .await;
    assert_eq!(value, [format!("{round}-b")], "{place}");
}

pub fn kill(process: u32) {
    let _ = Command::new("kill")
        .args(["-s", "KILL", "--", &format!("-{process}")])
        .stderr(Stdio::null())
        .status();
}
