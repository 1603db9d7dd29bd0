//! Objects in another service, half made when their engine died.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use serde_json::{Value, json};

use super::RESTLESS;
use super::steps::kill;
use crate::cloud::caller;
use crate::convergence::linked::LinkedSite;
use crate::convergence::site::{Engine, Site, Stack, create_arguments, eventually};
use crate::convergence::templates::{template, test};
use crate::extent::steps;
use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;
use crate::link::Strike;

/// A project, and a user who has a role in it. Nothing is asked of Keystone for them in the first second.
fn identities(description: &str) -> Value {
    template(json!({
        "first": test(json!({"action_wait_secs": {"create": 1}})),
        "p": {"type": "OS::Keystone::Project", "properties": {"description": description}, "depends_on": "first"},
        "u": {"type": "OS::Keystone::User", "properties": {
            "description": description,
            "roles": [{"role": "member", "project": {"get_resource": "p"}}],
        }},
    }))
}

/// Kills the engine at its request of that number, before Keystone gets it or after. Tells whether there was one.
fn kill_at(proxy: &FaultProxy, number: usize, fate: Fate, engine: &Engine) -> impl Fn() -> bool + use<> {
    let victim = engine.process_id();
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    proxy.rule(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
        current if current == number => {
            kill(victim);
            fate.clone()
        }
        _ => Fate::Pass,
    });
    move || seen.load(Ordering::SeqCst) > number
}

/// Names of projects and users that the stack has made.
fn made(stack: &str) -> Vec<String> {
    const CODE: &str = r#"
import json, sys
from keystoneauth1 import session
from keystoneauth1.identity import v3
url, password, prefix = sys.argv[1:]
s = session.Session(auth=v3.Password(auth_url=url + '/v3', username='admin', password=password, project_name='admin',
                                     user_domain_id='default', project_domain_id='default'))
print(json.dumps(sorted(item['name'] for kind in ('projects', 'users')
                        for item in s.get(url + '/v3/' + kind).json()[kind] if item['name'].startswith(prefix))))
"#;
    let keystone = &Lab::get().keystone;
    let names = Lab::get().python_json(CODE, &[&keystone.url, &keystone.admin_password, &format!("{stack}-")]);
    let names = names.as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn trust_of(site: &Site, stack: &Stack) -> Trust {
    trust_in(
        site,
        &format!(
            "user_creds c JOIN stack s ON s.user_creds_id = c.id WHERE s.id = '{}'",
            stack.id
        ),
    )
}

fn trust_in(site: &Site, credentials: &str) -> Trust {
    let columns = format!("SELECT c.trust_id, c.decrypt_method FROM {credentials}");
    let row = site.database.sql(&columns).remove(0);
    Trust {
        encrypted: row[0].clone(),
        method: row[1].clone(),
    }
}

struct Trust {
    encrypted: String,
    method: String,
}

impl Trust {
    /// Whether Keystone has it.
    fn is_there(&self) -> bool {
        const CODE: &str = r#"
import json, sys
from heat.common import crypt
from keystoneauth1 import session
from keystoneauth1.identity import v3
url, password, method, encrypted, key = sys.argv[1:]
trust = crypt.decrypt(method, encrypted, key)
s = session.Session(auth=v3.Password(auth_url=url + '/v3', username='admin', password=password, project_name='admin',
                                     user_domain_id='default', project_domain_id='default'))
print(json.dumps(s.get(url + '/v3/OS-TRUST/trusts/' + trust, raise_exc=False).status_code))
"#;
        let keystone = &Lab::get().keystone;
        let arguments = [
            &keystone.url,
            &keystone.admin_password,
            &self.method,
            &self.encrypted,
            &Lab::get().auth_encryption_key,
        ];
        let status = Lab::get().python_json(CODE, &arguments.map(String::as_str));
        match status.as_u64() {
            Some(200) => true,
            Some(404) => false,
            _ => panic!("Keystone answers {status}"),
        }
    }
}

/// The part of a stack's life in which the engine dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deadly {
    Create,
    /// Its requests are those that remove the objects, and then the stack's trust.
    Delete,
}

