//! `Fn::GetAZs`: when nova is asked, as whom, and what comes of it if it does not answer. (What users see of it is compared
//! with the oracle: `tests/conformance/run zones`.)

use std::time::{Duration, Instant};

use heat_engine::cloud::CloudError;
use heat_engine::exception::RemoteException;
use heat_engine::identity::RequestContext;
use heat_engine::messaging::CallError;
use serde_json::{Map, Value, json};

use crate::cloud::{cloud_with, lab_options};
use crate::convergence::site::{Site, Stack, create_arguments};
use crate::fault_proxy::Fate;
use crate::lab::Lab;
use crate::nova::{Nova, REGION_OF_KEYSTONE};

const ASKED: &str = "GET /v2.1/os-availability-zone";

fn template(resources: Value, outputs: Value) -> Value {
    json!({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources, "Outputs": outputs})
}

fn test_resource(value: Value) -> Value {
    json!({"Type": "OS::Heat::TestResource", "Properties": {"value": value}})
}

fn joined() -> Value {
    json!({"Fn::Join": [",", {"Fn::GetAZs": ""}]})
}

impl Site {
    async fn call_as(&self, user: &Map<String, Value>, method: &str, arguments: Value) -> Value {
        let answer = self.caller().try_call_as(user, method, arguments).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    async fn create_as(&self, user: &Map<String, Value>, name: &str, template: Value) -> Stack {
        self.call_as(user, "create_stack", create_arguments(name, template, json!({})))
            .await;
        self.find(name).await.expect("it is stored")
    }

    async fn output(&self, user: &Map<String, Value>, stack: &Stack, name: &str) -> Value {
        let mut arguments = stack.delete_arguments();
        arguments["output_key"] = name.into();
        self.call_as(user, "show_output", arguments).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nova_is_asked_where_a_value_is_about_to_be_looked_at_and_only_there() {
    let nova = Nova::start(&["north", "south"]).await;
    let site = Site::new("zones", REGION_OF_KEYSTONE).await;
    let _engine = site.engine().await;
    let user = nova.user();
    let with_zones = || {
        template(
            json!({
                "Zoned": test_resource(joined()),
                "Plain": test_resource("x".into()),
                "Other": test_resource("y".into()),
            }),
            json!({
                "Zones": {"Value": {"Fn::GetAZs": ""}},
                "Again": {"Value": joined()},
                "Plain": {"Value": {"Fn::GetAtt": ["Plain", "output"]}},
            }),
        )
    };
    let validated = json!({"template": with_zones(), "params": {}});
    let told = site.call_as(&user, "validate_template", validated).await;
    assert_eq!(told["Description"], "No description");
    assert_eq!(nova.door.take_calls(), [""; 0]);

    let stack = site.create_as(&user, "zoned", with_zones()).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    // Once when the stack was validated, and once when its one resource was made.
    assert_eq!(nova.door.take_calls(), [ASKED, ASKED]);

    let told = site.output(&user, &stack, "Plain").await;
    assert_eq!(told["output_value"], "x");
    site.call_as(&user, "list_stack_resources", stack.delete_arguments())
        .await;
    assert_eq!(nova.door.take_calls(), [""; 0]);
    let told = site.output(&user, &stack, "Again").await;
    assert_eq!(told["output_value"], "north,south");
    assert_eq!(nova.door.take_calls(), [ASKED]);
    let mut arguments = stack.delete_arguments();
    arguments["resolve_outputs"] = true.into();
    let shown = site.call_as(&user, "show_stack", arguments).await;
    assert_eq!(shown[0]["outputs"][0]["output_value"], json!(["north", "south"]));
    assert_eq!(nova.door.take_calls(), [ASKED]);

    site.call_as(&user, "delete_stack", stack.delete_arguments()).await;
    site.until(&stack, "gone").await;
    let plain = template(json!({"Plain": test_resource("x".into())}), json!({}));
    let stack = site.create_as(&user, "plain", plain).await;
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    assert_eq!(nova.door.take_calls(), [""; 0]);
    site.close().await;
    nova.close().await;
}

/// The oracle begins with such a resource again and again, until the time of its stack is over.
#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_cannot_be_told_fails_the_resource() {
    let nova = Nova::start(&["nova"]).await;
    let site = Site::new("zonesmeta", REGION_OF_KEYSTONE).await;
    let _engine = site.engine().await;
    nova.answer(403, &json!({"forbidden": {"code": 403, "message": "Not for you."}}));
    let mut resource = test_resource("x".into());
    resource["Metadata"] = json!({"zones": {"Fn::GetAZs": ""}});
    let of_metadata = || template(json!({"It": resource}), json!({}));
    let stack = site.create_as(&nova.user(), "meta", of_metadata()).await;
    site.until_settled(&stack, "CREATE_FAILED").await;
    assert_eq!(site.reason(&stack).await, "Not for you. (HTTP 403)");

    nova.serve(&["nova"]);
    let update = stack.update_arguments(of_metadata(), json!({}));
    site.call_as(&nova.user(), "update_stack", update).await;
    site.until_settled(&stack, "UPDATE_COMPLETE").await;
    let kept = site.texts("SELECT rsrc_metadata FROM resource").await;
    assert_eq!(kept, [r#"{"zones": ["nova"]}"#]);
    site.close().await;
    nova.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nova_that_is_away_does_not_hold_anybody_up() {
    let nova = Nova::away().await;
    let site = Site::new("zonesaway", REGION_OF_KEYSTONE).await;
    let _engine = site.engine().await;
    let began = Instant::now();
    let template = template(json!({"It": test_resource(joined())}), json!({}));
    let arguments = create_arguments("away", template, json!({}));
    let refused = site.caller().try_call_as(&nova.user(), "create_stack", arguments).await;
    let Err(CallError::Remote { fault, .. }) = refused else {
        panic!("it is not refused: {refused:?}");
    };
    assert_eq!(fault.class, "StackValidationFailed");
    let expected = "Property error: Resources.It.Properties.value: Unable to establish connection to \
                    http://127.0.0.1:9/v2.1/os-availability-zone: ";
    assert!(fault.message.starts_with(expected), "{}", fault.message);
    // Two repetitions with their pauses, and a machine with other work.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    site.close().await;
    nova.close().await;
}

/// Somebody of the region of `nova`, who can log in.
fn with_password(nova: &Nova) -> RequestContext {
    let user = nova.user();
    let text = |key: &str| user[key].as_str().map(str::to_owned);
    RequestContext {
        username: Some("demo".to_owned()),
        password: Some(Lab::get().keystone.demo_password.clone()),
        user_domain_id: Some("default".to_owned()),
        project_id: text("project_id"),
        auth_url: text("auth_url"),
        region_name: text("region_name"),
        request_id: "req-1".to_owned(),
        ..RequestContext::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nova_answers_is_judged_as_for_every_service() {
    let nova = Nova::start(&["a", "b"]).await;
    let mut options = lab_options();
    options.keystone_region_name = Some("RegionOne".to_owned());
    let cloud = cloud_with(options);
    let session = cloud.session(&with_password(&nova)).expect("a session");
    assert_eq!(session.availability_zones().await.expect("zones"), ["a", "b"]);
    let zones = json!({"availabilityZoneInfo": [{"zoneName": "a"}]}).to_string();

    // A token that is refused is renewed, once; a service that is unavailable is asked again.
    for status in [401, 503] {
        nova.door.next(
            ASKED,
            [Fate::Answer(status, "{}".to_owned()), Fate::Answer(200, zones.clone())],
        );
        nova.door.take_seen();
        assert_eq!(session.availability_zones().await.expect("zones"), ["a"]);
        let seen = nova.door.take_seen();
        assert_eq!(seen.len(), 2);
        let token = |number: usize| seen[number].header("x-auth-token").expect("a token").to_owned();
        assert_eq!(token(0) != token(1), status == 401);
    }
    for (status, body, class, message) in [
        (
            403,
            json!({"forbidden": {"message": "no"}}),
            "Forbidden",
            "no (HTTP 403)",
        ),
        (500, json!({}), "ClientException", "Unknown Error (HTTP 500)"),
    ] {
        nova.answer(status, &body);
        nova.door.take_seen();
        let error = session.availability_zones().await.expect_err("no zones");
        assert_eq!((error.class_name(), error.to_string().as_str()), (class, message));
        assert_eq!(error.module(), "novaclient.exceptions");
        assert_eq!(nova.door.take_calls().len(), 1);
    }
    nova.answer(200, &json!({"availabilityZoneInfo": [{"name": "a"}]}));
    let error = session.availability_zones().await.expect_err("no zones");
    assert!(matches!(error, CloudError::InvalidResponse { .. }), "{error:?}");
    nova.close().await;
}
