//! What the update policies of types may say: those of groups. All others may say nothing.

use crate::resource::constraints::Constraint;
use crate::resource::schema::Property;

const MAX_BATCH_SIZE: Property<'static> = Property::integer("max_batch_size")
    .default_int(1)
    .constrain(&[Constraint::range(Some(1), None)])
    .describe("So many members at a time.");
const MIN_IN_SERVICE: Property<'static> = Property::integer("min_in_service")
    .default_int(0)
    .constrain(&[Constraint::range(Some(0), None)])
    .describe("So many members stay in service meanwhile.");
const PAUSE_TIME: Property<'static> = Property::number("pause_time")
    .default_int(0)
    .constrain(&[Constraint::range(Some(0), None)])
    .describe("Seconds between two batches.");

const BATCH_CREATE: Property<'static> = Property::map("batch_create").keys(&[MAX_BATCH_SIZE, PAUSE_TIME]);

static OF_RESOURCE_GROUPS: &[Property<'static>] = &[
    Property::map("rolling_update").keys(&[MIN_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME]),
    BATCH_CREATE,
];

static OF_DEPLOYMENT_GROUPS: &[Property<'static>] = &[
    Property::map("rolling_update").keys(&[MAX_BATCH_SIZE, PAUSE_TIME]),
    BATCH_CREATE,
];

/// In the manner of CloudFormation, whose own types tell their limits when they are at work.
const OF_INSTANCES: &[Property<'static>] = &[
    Property::integer("MinInstancesInService").default_int(0),
    Property::integer("MaxBatchSize").default_int(1),
    Property::string("PauseTime").default_str("PT0S"),
];

static OF_INSTANCE_GROUPS: &[Property<'static>] = &[Property::map("RollingUpdate").keys(OF_INSTANCES)];

static OF_AWS_GROUPS: &[Property<'static>] = &[Property::map("AutoScalingRollingUpdate").keys(OF_INSTANCES)];

/// The schema of a type's update policy; empty where there is nothing that one could say.
pub fn of(type_name: &str) -> &'static [Property<'static>] {
    match type_name {
        "OS::Heat::ResourceGroup" => OF_RESOURCE_GROUPS,
        "OS::Heat::SoftwareDeploymentGroup"
        | "OS::Heat::SoftwareDeployments"
        | "OS::Heat::StructuredDeploymentGroup"
        | "OS::Heat::StructuredDeployments" => OF_DEPLOYMENT_GROUPS,
        "OS::Heat::InstanceGroup" => OF_INSTANCE_GROUPS,
        "AWS::AutoScaling::AutoScalingGroup" => OF_AWS_GROUPS,
        _ => &[],
    }
}
