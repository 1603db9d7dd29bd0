//! `OS::Heat::TestResource`: does nothing, in any of the ways that an object may do something.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::PHYSICAL_NAME_LIMIT;
use crate::cloud::{KEYSTONE, NEUTRON, Service, segment};
use crate::python::number::PyNumber;
use crate::resource::attributes::Attribute;
use crate::resource::constraints::Constraint;
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::plugin::{Change, Changed, Plugin, Progress, ResourceType};
use crate::resource::properties::{Properties, PropertyError};
use crate::resource::schema::Property;
use crate::resource::state::Action;
use crate::resource::support::SupportStatus;

pub static TYPE: ResourceType = ResourceType {
    name: "OS::Heat::TestResource",
    python_class: "TestResource",
    description: "\
A resource which stores the string value that was provided.

This resource is to be used only for testing.
It has control knobs such as 'update_replace', 'fail', 'wait_secs'.",
    support: SupportStatus::since("5.0.0"),
    service: None,
    properties: PROPERTIES,
    attributes: ATTRIBUTES,
    translation: &[],
    rules: &[],
    physical_name_limit: PHYSICAL_NAME_LIMIT,
    plugin: &TestPlugin,
};

const VALUE: &str = "value";
const FAIL: &str = "fail";
const UPDATE_REPLACE: &str = "update_replace";
const WAIT_SECS: &str = "wait_secs";
const ACTION_WAIT_SECS: &str = "action_wait_secs";
const ATTR_WAIT_SECS: &str = "attr_wait_secs";
const CLIENT_NAME: &str = "client_name";
const ENTITY_NAME: &str = "entity_name";

static PROPERTIES: &[Property] = &[
    Property::number("constraint_prop_secs")
        .describe("Number value for delay during resolve constraint.")
        .default_int(0)
        .constrain(&[Constraint::custom("test_constr")])
        .update_allowed()
        .since("6.0.0"),
    Property::number(ATTR_WAIT_SECS)
        .describe("Number value for timeout during resolving output value.")
        .default_int(0)
        .update_allowed()
        .since("6.0.0"),
    Property::string(VALUE)
        .describe("The input string to be stored.")
        .default_str("test_string")
        .update_allowed(),
    Property::string("update_replace_value")
        .describe("Some value that can be stored but can not be updated.")
        .since("7.0.0"),
    Property::boolean(FAIL)
        .describe("Value which can be set to fail the resource operation to test failure scenarios.")
        .default_bool(false)
        .update_allowed(),
    Property::boolean(UPDATE_REPLACE)
        .describe("Value which can be set to trigger update replace for the particular resource.")
        .default_bool(false)
        .update_allowed(),
    Property::number(WAIT_SECS)
        .describe("Seconds to wait after an action (-1 is infinite).")
        .default_int(0)
        .update_allowed(),
    Property::map(ACTION_WAIT_SECS)
        .describe("Options for simulating waiting.")
        .keys(&[
            Property::number("create")
                .describe("Seconds to wait after a create. Defaults to the global wait_secs.")
                .update_allowed(),
            Property::number("update")
                .describe("Seconds to wait after an update. Defaults to the global wait_secs.")
                .update_allowed(),
            Property::number("delete")
                .describe("Seconds to wait after a delete. Defaults to the global wait_secs.")
                .update_allowed(),
        ])
        .update_allowed(),
    Property::string(CLIENT_NAME)
        .describe("Client to poll.")
        .default_str("")
        .update_allowed(),
    Property::string(ENTITY_NAME)
        .describe("Client entity to poll.")
        .default_str("")
        .update_allowed(),
];

static ATTRIBUTES: &[Attribute] = &[Attribute::untyped("output")
    .describe("The string that was stored. This value is also available by referencing the resource.")
    .not_cached()];

/// Between two looks at a wait that has no end, or that a service is asked about.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

struct TestPlugin;

#[async_trait]
impl Plugin for TestPlugin {
    async fn make(&self, instance: &mut Instance) -> Result<(), Failure> {
        if instance.properties.is_true(FAIL)? {
            return Ok(());
        }
        store_value(instance).await?;
        let name = instance.physical_name();
        instance.set_physical_id(Some(&name)).await
    }

    async fn settle(&self, instance: &mut Instance, action: Action, waited: Duration) -> Result<Progress, Failure> {
        let progress = self.progress(instance, action, waited).await?;
        if progress == Progress::Done {
            fail_if_asked_to(instance)?;
        }
        Ok(progress)
    }

