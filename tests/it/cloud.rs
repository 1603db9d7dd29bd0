//! Sessions, trusts and look-ups against the lab's Keystone, and beside the oracle's own clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use heat_engine::clock::Clock;
use heat_engine::cloud::{Cloud, CloudError, CloudOptions, Entity, KEYSTONE, NEUTRON};
use heat_engine::exception::RemoteException;
use heat_engine::identity::RequestContext;
use heat_engine::identity::credentials::UserCredentials;
use heat_engine::identity::policy::ResourcePolicy;
use heat_engine::settings::{ConfigSource, Settings, SettingsSources};
use serde_json::{Map, Value, json};

use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;

/// The options of the lab's engines.
pub fn lab_options() -> CloudOptions {
    let sources = SettingsSources {
        files: vec![ConfigSource::File(Lab::get().heat_conf.clone())],
        overrides: Vec::new(),
        environment: BTreeMap::new(),
    };
    CloudOptions::from(&Settings::load(&sources).expect("the lab's heat.conf is sound"))
}

/// A cloud that reaches Keystone through `proxy`.
pub fn cloud_behind(proxy: &FaultProxy) -> Cloud {
    let mut options = lab_options();
    options.clients.keystone_auth_uri = Some(proxy.url.clone());
    options.trustee.auth_url = Some(proxy.url.clone());
    cloud_with(options)
}

pub fn cloud_with(options: CloudOptions) -> Cloud {
    Cloud::new(options, Clock::system()).expect("no certificates are named")
}

/// A caller as heat-api would describe them: with a token that Keystone has just checked.
pub fn caller(name: &str, keystone_url: &str) -> RequestContext {
    const CODE: &str = r#"
import json, sys
from keystoneauth1 import session
from keystoneauth1.identity import v3
name, password, url = sys.argv[1:]
auth = v3.Password(auth_url=url + '/v3', username=name, password=password, project_name=name,
                   user_domain_id='default', project_domain_id='default')
s = session.Session(auth=auth)
ref = auth.get_access(s)
print(json.dumps({
    'user': ref.user_id, 'project_id': ref.project_id, 'project_name': ref.project_name, 'username': ref.username,
    'user_domain': ref.user_domain_id, 'project_domain': ref.project_domain_id, 'roles': ref.role_names,
    'auth_token': ref.auth_token, 'auth_token_info': ref._data, 'is_admin_project': True, 'is_admin': False,
    'auth_url': url + '/v3/', 'region_name': 'RegionOne', 'request_id': 'req-11111111-2222-3333-4444-555555555555'}))
"#;
    let password = match name {
        "admin" => &Lab::get().keystone.admin_password,
        _ => &Lab::get().keystone.demo_password,
    };
    let Value::Object(wire) = Lab::get().python_json(CODE, &[name, password, keystone_url]) else {
        panic!("the context is not a map");
    };
    RequestContext::from_wire(&wire, || unreachable!()).expect("the context is sound")
}

fn direct_caller(name: &str) -> RequestContext {
    caller(name, &Lab::get().keystone.url)
}

fn password_context(name: &str, password: &str, auth_url: &str) -> RequestContext {
    let known = direct_caller(name);
    RequestContext {
        username: Some(name.to_owned()),
        password: Some(password.to_owned()),
        user_domain_id: Some("default".to_owned()),
        project_id: known.project_id,
        auth_url: Some(auth_url.to_owned()),
        request_id: "req-1".to_owned(),
        ..RequestContext::default()
    }
}

fn logins(calls: &[String]) -> usize {
    calls.iter().filter(|call| *call == "POST /v3/auth/tokens").count()
}

