//! Checks that need the cloud's availability zones.

use serde_json::json;

use crate::convergence::site::{Site, create_arguments};
use crate::nova::{Nova, REGION_OF_KEYSTONE};

#[tokio::test(flavor = "multi_thread")]
async fn nova_is_asked_by_hand_too() {
    let nova = Nova::start(&["north", "south"]).await;
    let site = Site::new("handzones", &format!("{}\n{REGION_OF_KEYSTONE}", super::PASSIVE)).await;
    let engine = site.engine().await;
    let resource = |properties| json!({"Type": "OS::Heat::TestResource", "Properties": properties});
    let mut zoned = resource(json!({"value": {"Fn::Join": ["-", {"Fn::GetAZs": ""}]}}));
    zoned["DependsOn"] = "Wait".into();
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {"Wait": resource(json!({"action_wait_secs": {"create": 4}})), "Zoned": zoned},
    });
    let arguments = create_arguments("zones", template, json!({}));
    let created = site.caller().try_call_as(&nova.user(), "create_stack", arguments).await;
    created.expect("the stack is created");
    let stack = site.find("zones").await.expect("it is stored");
    site.until_resource(&stack, "Wait", "CREATE_IN_PROGRESS").await;
    site.kill(engine).await;
    site.replay_to_the_end(&stack);
    site.until_settled(&stack, "CREATE_COMPLETE").await;
    let values = "SELECT d.value FROM resource_data d JOIN resource r ON r.id = d.resource_id \
                  WHERE r.name = 'Zoned' AND d.`key` = 'value'";
    assert_eq!(site.texts(values).await, ["north-south"]);
    site.close().await;
    nova.close().await;
}