    /// Only a new value takes time.
    async fn change(&self, instance: &mut Instance, change: &Change<'_>) -> Result<Changed, Failure> {
        let new_value = change.touches(VALUE) && change.after.is_true(VALUE)?;
        if !new_value {
            fail_if_asked_to(instance)?;
            return Ok(Changed::AtOnce);
        }
        if !instance.properties.is_true(FAIL)? {
            store_value(instance).await?;
        }
        Ok(Changed::InPlace)
    }

    async fn gone(&self, instance: &mut Instance, waited: Duration) -> Result<Progress, Failure> {
        self.progress(instance, Action::Delete, waited).await
    }

    async fn attribute(&self, instance: &mut Instance, _name: &str) -> Result<Option<Value>, Failure> {
        let seconds = instance.properties.number(ATTR_WAIT_SECS)?.unwrap_or(0.0);
        tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
        Ok(instance.data(VALUE).map(Value::from))
    }

    async fn check(&self, instance: &mut Instance) -> Option<Result<(), Failure>> {
        Some(match instance.physical_id() {
            Some(_) => Ok(()),
            None => Err(Failure::terminal("Exception", "Resource not created")),
        })
    }

    fn needs_replace(&self, change: &Change<'_>) -> bool {
        change.touches(VALUE) && change.after.is_true(UPDATE_REPLACE).unwrap_or(false)
    }
}

async fn store_value(instance: &mut Instance) -> Result<(), Failure> {
    let value = instance.properties.get(VALUE)?;
    instance
        .set_data(VALUE, value.as_str().unwrap_or_default(), false)
        .await
}

fn fail_if_asked_to(instance: &Instance) -> Result<(), Failure> {
    if instance.properties.is_true(FAIL)? {
        return Err(Failure::terminal(
            "ValueError",
            format!("Test Resource failed {}", instance.name),
        ));
    }
    Ok(())
}

impl TestPlugin {
    async fn progress(&self, instance: &Instance, action: Action, waited: Duration) -> Result<Progress, Failure> {
        let remaining = match seconds_to_wait(&instance.properties, action)? {
            endless if endless < 0.0 => Duration::MAX,
            seconds => time_span(seconds)?.saturating_sub(waited),
        };
        if remaining.is_zero() {
            return Ok(Progress::Done);
        }
        let asked = ask_service(instance).await?;
        let endless = remaining == Duration::MAX;
        Ok(Progress::Again(if asked || endless {
            remaining.min(LOOK_AGAIN)
        } else {
            remaining
        }))
    }
}

/// A wait that Python's `timedelta` cannot hold fails the resource, in its words.
fn time_span(seconds: f64) -> Result<Duration, Failure> {
    const DAY: f64 = 86_400.0;
    const MOST_DAYS: f64 = 999_999_999.0;
    let overflow = |message: String| Err(Failure::terminal("OverflowError", message));
    let days = (seconds / DAY).floor();
    if seconds.is_infinite() {
        return overflow("cannot convert float infinity to integer".to_owned());
    }
    if days > f64::from(i32::MAX) {
        return overflow("Python int too large to convert to C int".to_owned());
    }
    if days > MOST_DAYS {
        return overflow(format!("days={days}; must have magnitude <= {MOST_DAYS}"));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO))
}

fn seconds_to_wait(properties: &Properties, action: Action) -> Result<f64, PropertyError> {
    let of_action = properties.map(ACTION_WAIT_SECS)?;
    let seconds = of_action.get(&action.as_str().to_lowercase()).and_then(PyNumber::of);
    match seconds {
        Some(seconds) => Ok(seconds.as_f64()),
        None => Ok(properties.number(WAIT_SECS)?.unwrap_or(0.0)),
    }
}

