//! The types of OS::Keystone against the lab's Keystone: the same matrix for each.
//!
//! Created minimal and full, updated, deleted, deleted when gone, broken at each request and done again, every
//! attribute. (That the schemas are the oracle's is among the tests of all types.)

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use heat_engine::clock::Clock;
use heat_engine::cloud::{Cloud, Entity, KEYSTONE, Session};
use heat_engine::plugins::keystone::{project, user};
use heat_engine::plugins::questions::Questions;
use heat_engine::resource::failure::{Failure, Remedy};
use heat_engine::resource::instance::{Identity, Instance, Record, StackFacts, Stored};
use heat_engine::resource::plugin::{Change, Changed, Progress, ResourceType};
use heat_engine::resource::properties::{Depth, Names, Properties};
use heat_engine::resource::rules::Facts;
use heat_engine::resource::state::{Action, Status};
use serde_json::{Map, Value, json};

use crate::cloud::{caller, cloud_behind, cloud_with, lab_options};
use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;

/// Remembers the id that was stored, as a database would.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Option<String>>>);

#[async_trait]
impl Record for Memory {
    async fn set_physical_id(&self, id: Option<&str>) -> Result<(), Failure> {
        *self.0.lock().expect("not poisoned") = id.map(str::to_owned);
        Ok(())
    }

    async fn set_data(&self, key: &str, _: &str, _: bool) -> Result<(), Failure> {
        panic!("these types keep nothing: {key}");
    }

    async fn delete_data(&self, key: &str) -> Result<(), Failure> {
        panic!("these types keep nothing: {key}");
    }
}

/// Keystone, an administrator's session that reaches it through a proxy, and one that does not.
struct Bench {
    proxy: FaultProxy,
    session: Session,
    direct: Session,
    _clouds: [Cloud; 2],
}

impl Bench {
    async fn new() -> Self {
        let lab = &Lab::get().keystone;
        let proxy = FaultProxy::start(&lab.url).await;
        let clouds = [cloud_behind(&proxy), cloud_with(lab_options())];
        let session = clouds[0].session(&caller("admin", &proxy.url)).unwrap();
        let direct = clouds[1].session(&caller("admin", &lab.url)).unwrap();
        proxy.take_seen();
        Self {
            proxy,
            session,
            direct,
            _clouds: clouds,
        }
    }

    async fn properties(&self, resource_type: &'static ResourceType, given: Value) -> Properties {
        let Value::Object(given) = given else {
            panic!("properties are a map");
        };
        let mut properties = Properties::stored(resource_type.properties, given);
        properties.translate(resource_type.translation, Names::Found);
        properties.find_names(&Questions::new(&self.direct)).await;
        properties
    }

    async fn instance(&self, resource_type: &'static ResourceType, given: Value) -> Instance {
        let properties = self.properties(resource_type, given).await;
        let uuid = Clock::system().new_uuid();
        let identity = Identity {
            name: "res".to_owned(),
            type_name: resource_type.name.to_owned(),
            resource_type,
            stack: Arc::new(StackFacts {
                id: Clock::system().new_uuid(),
                name: "it".to_owned(),
                tenant_id: "tenant".to_owned(),
                user_project_id: None,
                action: Action::Create,
                timeout: Duration::from_secs(3600),
            }),
            state: (Action::Create, Status::InProgress),
            uuid,
        };
        let stored = Stored {
            physical_id: None,
            properties: None,
            data: BTreeMap::new(),
            record: Arc::new(Memory::default()),
        };
        Instance::new(identity, stored, properties, Clock::system(), self.session.clone())
    }

    /// The object behind an instance, as Keystone has it.
    async fn shown(&self, instance: &Instance) -> Value {
        let (collection, key) = place(instance);
        let path = format!("{collection}/{}", instance.physical_id().expect("it was made"));
        self.direct.service(&KEYSTONE).get(path).send_for(key).await.unwrap()
    }

    async fn count(&self, instance: &Instance, name: &str) -> usize {
        let collection = place(instance).0;
        let keystone = self.direct.service(&KEYSTONE);
        let listed = keystone.get(collection).query("name", name).send_for(collection).await;
        listed.unwrap().as_array().unwrap().len()
    }

