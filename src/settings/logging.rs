//! `[DEFAULT]`, as far as it is oslo.log's.

use std::path::PathBuf;

use serde::Deserialize;

use super::option::*;

const FIXED_FORMAT: &str = "the field order of the default format is fixed; JSON by `use_json`";
const ROTATE_OUTSIDE: &str = "logrotate does it, with a SIGHUP afterwards (the file is opened anew)";

pub const OPTIONS: &[OptionSpec] = &[
    boolean("debug", false),
    text_unset("log_config_append")
        .formerly(&[was("log-config"), was("log_config")])
        .instead("a file of Python's logging module cannot be used; set levels with `default_log_levels`"),
    text("log_date_format", "%Y-%m-%d %H:%M:%S"),
    text_unset("log_file").formerly(&[was("logfile")]),
    text_unset("log_dir").formerly(&[was("logdir")]),
    boolean("use_syslog", false),
    boolean("use_journal", false),
    text("syslog_log_facility", "LOG_USER"),
    boolean("use_json", false),
    boolean("use_stderr", false),
    boolean("log_color", false),
    integer("log_rotate_interval", "1").instead(ROTATE_OUTSIDE),
    choice_any_case(
        "log_rotate_interval_type",
        "days",
        &["Seconds", "Minutes", "Hours", "Days", "Weekday", "Midnight"],
    )
    .instead(ROTATE_OUTSIDE),
    integer("max_logfile_count", "30").instead(ROTATE_OUTSIDE),
    integer("max_logfile_size_mb", "200").instead(ROTATE_OUTSIDE),
    choice_any_case("log_rotation_type", "none", &["interval", "size", "none"]).instead(ROTATE_OUTSIDE),
    text(
        "logging_context_format_string",
        "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [%(global_request_id)s %(request_id)s \
         %(user_identity)s] %(instance)s%(message)s",
    )
    .instead(FIXED_FORMAT),
    text(
        "logging_default_format_string",
        "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [-] %(instance)s%(message)s",
    )
    .instead(FIXED_FORMAT),
    text("logging_debug_format_suffix", "%(funcName)s %(pathname)s:%(lineno)d").instead(FIXED_FORMAT),
    text(
        "logging_exception_prefix",
        "%(asctime)s.%(msecs)03d %(process)d ERROR %(name)s %(instance)s",
    )
    .instead(FIXED_FORMAT),
    text(
        "logging_user_identity_format",
        "%(user)s %(project)s %(domain)s %(system_scope)s %(user_domain)s %(project_domain)s",
    )
    .instead(FIXED_FORMAT),
    text("instance_format", "[instance: %(uuid)s] ").instead(FIXED_FORMAT),
    text("instance_uuid_format", "[instance: %(uuid)s] ").instead(FIXED_FORMAT),
    list(
        "default_log_levels",
        "amqp=WARN,boto=WARN,sqlalchemy=WARN,suds=INFO,oslo.messaging=INFO,oslo_messaging=INFO,iso8601=WARN,\
         requests.packages.urllib3.connectionpool=WARN,urllib3.connectionpool=WARN,websocket=WARN,\
         requests.packages.urllib3.util.retry=WARN,urllib3.util.retry=WARN,keystonemiddleware=WARN,\
         routes.middleware=WARN,stevedore=WARN,taskflow=WARN,keystoneauth=WARN,oslo.cache=INFO,oslo_policy=INFO,\
         dogpile.core.dogpile=INFO",
    ),
    boolean("fatal_deprecations", false).instead("a former name of an option is a warning"),
    boolean("publish_errors", false).instead("errors are logged, never sent as notifications"),
    integer("rate_limit_interval", "0").instead("logging is not rate limited"),
    integer("rate_limit_burst", "0").instead("logging is not rate limited"),
    choice(
        "rate_limit_except_level",
        "CRITICAL",
        &["CRITICAL", "ERROR", "INFO", "WARNING", "DEBUG", ""],
    )
    .instead("logging is not rate limited"),
];

#[derive(Clone, Debug, Deserialize)]
pub struct LoggingSettings {
    pub debug: bool,
    /// strftime.
    pub log_date_format: String,
    pub log_file: Option<PathBuf>,
    pub log_dir: Option<PathBuf>,
    pub use_syslog: bool,
    pub use_journal: bool,
    pub syslog_log_facility: String,
    pub use_json: bool,
    pub use_stderr: bool,
    pub log_color: bool,
    /// `logger=LEVEL`.
    pub default_log_levels: Vec<String>,
}