/// Asks the service for the object whose id is the value, as long as the wait lasts. The load is all that is wanted of
/// it: neither the answer nor an error matters.
async fn ask_service(instance: &Instance) -> Result<bool, Failure> {
    const SERVICES: [&Service; 2] = [&KEYSTONE, &NEUTRON];
    let Some(client_name) = instance.properties.text(CLIENT_NAME)? else {
        return Ok(false);
    };
    let Some(entity) = instance.properties.text(ENTITY_NAME)? else {
        return Ok(false);
    };
    let id = instance
        .data(VALUE)
        .filter(|value| !value.is_empty())
        .or(instance.physical_id());
    let service = SERVICES.into_iter().find(|service| service.name == client_name);
    if let (Some(service), Some(id)) = (service, id) {
        let path = format!("{}/{}", segment(&entity), segment(id));
        if let Err(error) = instance.session.service(service).get(path).send().await {
            tracing::debug!(client_name, entity, id, %error, "the service has no such object");
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::testing;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    async fn change(before: Value, after: Value) -> (Result<Changed, Failure>, Vec<String>, bool) {
        let (mut instance, notes) = testing::instance(&TYPE, after);
        let before = testing::properties(&TYPE, before);
        let after = instance.properties.clone();
        let changed = after.changed_since(&before).unwrap();
        let change = Change {
            after: &after,
            before: &before,
            changed: &changed,
            definition_changed: false,
        };
        let replaces = TYPE.plugin.needs_replace(&change);
        (
            TYPE.plugin.change(&mut instance, &change).await,
            notes.taken(),
            replaces,
        )
    }

    #[tokio::test]
    async fn the_value_is_stored_before_the_id() {
        let (mut instance, notes) = testing::instance(&TYPE, json!({"value": 5}));
        TYPE.plugin.make(&mut instance).await.unwrap();
        assert_eq!(notes.taken(), ["value=5", "id stack-res-aymwn3ig4d3h"]);
    }

    #[tokio::test]
    async fn what_fails_stores_nothing_and_says_so_in_the_end() {
        let (mut instance, notes) = testing::instance(&TYPE, json!({"fail": true, "wait_secs": 2}));
        let plugin = TYPE.plugin;
        plugin.make(&mut instance).await.unwrap();
        assert!(notes.taken().is_empty());
        let early = plugin.settle(&mut instance, Action::Create, seconds(1)).await.unwrap();
        assert_eq!(early, Progress::Again(seconds(1)));
        let failure = plugin
            .settle(&mut instance, Action::Create, seconds(2))
            .await
            .unwrap_err();
        assert_eq!(
            failure.reason("res"),
            "ValueError: resources.res: Test Resource failed res"
        );
        let gone = plugin.gone(&mut instance, seconds(2)).await.unwrap();
        assert_eq!(gone, Progress::Done);
    }

    #[tokio::test]
    async fn each_action_may_take_its_own_time() {
        let given = json!({"wait_secs": 9, "action_wait_secs": {"create": 2, "delete": "0"}});
        let (mut instance, _) = testing::instance(&TYPE, given);
        let plugin = TYPE.plugin;
        for (action, waits) in [(Action::Create, 2), (Action::Update, 9)] {
            let progress = plugin.settle(&mut instance, action, seconds(0)).await.unwrap();
            assert_eq!(progress, Progress::Again(seconds(waits)), "{action:?}");
        }
        let gone = plugin.gone(&mut instance, seconds(0)).await.unwrap();
        assert_eq!(gone, Progress::Done);
    }

    #[tokio::test]
    async fn a_negative_wait_never_ends() {
        let (mut instance, _) = testing::instance(&TYPE, json!({"wait_secs": -1}));
        let progress = TYPE
            .plugin
            .settle(&mut instance, Action::Create, seconds(1 << 40))
            .await
            .unwrap();
        assert_eq!(progress, Progress::Again(LOOK_AGAIN));
    }

    #[test]
    fn no_wait_is_longer_than_python_can_tell() {
        assert_eq!(time_span(2.5).unwrap(), Duration::from_millis(2500));
        assert_eq!(time_span(f64::NAN).unwrap(), Duration::ZERO);
        for (seconds, message) in [
            (1e14, "days=1157407407; must have magnitude <= 999999999"),
            (1e30, "Python int too large to convert to C int"),
            (f64::INFINITY, "cannot convert float infinity to integer"),
        ] {
            let failure = time_span(seconds).unwrap_err();
            assert_eq!((failure.class, failure.message.as_str()), ("OverflowError", message));
        }
    }

    #[tokio::test]
    async fn only_a_new_value_takes_time_in_an_update() {
        let (changed, notes, replaces) = change(json!({"value": "a"}), json!({"value": "b"})).await;
        assert_eq!(
            (changed.unwrap(), notes, replaces),
            (Changed::InPlace, vec!["value=b".to_owned()], false)
        );
        let (changed, notes, _) = change(json!({"wait_secs": 1}), json!({"wait_secs": 2})).await;
        assert_eq!((changed.unwrap(), notes), (Changed::AtOnce, vec![]));
    }

    #[tokio::test]
    async fn an_update_fails_or_replaces_where_it_is_asked_to() {
        let (changed, notes, _) = change(json!({}), json!({"fail": true})).await;
        assert_eq!(changed.unwrap_err().message, "Test Resource failed res");
        assert!(notes.is_empty());
        let (changed, notes, _) = change(json!({}), json!({"fail": true, "value": "b"})).await;
        assert_eq!((changed.unwrap(), notes), (Changed::InPlace, vec![]));
        let (_, _, replaces) = change(json!({}), json!({"update_replace": true, "value": "b"})).await;
        assert!(replaces);
        let (_, _, replaces) = change(json!({}), json!({"update_replace": true})).await;
        assert!(!replaces);
    }
}