    async fn update(&self, instance: &mut Instance, to: Value) -> Result<Changed, Failure> {
        let before = instance.properties.clone();
        let after = self.properties(instance.resource_type, to).await;
        let changed = after.changed_since(&before).unwrap();
        assert!(after.can_update(&changed));
        let change = Change {
            after: &after,
            before: &before,
            changed: &changed,
            definition_changed: false,
        };
        let plugin = instance.resource_type.plugin;
        let outcome = plugin.change(instance, &change).await?;
        assert_eq!(
            plugin.settle(instance, Action::Update, Duration::ZERO).await?,
            Progress::Done
        );
        instance.properties = after;
        Ok(outcome)
    }

    /// The refusal of a template's properties, if they are refused.
    async fn refusal(&self, resource_type: &'static ResourceType, given: Value) -> Option<String> {
        let mut instance = self.instance(resource_type, given).await;
        instance.properties.translate(resource_type.translation, Names::AsGiven);
        let asked = instance
            .properties
            .validate(Depth::Values, &Questions::new(&self.direct))
            .await;
        asked.err().map(|error| error.to_string()).or_else(|| {
            let facts = Facts::of(&instance.name, &instance.properties, Some(&instance.stack));
            let first = facts.violations(resource_type.rules).into_iter().next()?;
            Some(format!("{}: {}", first.class, first.message))
        })
    }
}

fn place(instance: &Instance) -> (&'static str, &'static str) {
    match instance.resource_type.name {
        "OS::Keystone::Project" => ("projects", "project"),
        _ => ("users", "user"),
    }
}

async fn create(instance: &mut Instance) -> Result<(), Failure> {
    let plugin = instance.resource_type.plugin;
    // An engine that finds the id stored does not make the object again.
    if instance.physical_id().is_none() {
        plugin.make(instance).await?;
    }
    let progress = plugin.settle(instance, Action::Create, Duration::ZERO).await?;
    assert_eq!(progress, Progress::Done);
    Ok(())
}

async fn delete(instance: &mut Instance) -> Result<(), Failure> {
    let plugin = instance.resource_type.plugin;
    plugin.unmake(instance).await?;
    assert_eq!(plugin.gone(instance, Duration::ZERO).await?, Progress::Done);
    Ok(())
}

async fn attribute(instance: &mut Instance, name: &str) -> Value {
    let plugin = instance.resource_type.plugin;
    plugin.attribute(instance, name).await.unwrap().unwrap_or_default()
}

/// The `show` attribute.
async fn whole(instance: &mut Instance) -> Value {
    let plugin = instance.resource_type.plugin;
    plugin.show(instance).await.unwrap().unwrap()
}

/// Links lead through the proxy, or not.
fn without_links(shown: &Value) -> Value {
    let mut shown = shown.clone();
    shown.as_object_mut().unwrap().remove("links");
    shown
}

/// The fields of `shown` that `expected` names.
fn picked(shown: &Value, expected: &Value) -> Value {
    let keys = expected.as_object().unwrap().keys();
    Value::Object(keys.map(|key| (key.clone(), shown[key].clone())).collect())
}

fn assert_fields(shown: &Value, expected: Value) {
    assert_eq!(picked(shown, &expected), expected);
}

/// A group that is there for one test.
struct Group {
    id: String,
    name: String,
}

impl Group {
    async fn new(bench: &Bench) -> Self {
        let name = format!("it-{}", Clock::system().new_uuid());
        let keystone = bench.direct.service(&KEYSTONE);
        let body = json!({"group": {"name": name, "domain_id": "default"}});
        let made = keystone.post("groups", body).send_for("group").await.unwrap();
        Self {
            id: made["id"].as_str().unwrap().to_owned(),
            name,
        }
    }

    async fn delete(self, bench: &Bench) {
        let path = format!("groups/{}", self.id);
        bench.direct.service(&KEYSTONE).delete(path).send().await.unwrap();
    }
}

