//! Rules of load balancers.

use super::Table;
use crate::resource::rules::Condition::{Any, Given, Is, Missing, Set, Unset};
use crate::resource::rules::Refusal::{Invalid, ValueDependency};
use crate::resource::rules::Rule::{Each, OneOf, Refuse};

pub(super) static RULES: Table = &[
    (
        "OS::Octavia::L7Policy",
        &[
            Refuse(
                &[
                    Is("action", &["REJECT"]),
                    Any(&[Given(&["redirect_pool"]), Given(&["redirect_url"])]),
                ],
                Invalid(
                    "Properties redirect_pool and redirect_url are not required when action type is set to REJECT.",
                ),
            ),
            Refuse(
                &[Is("action", &["REDIRECT_TO_POOL"]), Given(&["redirect_url"])],
                ValueDependency("redirect_url", "action", "REDIRECT_TO_URL"),
            ),
            Refuse(
                &[Is("action", &["REDIRECT_TO_POOL"]), Missing(&["redirect_pool"])],
                Invalid("Property redirect_pool is required when action type is set to REDIRECT_TO_POOL."),
            ),
            Refuse(
                &[Is("action", &["REDIRECT_TO_URL"]), Given(&["redirect_pool"])],
                ValueDependency("redirect_pool", "action", "REDIRECT_TO_POOL"),
            ),
            Refuse(
                &[Is("action", &["REDIRECT_TO_URL"]), Missing(&["redirect_url"])],
                Invalid("Property redirect_url is required when action type is set to REDIRECT_TO_URL."),
            ),
        ],
    ),
    (
        "OS::Octavia::L7Rule",
        &[Refuse(
            &[Is("type", &["HEADER", "COOKIE"]), Missing(&["key"])],
            Invalid("Property key is missing. This property should be specified for rules of HEADER and COOKIE types."),
        )],
    ),
    (
        "OS::Octavia::Listener",
        &[Refuse(
            &[
                Is("protocol", &["TERMINATED_HTTPS"]),
                Missing(&["default_tls_container_ref"]),
            ],
            Invalid("Property default_tls_container_ref required when protocol is TERMINATED_HTTPS."),
        )],
    ),
    (
        "OS::Octavia::Pool",
        &[
            OneOf(&["listener", "loadbalancer"]),
            Each(
                "session_persistence",
                &[
                    Refuse(
                        &[Is("type", &["APP_COOKIE"]), Unset(&["cookie_name"])],
                        Invalid("Property cookie_name is required when session_persistence type is set to APP_COOKIE."),
                    ),
                    Refuse(
                        &[Is("type", &["SOURCE_IP"]), Set(&["cookie_name"])],
                        Invalid(
                            "Property cookie_name must NOT be specified when session_persistence type is set to \
                             SOURCE_IP.",
                        ),
                    ),
                ],
            ),
        ],
    ),
    (
        "OS::Octavia::Quota",
        &[OneOf(&["healthmonitor", "listener", "loadbalancer", "member", "pool"])],
    ),
];