/// A text of Keystone without the id of the request, which no two answers share.
fn without_request_id(text: &str) -> String {
    text.split(" (Request-ID: ").next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_opens_a_session_and_a_wrong_one_says_what_the_oracle_says() {
    let url = Lab::get().keystone.url.as_str();
    let cloud = cloud_with(lab_options());
    let context = password_context("demo", &Lab::get().keystone.demo_password, url);
    let access = cloud.session(&context).unwrap().access().await.unwrap();
    assert_eq!(access.project_id, context.project_id);
    assert!(access.has_catalog() && !access.is_trust_scoped);

    let wrong = cloud.session(&password_context("demo", "wrong", url)).unwrap();
    let refused = wrong.access().await.unwrap_err();
    assert_eq!(refused.class_name(), "Unauthorized");
    const CODE: &str = r#"
import json, sys
from keystoneauth1 import session
from keystoneauth1.identity import v3
auth = v3.Password(auth_url=sys.argv[1] + '/v3', username='demo', password='wrong', project_name='demo',
                   user_domain_id='default', project_domain_id='default')
try:
    auth.get_access(session.Session())
except Exception as ex:
    print(json.dumps(str(ex)))
"#;
    let oracle = Lab::get().python_json(CODE, &[url]);
    assert_eq!(
        without_request_id(&refused.to_string()),
        without_request_id(oracle.as_str().unwrap())
    );
    assert!(refused.to_string().contains(" (Request-ID: req-"), "{refused}");
    // Where the engine needs Keystone itself, a refused login has a name of its own.
    assert_eq!(wrong.keystone().await.unwrap_err().to_string(), "Authorization failed.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_alone_is_asked_about() {
    let caller = direct_caller("demo");
    let bare = RequestContext {
        auth_token: caller.auth_token.clone(),
        auth_url: caller.auth_url.clone(),
        ..RequestContext::default()
    };
    let access = cloud_with(lab_options())
        .session(&bare)
        .unwrap()
        .access()
        .await
        .unwrap();
    assert_eq!(access.user_id, caller.user_id);
    assert!(access.has_catalog());
    let nobody = RequestContext {
        auth_url: caller.auth_url,
        ..RequestContext::default()
    };
    let refused = cloud_with(lab_options()).session(&nobody).unwrap().access().await;
    assert_eq!(refused.unwrap_err().to_string(), "Authorization failed.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalogue_is_asked_for_region_and_interface() {
    let caller = direct_caller("demo");
    let cloud = cloud_with(lab_options());
    let session = cloud.session(&caller).unwrap();
    let endpoint = session.service(&KEYSTONE).endpoint().await.unwrap();
    assert_eq!(endpoint, format!("{}/v3", Lab::get().keystone.url));
    let missing = session.service(&NEUTRON).endpoint().await.unwrap_err();
    assert!(missing.is_missing_endpoint());
    assert_eq!(
        missing.to_string(),
        "public endpoint for network service in RegionOne region not found"
    );
    let elsewhere = cloud
        .session(&RequestContext {
            region_name: Some("Elsewhere".to_owned()),
            ..caller
        })
        .unwrap();
    assert_eq!(
        elsewhere.service(&KEYSTONE).endpoint().await.unwrap_err().to_string(),
        "public endpoint for identity service in Elsewhere region not found"
    );
}

/// Keystone lists the roles of each token in another order.
fn sorted(roles: &[String]) -> Vec<&String> {
    let mut roles: Vec<_> = roles.iter().collect();
    roles.sort();
    roles
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trust_makes_us_the_trustor_until_it_is_deleted() {
    let caller = direct_caller("demo");
    let cloud = cloud_with(lab_options());
    let stored = cloud.create_stored_credentials(&caller).await.unwrap();
    assert_eq!(stored.trustor_user_id, caller.user_id);
    assert_eq!(stored.tenant.as_deref(), Some("demo"));
    assert_eq!((&stored.username, &stored.password), (&None, &None));
    assert!(stored.trust_id.is_some());

    let context = stored.context("req-1");
    let access = cloud.session(&context).unwrap().access().await.unwrap();
    assert!(access.is_trust_scoped);
    assert_eq!(access.user_id, caller.user_id);
    assert_eq!(access.project_id, caller.project_id);
    assert_eq!(sorted(&access.role_names()), sorted(&caller.roles));

    let completed = cloud.complete_context(context.clone()).await.unwrap();
    assert_eq!(sorted(&completed.roles), sorted(&caller.roles));
    assert_eq!(completed.user_domain_id.as_deref(), Some("default"));
    assert_eq!(
        completed.user_identity(),
        format!("- {} - default default", caller.project_id.as_deref().unwrap())
    );

    assert!(!cloud.must_renew_stored_credentials(&caller, &stored).await.unwrap());
    cloud.delete_stored_trust(&caller, &stored).await.unwrap();
    cloud.delete_stored_trust(&caller, &stored).await.unwrap();
    // A token that was got before the trust was deleted is refused now, and there is no way to another.
    let refused = cloud
        .session(&context)
        .unwrap()
        .service(&KEYSTONE)
        .get("auth/catalog")
        .send()
        .await;
    assert!(refused.is_err());
    let fresh = cloud_with(lab_options());
    let refused = fresh.session(&context).unwrap().access().await.unwrap_err();
    assert_eq!(refused.class_name(), "Unauthorized", "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_trust_is_deleted_through_itself() {
    let owner = direct_caller("demo");
    let colleague = direct_caller("alt_demo");
    let cloud = cloud_with(lab_options());
    let stored = cloud.create_stored_credentials(&owner).await.unwrap();
    assert!(cloud.must_renew_stored_credentials(&colleague, &stored).await.unwrap());
    let renewed = cloud.renew_stored_credentials(&colleague).await.unwrap();
    assert_eq!(renewed.trustor_user_id, colleague.user_id);
    cloud.delete_stored_trust(&colleague, &stored).await.unwrap();
    let fresh = cloud_with(lab_options());
    let gone = stored.context("req-1");
    assert!(fresh.session(&gone).unwrap().access().await.is_err());
    // Deleting once more, with a trust that no longer works, harms nobody.
    fresh.delete_stored_trust(&colleague, &stored).await.unwrap();
    cloud.delete_stored_trust(&colleague, &renewed).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trust_that_makes_us_somebody_else_is_not_used() {
    let caller = direct_caller("demo");
    let cloud = cloud_with(lab_options());
    let stored = cloud.create_stored_credentials(&caller).await.unwrap();
    let forged = UserCredentials {
        trustor_user_id: Some("somebody".to_owned()),
        ..stored.clone()
    };
    let session = cloud.session(&forged.context("req-1")).unwrap();
    assert_eq!(session.access().await.unwrap_err().to_string(), "Authorization failed.");
    cloud.delete_stored_trust(&caller, &stored).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_that_nobody_has_make_no_trust() {
    let mut options = lab_options();
    options.trusts_delegated_roles = vec!["no-such-role".to_owned(), "member".to_owned()];
    let refused = cloud_with(options)
        .create_stored_credentials(&direct_caller("demo"))
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Missing required credential: roles {'role_names': ['no-such-role', 'member']}"
    );
    assert_eq!(refused.class_name(), "MissingCredentialError");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_token_is_renewed_once() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let cloud = cloud_behind(&proxy);
    let context = password_context("demo", &Lab::get().keystone.demo_password, &proxy.url);
    let session = cloud.session(&context).unwrap();
    let before = session.access().await.unwrap();
    refuse_token(&proxy, &before.token);
    proxy.take_seen();
    session.service(&KEYSTONE).get("auth/projects").send().await.unwrap();
    let calls = proxy.take_calls();
    assert_eq!(
        calls,
        ["GET /v3/auth/projects", "POST /v3/auth/tokens", "GET /v3/auth/projects"]
    );
    assert_ne!(session.access().await.unwrap().token, before.token);

    // When the new one is refused too, that is the answer.
    proxy.rule(|seen| match seen.method.as_str() {
        "GET" => Fate::Refuse(401, ""),
        _ => Fate::Pass,
    });
    let refused = session
        .service(&KEYSTONE)
        .get("auth/projects")
        .send()
        .await
        .unwrap_err();
    assert!(refused.is_unauthorized());
    assert_eq!(logins(&proxy.take_calls()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_token_is_never_renewed() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let caller = caller("demo", &proxy.url);
    let cloud = cloud_behind(&proxy);
    refuse_token(&proxy, caller.auth_token.as_deref().unwrap());
    proxy.take_seen();
    let refused = cloud
        .session(&caller)
        .unwrap()
        .service(&KEYSTONE)
        .get("auth/projects")
        .send()
        .await;
    assert!(refused.unwrap_err().is_unauthorized());
    assert_eq!(proxy.take_calls(), ["GET /v3/auth/projects"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_who_need_a_token_log_in_once() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let cloud = cloud_behind(&proxy);
    let context = Arc::new(password_context("demo", &Lab::get().keystone.demo_password, &proxy.url));
    let ask = |cloud: Cloud, context: Arc<RequestContext>| async move {
        let session = cloud.session(&context).unwrap();
        session.service(&KEYSTONE).get("auth/projects").send().await.unwrap();
        session.access().await.unwrap().token.clone()
    };
    let start = |count: usize| -> Vec<_> {
        (0..count)
            .map(|_| tokio::spawn(ask(cloud.clone(), context.clone())))
            .collect()
    };
    let mut tokens = Vec::new();
    for task in start(100) {
        tokens.push(task.await.unwrap());
    }
    assert_eq!(logins(&proxy.take_calls()), 1);
    tokens.dedup();
    assert_eq!(tokens.len(), 1);
    // The same when all of them find it refused.
    refuse_token(&proxy, &tokens[0]);
    for task in start(10) {
        task.await.unwrap();
    }
    assert_eq!(logins(&proxy.take_calls()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_repeated_where_that_does_no_harm() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let caller = caller("admin", &proxy.url);
    let cloud = cloud_behind(&proxy);
    let keystone = cloud.session(&caller).unwrap().service(&KEYSTONE);
    let group = || json!({"group": {"name": "heat-it-never-made", "domain_id": "default"}});

    proxy.take_seen();
    proxy.next("GET /v3/users", [Fate::Refuse(503, ""), Fate::Refuse(504, "")]);
    keystone.get("users").query("name", "demo").send().await.unwrap();
    assert_eq!(proxy.take_calls().len(), 3);

    proxy.next("GET /v3/users", [Fate::LoseAnswer]);
    keystone.get("users").query("name", "demo").send().await.unwrap();
    assert_eq!(proxy.take_calls().len(), 2);

    proxy.rule(|_| Fate::Refuse(503, ""));
    let refused = keystone.get("users").send().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Refused by the test. (HTTP 503) (Request-ID: req-refused)"
    );
    assert_eq!(proxy.take_calls().len(), 3);

    // It may have been done already.
    proxy.rule(|_| Fate::Refuse(503, ""));
    assert!(keystone.post("groups", group()).send().await.is_err());
    assert_eq!(proxy.take_calls().len(), 1);

    // The service says that it was not.
    proxy.next(
        "POST /v3/groups",
        [Fate::Refuse(429, "Retry-After: 0\r\n"), Fate::Refuse(403, "")],
    );
    assert!(keystone.post("groups", group()).send().await.is_err());
    let seen = proxy.take_seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body, group().to_string());
    assert_eq!(seen[1].body, seen[0].body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_say_for_which_request_they_are() {
    let proxy = FaultProxy::start(&Lab::get().keystone.url).await;
    let caller = caller("demo", &proxy.url);
    proxy.take_seen();
    let session = cloud_behind(&proxy).session(&caller).unwrap();
    session
        .service(&KEYSTONE)
        .get("auth/projects")
        .microversion("3.14")
        .send()
        .await
        .unwrap();
    let seen = proxy.take_seen();
    assert_eq!(
        seen[0].header("x-openstack-request-id"),
        Some(caller.request_id.as_str())
    );
    assert_eq!(seen[0].header("openstack-api-version"), Some("identity 3.14"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_home_is_a_connect_failure() {
    let context = password_context("demo", "x", "http://127.0.0.1:9");
    let mut options = lab_options();
    options.client_retry_limit = 0;
    let failure = cloud_with(options)
        .session(&context)
        .unwrap()
        .access()
        .await
        .unwrap_err();
    assert_eq!(failure.class_name(), "ConnectFailure");
    let text = failure.to_string();
    assert!(
        text.starts_with("Unable to establish connection to http://127.0.0.1:9/v3/auth/tokens: "),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_found_or_missed_as_the_oracle_does() {
    let wanted: &[(Entity, &str, &str)] = &[
        (Entity::Project, "get_project_id", "demo"),
        (Entity::Project, "get_project_id", "demo{default}"),
        (Entity::Project, "get_project_id", "demo{heat}"),
        (Entity::Project, "get_project_id", "no such/project?"),
        (Entity::Project, "get_project_id", "demo{nowhere}"),
        (Entity::Domain, "get_domain_id", "default"),
        (Entity::Domain, "get_domain_id", "heat"),
        (Entity::Domain, "get_domain_id", "nowhere"),
        (Entity::User, "get_user_id", "demo"),
        (Entity::User, "get_user_id", "heat_domain_admin{heat}"),
        (Entity::User, "get_user_id", "nobody"),
        (Entity::Role, "get_role_id", "member"),
        (Entity::Role, "get_role_id", "nothing"),
        (Entity::Group, "get_group_id", "no-such-group"),
        (Entity::Region, "get_region_id", "RegionOne"),
        (Entity::Region, "get_region_id", "Elsewhere"),
        (Entity::Service, "get_service_id", "keystone"),
        (Entity::Service, "get_service_id", "no-such-service"),
    ];
    let asked: Vec<Value> = wanted.iter().map(|(_, method, name)| json!([method, name])).collect();
    let caller = direct_caller("admin");
    let wire = Value::Object(caller.to_wire()).to_string();
    const CODE: &str = r#"
import json, sys
from oslo_config import cfg
from heat.common import config, context
from heat.engine import clients
cfg.CONF(['--config-file', sys.argv[1]], project='heat')
clients.initialise()
ctx = context.RequestContext.from_dict(json.loads(sys.argv[2]))
keystone = ctx.clients.client_plugin('keystone')
found = []
for method, name in json.loads(sys.argv[3]):
    try:
        found.append(getattr(keystone, method)(name))
    except Exception as ex:
        found.append('%s: %s' % (type(ex).__name__, ex))
print(json.dumps(found))
"#;
    let conf = Lab::get().heat_conf.display().to_string();
    let oracle = Lab::get().python_json(CODE, &[&conf, &wire, &Value::Array(asked).to_string()]);
    let session = cloud_with(lab_options()).session(&caller).unwrap();
    for (index, (entity, _, name)) in wanted.iter().enumerate() {
        let ours = match session.find(*entity, name).await {
            Ok(id) => id,
            Err(error) => format!("{}: {error}", error.class_name()),
        };
        assert_eq!(ours, oracle[index].as_str().unwrap(), "{entity:?} {name}");
    }
    let nothing = session.find(Entity::Project, "").await.unwrap_err();
    assert_eq!(nothing.to_string(), "The KeystoneProject () could not be found.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stack_users_get_a_project_of_their_own() {
    let caller = direct_caller("demo");
    let cloud = cloud_with(lab_options());
    let keystone = cloud.keystone(&caller).unwrap();
    let stack_id = Clock::system().new_uuid();
    let project = keystone.create_stack_domain_project(&stack_id).await.unwrap().unwrap();
    // The answer to the first attempt may have been lost.
    let again = keystone.create_stack_domain_project(&stack_id).await.unwrap();
    assert_eq!(again.as_deref(), Some(project.as_str()));

    let admin = cloud.session(&direct_caller("admin")).unwrap();
    let heat_domain = admin.find(Entity::Domain, "heat").await.unwrap();
    let path = format!("projects/{project}");
    let made = admin.service(&KEYSTONE).get(&path).send_for("project").await.unwrap();
    let owner = caller.project_id.as_deref().unwrap();
    assert_eq!(made["name"], Value::from(&format!("{owner}-{stack_id}")[..64]));
    assert_eq!(made["domain_id"], Value::from(heat_domain));
    assert_eq!(made["description"], "Heat stack user project");

    keystone.delete_stack_domain_project(&project).await.unwrap();
    keystone.delete_stack_domain_project(&project).await.unwrap();
    assert!(
        admin
            .service(&KEYSTONE)
            .get(&path)
            .send()
            .await
            .unwrap_err()
            .is_not_found()
    );
    // The owner's project is in another domain and stays.
    keystone.delete_stack_domain_project(owner).await.unwrap();
    assert_eq!(admin.find(Entity::Project, "demo").await.unwrap(), owner);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_stack_domain_stack_users_live_with_their_owner() {
    let mut options = lab_options();
    options.stack_user_domain_name = None;
    let caller = direct_caller("demo");
    let keystone = cloud_with(options).keystone(&caller).unwrap();
    assert_eq!(
        keystone.create_stack_domain_project("s").await.unwrap(),
        caller.project_id
    );
    keystone
        .delete_stack_domain_project(caller.project_id.as_deref().unwrap())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_domain_admin_is_an_authorization_failure() {
    let mut options = lab_options();
    options.stack_domain_admin_password = Some("wrong".to_owned().into());
    let keystone = cloud_with(options).keystone(&direct_caller("demo")).unwrap();
    let refused = keystone.create_stack_domain_project("s").await.unwrap_err();
    assert!(matches!(refused, CloudError::AuthorizationFailure { .. }), "{refused}");
}

/// The table of who may have which type is the oracle's, with and without a policy file.
#[test]
fn resource_types_are_allowed_as_the_oracle_allows_them() {
    const CODE: &str = r#"
import json, sys
from oslo_config import cfg
from heat.common import config, context, policy
from heat import policies
cfg.CONF(['--config-file', sys.argv[1]], project='heat')
if sys.argv[2]:
    policy.get_enforcer()
    cfg.CONF.set_override('policy_file', sys.argv[2], 'oslo_policy')
names = [p.name.split(':', 1)[1].replace('*', 'User') for p in policies.resource_types.list_rules()]
names += ['OS::Heat::None', 'OS::Nova::Server', 'OS::Keystone::Project', 'My::Own', 'plain']
enforcer = policy.ResourceEnforcer()
table = []
for roles, domain, system in ([], None, None), (['member'], None, None), (['Admin'], None, None), \
        (['admin'], 'd', None), (['admin'], None, 'all'), (['ops'], None, None):
    ctx = context.RequestContext(roles=roles, domain_id=domain, system_scope=system, user_id='u', project_id='p',
                                 is_admin=False)
    for name in names:
        try:
            enforcer.enforce(ctx, name, is_registered_policy=True)
            verdict = None
        except Exception as ex:
            verdict = str(ex)
        table.append([roles, domain, system, name, verdict])
print(json.dumps(table))
"#;
    let policy_file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cloud-policy.yaml");
    std::fs::write(
        &policy_file,
        "# of the test\n\"resource_types:OS::Nova::Flavor\": \"role:ops or rule:project_admin\"\n\
         \"resource_types:OS::Keystone::*\": \"rule:nowhere\"\n\"resource_types:OS::Heat::None\": \"!\"\n\
         \"resource_types:OS::Nova::Quota\": \"user_id:u and not role:admin\"\n",
    )
    .unwrap();
    let conf = Lab::get().heat_conf.display().to_string();
    for file in [None, Some(policy_file)] {
        let policy = ResourcePolicy::read(file.clone(), Vec::new()).unwrap();
        let file = file.map(|file| file.display().to_string()).unwrap_or_default();
        let table = Lab::get().python_json(CODE, &[&conf, &file]);
        for row in table.as_array().unwrap() {
            let context = RequestContext {
                roles: row[0]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|role| role.as_str().unwrap().to_owned())
                    .collect(),
                domain_id: row[1].as_str().map(str::to_owned),
                system_scope: row[2].as_str().map(str::to_owned),
                user_id: Some("u".to_owned()),
                project_id: Some("p".to_owned()),
                ..RequestContext::default()
            };
            let verdict = policy
                .enforce(&context, row[3].as_str().unwrap())
                .err()
                .map(|error| error.to_string());
            assert_eq!(verdict.as_deref(), row[4].as_str(), "{row} with {file:?}");
        }
    }
}

/// What we write about a caller is what Python's own context class writes.
#[test]
fn contexts_pass_through_python_unchanged() {
    const CODE: &str = r#"
import json, sys
from oslo_config import cfg
from heat.common import config, context
cfg.CONF(['--config-file', sys.argv[1]], project='heat')
ctx = context.RequestContext.from_dict(json.loads(sys.argv[2]))
print(json.dumps([json.dumps(ctx.to_dict()), json.dumps(ctx.redacted_copy().to_dict())]))
"#;
    let caller = direct_caller("demo");
    let dumps = |wire: Map<String, Value>| heat_engine::python::dumps(&Value::Object(wire));
    let ours = dumps(caller.to_wire());
    let conf = Lab::get().heat_conf.display().to_string();
    let oracle = Lab::get().python_json(CODE, &[&conf, &ours]);
    assert_eq!(ours, oracle[0].as_str().unwrap());
    assert_eq!(dumps(caller.redacted().to_wire()), oracle[1].as_str().unwrap());
}

/// As if it had been revoked. Keystone itself takes a moment to see that, since its workers keep what they have checked.
fn refuse_token(proxy: &FaultProxy, token: &str) {
    let token = token.to_owned();
    proxy.rule(move |seen| match seen.header("x-auth-token") {
        Some(shown) if shown == token => Fate::Refuse(401, ""),
        _ => Fate::Pass,
    });
}
