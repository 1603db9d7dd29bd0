//! `[oslo_policy]`: where the rules are that say who may use a resource type.

use std::path::PathBuf;

use serde::Deserialize;

use super::option::*;

const NO_REMOTE_RULES: &str = "rules that ask a web service (`http:`) are refused when the policy is read";

pub const OPTIONS: &[OptionSpec] = &[
    text("policy_file", "policy.yaml"),
    repeated("policy_dirs", &["policy.d"]),
    text("policy_default_rule", "default"),
    boolean("enforce_new_defaults", true),
    choice(
        "remote_content_type",
        "application/x-www-form-urlencoded",
        &["application/x-www-form-urlencoded", "application/json"],
    )
    .instead(NO_REMOTE_RULES),
    boolean("remote_ssl_verify_server_crt", false).instead(NO_REMOTE_RULES),
    text_unset("remote_ssl_ca_crt_file").instead(NO_REMOTE_RULES),
    text_unset("remote_ssl_client_crt_file").instead(NO_REMOTE_RULES),
    text_unset("remote_ssl_client_key_file").instead(NO_REMOTE_RULES),
    number("remote_timeout", "60").min(0).instead(NO_REMOTE_RULES),
];

#[derive(Clone, Debug, Deserialize)]
pub struct PolicySettings {
    /// A relative path is looked for in the configuration directories ([`super::Settings::find_file`]).
    pub policy_file: PathBuf,
    pub policy_dirs: Vec<PathBuf>,
    pub policy_default_rule: String,
    pub enforce_new_defaults: bool,
}