async fn groups_of(bench: &Bench, instance: &Instance) -> Vec<String> {
    let path = format!("users/{}/groups", instance.physical_id().unwrap());
    let groups = bench
        .direct
        .service(&KEYSTONE)
        .get(path)
        .send_for("groups")
        .await
        .unwrap();
    groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["id"].as_str().unwrap().to_owned())
        .collect()
}

/// `role@place` by name, in order.
async fn roles_of(bench: &Bench, instance: &Instance) -> Vec<String> {
    let request = bench
        .direct
        .service(&KEYSTONE)
        .get("role_assignments")
        .query("user.id", instance.physical_id().unwrap())
        .query("include_names", "true")
        .send_for("role_assignments")
        .await
        .unwrap();
    let mut roles: Vec<String> = request
        .as_array()
        .unwrap()
        .iter()
        .map(|assignment| {
            let scope = &assignment["scope"];
            let place = scope["project"]["name"].as_str().or(scope["domain"]["name"].as_str());
            format!("{}@{}", assignment["role"]["name"].as_str().unwrap(), place.unwrap())
        })
        .collect();
    roles.sort();
    roles
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minimal_project() {
    let bench = Bench::new().await;
    let mut instance = bench.instance(&project::TYPE, json!({})).await;
    create(&mut instance).await.unwrap();
    assert_eq!(bench.proxy.take_calls(), ["POST /v3/projects"]);
    let shown = bench.shown(&instance).await;
    assert_fields(
        &shown,
        json!({"name": instance.physical_name(), "domain_id": "default", "description": "", "enabled": true,
               "tags": [], "parent_id": "default"}),
    );
    for name in ["name", "parent_id", "domain_id", "enabled", "is_domain"] {
        assert_eq!(attribute(&mut instance, name).await, shown[name], "{name}");
    }
    assert_fields(&whole(&mut instance).await, without_links(&shown));
    assert_eq!(
        project::TYPE.plugin.reference_id(&instance),
        shown["id"].as_str().unwrap()
    );
    delete(&mut instance).await.unwrap();
    // Gone, and gone again.
    delete(&mut instance).await.unwrap();
    let missing = project::TYPE.plugin.attribute(&mut instance, "name").await.unwrap_err();
    assert_eq!((missing.class, missing.remedy), ("NotFound", Remedy::Missing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_project_changes_in_place() {
    let bench = Bench::new().await;
    let name = format!("it-{}", Clock::system().new_uuid());
    let full = json!({"name": name, "domain": "Default", "description": "first", "enabled": false, "parent": "demo",
                      "tags": ["a", "b"]});
    let mut instance = bench.instance(&project::TYPE, full.clone()).await;
    create(&mut instance).await.unwrap();
    let demo = bench.direct.find(Entity::Project, "demo").await.unwrap();
    assert_fields(
        &bench.shown(&instance).await,
        json!({"name": name, "domain_id": "default", "description": "first", "enabled": false, "parent_id": demo,
               "tags": ["a", "b"]}),
    );

    let with = |changes: Value| {
        let mut properties = full.as_object().unwrap().clone();
        properties.extend(changes.as_object().unwrap().clone());
        Value::Object(properties)
    };
    bench.proxy.take_seen();
    let changes = json!({"description": "", "enabled": true, "tags": []});
    let changed = bench.update(&mut instance, with(changes.clone())).await.unwrap();
    assert_eq!(changed, Changed::InPlace);
    let seen = bench.proxy.take_seen();
    assert_eq!(seen.len(), 1);
    let sent: Value = serde_json::from_str(&seen[0].body).unwrap();
    // Without tags those stay that the project has.
    let changes = json!({"description": "", "enabled": true, "tags": ["a", "b"]});
    assert_eq!(
        sent,
        json!({"project": {"domain_id": "default", "tags": ["a", "b"], "description": "", "enabled": true}})
    );
    assert_fields(&bench.shown(&instance).await, changes);

    // Without a name of its own it gets the engine's.
    let mut unnamed = full.as_object().unwrap().clone();
    unnamed.remove("name");
    bench.update(&mut instance, Value::Object(unnamed)).await.unwrap();
    assert_fields(&bench.shown(&instance).await, json!({"name": instance.physical_name()}));
    // Nothing to change, nothing to send.
    bench.proxy.take_seen();
    let same =
        json!({"domain": "default", "description": "first", "enabled": false, "parent": demo, "tags": ["a", "b"]});
    bench.update(&mut instance, same).await.unwrap();
    assert!(bench.proxy.take_calls().is_empty());

    let elsewhere = bench
        .properties(&project::TYPE, with(json!({"parent": "alt_demo"})))
        .await;
    let changed = elsewhere.changed_since(&instance.properties).unwrap();
    assert!(!elsewhere.can_update(&changed), "another parent is another project");
    delete(&mut instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_shows_its_properties() {
    let bench = Bench::new().await;
    let mut instance = bench.instance(&project::TYPE, json!({"tags": ["x"]})).await;
    assert_eq!(project::TYPE.plugin.observe(&mut instance).await.unwrap(), None);
    create(&mut instance).await.unwrap();
    let path = format!("projects/{}", instance.physical_id().unwrap());
    let keystone = bench.direct.service(&KEYSTONE);
    let meddling = json!({"project": {"description": "meddled", "tags": ["y"]}});
    keystone.patch(&path, meddling).send().await.unwrap();
    let live = project::TYPE.plugin.observe(&mut instance).await.unwrap().unwrap();
    assert_eq!(
        Value::Object(live),
        json!({"description": "meddled", "enabled": true, "tags": ["y"], "domain": "default"})
    );
    delete(&mut instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minimal_user() {
    let bench = Bench::new().await;
    let mut instance = bench.instance(&user::TYPE, json!({})).await;
    create(&mut instance).await.unwrap();
    assert_eq!(bench.proxy.take_calls(), ["POST /v3/users"]);
    let shown = bench.shown(&instance).await;
    assert_fields(
        &shown,
        json!({"name": instance.physical_name(), "domain_id": "default", "description": "", "enabled": true}),
    );
    for name in [
        "name",
        "default_project_id",
        "domain_id",
        "enabled",
        "password_expires_at",
    ] {
        assert_eq!(attribute(&mut instance, name).await, shown[name], "{name}");
    }
    assert_fields(&whole(&mut instance).await, without_links(&shown));
    assert_eq!(user::TYPE.plugin.reference_id(&instance), shown["id"].as_str().unwrap());
    delete(&mut instance).await.unwrap();
    delete(&mut instance).await.unwrap();
    let missing = user::TYPE.plugin.attribute(&mut instance, "name").await.unwrap_err();
    assert_eq!((missing.class, missing.remedy), ("NotFound", Remedy::Missing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_user_changes_in_place() {
    let bench = Bench::new().await;
    let (first, second) = (Group::new(&bench).await, Group::new(&bench).await);
    let name = format!("it-{}", Clock::system().new_uuid());
    let full = json!({
        "name": name, "domain": "Default", "description": "first", "enabled": true, "email": "a@example.org",
        "password": "hush-1", "default_project": "demo", "groups": [first.name],
        "roles": [{"role": "member", "project": "demo"}, {"role": "reader", "domain": "Default"}],
    });
    let mut instance = bench.instance(&user::TYPE, full.clone()).await;
    create(&mut instance).await.unwrap();
    let demo = bench.direct.find(Entity::Project, "demo").await.unwrap();
    assert_fields(
        &bench.shown(&instance).await,
        json!({"name": name, "domain_id": "default", "description": "first", "enabled": true,
               "email": "a@example.org", "default_project_id": demo}),
    );
    assert_eq!(groups_of(&bench, &instance).await, [first.id.as_str()]);
    assert_eq!(roles_of(&bench, &instance).await, ["member@demo", "reader@Default"]);

    let live = user::TYPE.plugin.observe(&mut instance).await.unwrap().unwrap();
    let role = |name: &'static str| bench.direct.find(Entity::Role, name);
    let (member, reader) = (role("member").await.unwrap(), role("reader").await.unwrap());
    assert_eq!(
        sorted_roles(live),
        json!({
            "name": name, "description": "first", "enabled": true, "email": "a@example.org", "domain": "default",
            "default_project": demo, "groups": [first.id],
            "roles": sorted(vec![json!({"role": member, "domain": null, "project": demo}),
                                 json!({"role": reader, "domain": "default", "project": null})]),
        })
    );

    // Roles by id are the roles that they were by name.
    let to = json!({
        "name": name, "description": "second", "enabled": true, "email": "a@example.org", "password": "hush-2",
        "default_project": "alt_demo", "groups": [second.name],
        "roles": [{"role": member, "project": demo}, {"role": "member", "project": "alt_demo"}],
    });
    let id = instance.physical_id().unwrap().to_owned();
    bench.update(&mut instance, to).await.unwrap();
    assert_eq!(instance.physical_id(), Some(id.as_str()));
    let alt_demo = bench.direct.find(Entity::Project, "alt_demo").await.unwrap();
    assert_fields(
        &bench.shown(&instance).await,
        json!({"description": "second", "default_project_id": alt_demo}),
    );
    assert_eq!(groups_of(&bench, &instance).await, [second.id.as_str()]);
    assert_eq!(roles_of(&bench, &instance).await, ["member@alt_demo", "member@demo"]);

    bench.update(&mut instance, json!({})).await.unwrap();
    assert_fields(
        &bench.shown(&instance).await,
        json!({"name": instance.physical_name(), "description": "", "email": "a@example.org"}),
    );
    assert!(groups_of(&bench, &instance).await.is_empty());
    assert!(roles_of(&bench, &instance).await.is_empty());
    delete(&mut instance).await.unwrap();
    first.delete(&bench).await;
    second.delete(&bench).await;
}

fn sorted(mut roles: Vec<Value>) -> Value {
    roles.sort_by_key(Value::to_string);
    Value::Array(roles)
}

fn sorted_roles(mut live: Map<String, Value>) -> Value {
    let roles = live["roles"].as_array().unwrap().clone();
    live.insert("roles".to_owned(), sorted(roles));
    Value::Object(live)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_and_roles_that_went_away_do_not_hold_a_user_up() {
    let bench = Bench::new().await;
    let group = Group::new(&bench).await;
    let mut place = bench.instance(&project::TYPE, json!({})).await;
    create(&mut place).await.unwrap();
    let place_id = place.physical_id().unwrap().to_owned();
    let given = json!({"groups": [group.name], "roles": [{"role": "member", "project": place_id}]});
    let mut instance = bench.instance(&user::TYPE, given).await;
    create(&mut instance).await.unwrap();
    group.delete(&bench).await;
    delete(&mut place).await.unwrap();
    bench
        .update(&mut instance, json!({"description": "alone"}))
        .await
        .unwrap();
    delete(&mut instance).await.unwrap();
}

/// Breaks the first request of an operation, then its second, and so on. After each break the operation is done again,
/// as an engine would that finds the work unfinished; there must be one object in the end, in the state that was asked
/// for.
async fn broken_at_each_request(resource_type: &'static ResourceType, given: Value, groups: usize, roles: usize) {
    let bench = Bench::new().await;
    for fate in [Fate::Refuse(403, ""), Fate::LoseAnswer] {
        for broken in 0.. {
            let mut instance = bench.instance(resource_type, given.clone()).await;
            let was_broken = bench.proxy.break_request(broken, fate.clone());
            let first = create(&mut instance).await;
            let all_passed = !was_broken();
            bench.proxy.rule(|_| Fate::Pass);
            assert!(!all_passed || first.is_ok(), "{first:?}");
            if let (Err(failure), Fate::Refuse(403, _)) = (&first, &fate) {
                assert_eq!(
                    failure.reason("res"),
                    "Forbidden: resources.res: Refused by the test. (HTTP 403) (Request-ID: req-refused)"
                );
            }
            create(&mut instance).await.unwrap();
            assert_eq!(bench.count(&instance, &instance.physical_name()).await, 1);
            if instance.resource_type.name == user::TYPE.name {
                assert_eq!(groups_of(&bench, &instance).await.len(), groups);
                assert_eq!(roles_of(&bench, &instance).await.len(), roles);
            }

            let to = json!({"description": "changed"});
            let _ = bench.proxy.break_request(broken, fate.clone());
            let first = bench.update(&mut instance, to.clone()).await;
            bench.proxy.rule(|_| Fate::Pass);
            if first.is_err() {
                bench.update(&mut instance, to).await.unwrap();
            }
            assert_fields(&bench.shown(&instance).await, json!({"description": "changed"}));
            if instance.resource_type.name == user::TYPE.name {
                assert!(groups_of(&bench, &instance).await.is_empty());
                assert!(roles_of(&bench, &instance).await.is_empty());
            }

            let _ = bench.proxy.break_request(broken, fate.clone());
            let first = delete(&mut instance).await;
            bench.proxy.rule(|_| Fate::Pass);
            if first.is_err() {
                delete(&mut instance).await.unwrap();
            }
            assert_eq!(bench.count(&instance, &instance.physical_name()).await, 0);
            if all_passed {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_survives_each_broken_request() {
    broken_at_each_request(&project::TYPE, json!({"tags": ["a"]}), 0, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_survives_each_broken_request() {
    let bench = Bench::new().await;
    let group = Group::new(&bench).await;
    let given = json!({
        "groups": [group.name],
        "roles": [{"role": "member", "project": "demo"}, {"role": "reader", "domain": "default"}],
    });
    broken_at_each_request(&user::TYPE, given, 1, 2).await;
    group.delete(&bench).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_the_users_own_is_never_taken_over() {
    let bench = Bench::new().await;
    let mut instance = bench.instance(&project::TYPE, json!({"name": "demo"})).await;
    let refused = create(&mut instance).await.unwrap_err();
    assert_eq!(refused.class, "Conflict");
    assert!(refused.message.contains("(HTTP 409)"), "{refused}");
    assert_eq!(instance.physical_id(), None);
    delete(&mut instance).await.unwrap();
    assert!(bench.direct.find(Entity::Project, "demo").await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn templates_that_name_nothing_are_refused() {
    let bench = Bench::new().await;
    for (resource_type, given, refusal) in [
        (
            &project::TYPE,
            json!({"domain": "nowhere"}),
            "Property error: properties.domain: Error validating value 'nowhere': The KeystoneDomain (nowhere) could not \
             be found.",
        ),
        (
            &project::TYPE,
            json!({"parent": "nobody"}),
            "Property error: properties.parent: Error validating value 'nobody': The KeystoneProject (nobody) could not \
             be found.",
        ),
        (
            &user::TYPE,
            json!({"default_project": ""}),
            "Property error: properties.default_project: Error validating value '': The KeystoneProject () could not be \
             found.",
        ),
        (
            &user::TYPE,
            json!({"groups": ["nobody"]}),
            "Property error: properties.groups[0]: Error validating value 'nobody': The KeystoneGroup (nobody) could not \
             be found.",
        ),
        (
            &user::TYPE,
            json!({"roles": [{"role": "nothing", "project": "demo"}]}),
            "Property error: properties.roles[0].role: Error validating value 'nothing': The KeystoneRole (nothing) could \
             not be found.",
        ),
        (
            &user::TYPE,
            json!({"roles": [{"role": "member", "project": "demo", "domain": "default"}]}),
            "ResourcePropertyConflict: Cannot define the following properties at the same time: project, domain.",
        ),
        (
            &user::TYPE,
            json!({"roles": [{"role": "member"}]}),
            "StackValidationFailed: Either project or domain must be specified for role member",
        ),
    ] {
        assert_eq!(bench.refusal(resource_type, given).await.as_deref(), Some(refusal));
    }
    let sound = json!({"default_project": "demo", "roles": [{"role": "member", "project": "demo{default}"}]});
    assert_eq!(bench.refusal(&user::TYPE, sound).await, None);
}