/// What the service did and nobody could note down is found by its name, and taken over or removed.
#[rstest]
#[case::create_before("before", Deadly::Create, Fate::Lose, 0)]
#[case::create_after("after", Deadly::Create, Fate::LoseAnswer, 1)]
#[case::delete_before("unmadebefore", Deadly::Delete, Fate::Lose, 0)]
#[case::delete_after("unmadeafter", Deadly::Delete, Fate::LoseAnswer, 1)]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_dies_at_each_request(
    #[case] hint: &str,
    #[case] deadly: Deadly,
    #[case] fate: Fate,
    #[case] first: usize,
) {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let keystone = format!("{RESTLESS}\n[clients_keystone]\nauth_uri = {}", proxy.url);
    let site = Site::new(hint, &keystone).await;
    let owner = caller("admin", &proxy.url).to_wire();
    let mut engine = site.engine().await;
    for number in steps(first, 3) {
        let name = format!("{hint}{}x{number}", std::process::id());
        let stack = site.create_as_admin(&name, identities("made"), &proxy.url).await;
        if deadly == Deadly::Delete {
            site.until_settled(&stack, "CREATE_COMPLETE").await;
        }
        // At once: to ask for the trust takes its time.
        let struck = kill_at(&proxy, number, fate.clone(), &engine);
        let trust = trust_of(&site, &stack);
        assert!(trust.is_there());
        let (asking, end) = match deadly {
            Deadly::Create => (None, "CREATE_COMPLETE"),
            Deadly::Delete => (Some(site.ask_to_delete(&stack, &owner)), "gone"),
        };
        eventually("the engine dies, or this part of life comes to its end", || async {
            struck() || site.state(&stack).await == end
        })
        .await;
        if let Some(asking) = asking {
            asking.abort();
        }
        proxy.rule(|_| Fate::Pass);
        let was_struck = struck();
        if was_struck {
            engine.wait().await;
            engine = site.engine().await;
        }
        site.until_tidy(&stack, end).await;
        if deadly == Deadly::Create {
            site.delete_as_admin(&stack, &proxy.url).await;
            site.until_settled(&stack, "gone").await;
        }
        assert_eq!(made(&name), Vec::<String>::new(), "{hint}, request {number}");
        eventually("the trust goes", || async { !trust.is_there() }).await;
        site.nothing_is_leaked(&stack).await;
        if !was_struck {
            assert!(number > 3, "there are {number} requests only");
            println!("requests of this part of life: {number}");
            break;
        }
    }
    drop(engine);
    site.close().await;
}

/// The engine dies between the trust and the stack that it was made for.
#[tokio::test(flavor = "multi_thread")]
async fn the_trust_of_a_stack_that_does_not_come_to_be_goes() {
    let linked = LinkedSite::new("untrusted", RESTLESS).await;
    let site = &linked.site;
    let mut engine = linked.engine().await;
    let victim = engine.process_id();
    linked
        .steps
        .arm_among(&["INSERT INTO stack "], (0, Strike::After), move || kill(victim));
    let caller = site.caller();
    let template = template(json!({"a": test(json!({}))}));
    let asking = tokio::spawn(async move {
        let arguments = create_arguments("untrusted", template, json!({}));
        caller.try_call("create_stack", arguments).await.map(drop)
    });
    eventually("the engine dies", || async { linked.steps.has_struck() }).await;
    engine.wait().await;
    asking.abort();
    linked.steps.disarm();

    let trust = trust_in(site, "user_creds c");
    assert!(trust.is_there());
    eventually("the transaction is over", || async { site.count("stack").await == 0 }).await;
    site.change("UPDATE user_creds SET created_at = created_at - INTERVAL 2 HOUR WHERE id = 1");
    let engine = linked.engine().await;
    // The request itself comes back, and has credentials of its own.
    eventually("the row goes", || async {
        site.count("user_creds WHERE id = 1").await == 0
    })
    .await;
    assert!(!trust.is_there());
    drop(engine);
    linked.site.close().await;
}
