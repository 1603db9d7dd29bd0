//! Rules of the types with Amazon's names.

use super::Table;
use super::heat::LAUNCH_CONFIGURATION;
use crate::resource::rules::Condition::{Any, Below, Exceeds, Given, IsNot, Longer, Set, Unset};
use crate::resource::rules::Refusal::{self, Conflict, Invalid, Unspecified, Unsupported, ValueDependency};
use crate::resource::rules::Rule::{self, Each, Refuse};

pub(super) static RULES: Table = &[
    (
        "AWS::AutoScaling::AutoScalingGroup",
        &[
            Refuse(
                &[Exceeds("MinSize", "MaxSize")],
                Invalid("MinSize can not be greater than MaxSize"),
            ),
            Refuse(
                &[Below("MinSize", 0)],
                Invalid("The size of AutoScalingGroup can not be less than zero"),
            ),
            Refuse(
                &[Any(&[
                    Exceeds("MinSize", "DesiredCapacity"),
                    Exceeds("DesiredCapacity", "MaxSize"),
                ])],
                Invalid("DesiredCapacity must be between MinSize and MaxSize"),
            ),
            Refuse(
                &[Longer("VPCZoneIdentifier", 1)],
                Unsupported("Anything other than one VPCZoneIdentifier"),
            ),
            Refuse(&[Set(&["InstanceId", "LaunchConfigurationName"])], ONE_SOURCE),
            Refuse(&[Unset(&["InstanceId", "LaunchConfigurationName"])], ONE_SOURCE),
            LAUNCH_CONFIGURATION,
        ],
    ),
    (
        "AWS::AutoScaling::LaunchConfiguration",
        &[
            DEVICES,
            Refuse(
                &[
                    Unset(&["InstanceId"]),
                    Any(&[Unset(&["ImageId"]), Unset(&["InstanceType"])]),
                ],
                Invalid("If without InstanceId, ImageId and InstanceType are required."),
            ),
        ],
    ),
    (
        "AWS::AutoScaling::ScalingPolicy",
        &[Refuse(
            &[
                Given(&["MinAdjustmentStep"]),
                IsNot("AdjustmentType", &["PercentChangeInCapacity"]),
            ],
            ValueDependency("MinAdjustmentStep", "AdjustmentType", "PercentChangeInCapacity"),
        )],
    ),
    (
        "AWS::EC2::EIPAssociation",
        &[
            Refuse(&[Set(&["EIP", "AllocationId"])], ONE_ADDRESS),
            Refuse(&[Unset(&["EIP", "AllocationId"])], ONE_ADDRESS),
            Refuse(
                &[Set(&["EIP"]), Unset(&["InstanceId"])],
                Invalid("Must specify 'InstanceId' if you specify 'EIP'."),
            ),
            Refuse(
                &[Unset(&["InstanceId", "NetworkInterfaceId"])],
                Unspecified(&["InstanceId", "NetworkInterfaceId"]),
            ),
        ],
    ),
    (
        "AWS::EC2::Instance",
        &[
            Refuse(
                &[
                    Any(&[Set(&["SecurityGroups"]), Set(&["SecurityGroupIds"])]),
                    Set(&["NetworkInterfaces"]),
                ],
                Conflict(&["SecurityGroups/SecurityGroupIds", "NetworkInterfaces"]),
            ),
            DEVICES,
        ],
    ),
    (
        "AWS::ElasticLoadBalancing::LoadBalancer",
        &[Each(
            "HealthCheck",
            &[Refuse(
                &[Exceeds("Timeout", "Interval")],
                Invalid("Interval must be larger than Timeout"),
            )],
        )],
    ),
];

const ONE_SOURCE: Refusal = Invalid("Either 'InstanceId' or 'LaunchConfigurationName' must be provided.");

const ONE_ADDRESS: Refusal = Invalid("Either 'EIP' or 'AllocationId' must be provided.");

/// Disks are made from snapshots.
const DEVICES: Rule = Each(
    "BlockDeviceMappings",
    &[
        Refuse(
            &[Unset(&["Ebs"])],
            Invalid("Ebs is missing, this is required when specifying BlockDeviceMappings."),
        ),
        Each(
            "Ebs",
            &[Refuse(
                &[Unset(&["SnapshotId"])],
                Invalid("SnapshotId is missing, this is required when specifying BlockDeviceMappings."),
            )],
        ),
    ],
);
