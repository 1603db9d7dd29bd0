//! `--check-config` knows what the daemon would stumble over, and the daemon refuses what `--check-config` refuses.

use super::{Directory, program, text};

const SOUND: &str = "[DEFAULT]\nauth_encryption_key = 0123456789abcdef0123456789abcdef\n\
                     [database]\nconnection = mysql+pymysql://u:p@h/heat\n";

/// What is said about a configuration: by `--check-config`, and by the daemon, which has to say the same.
fn complaint(directory: &Directory, configuration: &str) -> String {
    let file = directory.file("heat.conf", configuration);
    let file = file.display().to_string();
    let checked = program(&["--check-config", "--config-file", &file]);
    assert_eq!(checked.status.code(), Some(2), "{configuration}");
    let started = program(&["--config-file", &file]);
    assert_eq!(started.status.code(), Some(2), "{configuration}");
    assert_eq!(text(&checked.stderr), text(&started.stderr));
    assert!(checked.stdout.is_empty(), "{}", text(&checked.stdout));
    text(&checked.stderr)
        .replace(&format!("heat-engine-rs: {file}:"), "")
        .replace(&directory.0.display().to_string(), "DIR")
}

#[test]
fn what_would_fail_in_use_is_refused_with_its_place() {
    let directory = Directory::new("check");
    let not_a_certificate = directory.file("nonsense.pem", "no certificate\n").display().to_string();
    let bad_policy = directory.file("bad-policy.yaml", "- nonsense\n").display().to_string();
    let cases = [
        (
            "[DEFAULT]\ntransport_url = kafka://h/\n",
            "6: [DEFAULT] transport_url: the driver 'kafka' is not supported; only rabbit is\n",
        ),
        (
            "[DEFAULT]\ntransport_url = rabbit://h/?ssl=perhaps\n",
            "6: [DEFAULT] transport_url: ssl in its query: must be true or false (or 1/0, on/off, yes/no), not 'perhaps'\n",
        ),
        (
            "[oslo_messaging_rabbit]\nssl = true\nssl_ca_file = /nowhere/ca.pem\n",
            "7: [oslo_messaging_rabbit] ssl_ca_file: /nowhere/ca.pem: I/O error: No such file or directory (os error 2)\n",
        ),
        (
            "[oslo_messaging_rabbit]\nkombu_compression = bz2\n",
            "6: [oslo_messaging_rabbit] kombu_compression: 'bz2' is not supported; use gzip, or none, in all services \
             that talk to Heat\n",
        ),
        (
            "[oslo_messaging_notifications]\ndriver = messagingv2\ntransport_url = amqp1://h/\n",
            "7: [oslo_messaging_notifications] transport_url: the driver 'amqp1' is not supported; only rabbit is\n",
        ),
        (
            "[database]\nconnection = sqlite:///heat.db\n",
            "6: [database] connection: database sqlite is not supported, only mysql and mariadb\n",
        ),
        (
            "[database]\nconnection = mysql://u:p@ss:word@h/heat\n",
            "6: [database] connection: what follows the host is no port; @ : / ? in a password must be percent-encoded\n",
        ),
        (
            "[database]\nconnection_parameters = ssl_ca=/nowhere/ca.pem\n",
            "4: [database] connection: ssl_ca: cannot read /nowhere/ca.pem: No such file or directory (os error 2)\n",
        ),
        (
            "[DEFAULT]\nauth_encryption_key = short\n",
            "6: [DEFAULT] auth_encryption_key: must have 32 characters, not 5\n",
        ),
        (
            "[clients]\nca_file = /nowhere/ca.pem\n",
            "6: [clients] ca_file: cannot read /nowhere/ca.pem: No such file or directory (os error 2)\n",
        ),
        (
            "[clients_nova]\nca_file = /nowhere/nova.pem\n",
            "6: [clients_nova] ca_file: cannot read /nowhere/nova.pem: No such file or directory (os error 2)\n",
        ),
        (
            &format!("[clients]\ncert_file = {not_a_certificate}\nkey_file = {not_a_certificate}\n"),
            "6: [clients] cert_file: DIR/nonsense.pem is not usable: builder error: unexpected error: private key or \
             certificate not found\n",
        ),
        (
            &format!("[oslo_policy]\npolicy_file = {bad_policy}\n"),
            "6: [oslo_policy] policy_file: policy file DIR/bad-policy.yaml, line 1: expected one rule, such as \"name\": \
             \"check\"\n",
        ),
        (
            "[DEFAULT]\nlog_dir = /nowhere/log\n",
            "6: [DEFAULT] log_dir: there is no directory /nowhere/log\n",
        ),
        (
            "[DEFAULT]\nlog_file = /proc/heat-engine.log\n",
            "6: [DEFAULT] log_file: cannot open the log file /proc/heat-engine.log: No such file or directory (os error 2)\n",
        ),
        (
            "[DEFAULT]\ndefault_log_levels = amqp=WARN,heat=LOUD\n",
            "6: [DEFAULT] default_log_levels: 'heat=LOUD' is no logger=LEVEL\n",
        ),
        ("[DEFAULT]\nhost =\n", "6: [DEFAULT] host: must not be empty\n"),
        (
            "[DEFAULT]\ncontrol_exchange =\n",
            "6: [DEFAULT] control_exchange: must not be empty\n",
        ),
        (
            "[DEFAULT]\nuse_syslog = true\nsyslog_log_facility = LOUD\n",
            "7: [DEFAULT] syslog_log_facility: no facility is called LOUD\n",
        ),
        (
            "[DEFAULT]\nstack_user_domain_name = heat\nstack_domain_admin = admin\n",
            "default: [DEFAULT] stack_domain_admin_password: is needed with stack_user_domain_id or stack_user_domain_name\n",
        ),
        (
            "[trustee]\nauth_type = v3oidcpassword\n",
            "6: [trustee] auth_type: 'v3oidcpassword' is not supported; password is\n",
        ),
        (
            "[heat_engine_rs]\nmetrics_address = 9465\n",
            "6: [heat_engine_rs] metrics_address: '9465' is not host:port; such as 127.0.0.1:9465 or [::1]:9465 is \
             expected\n",
        ),
        (
            "[heat_engine_rs]\nhealth_address = http://127.0.0.1:9465\n",
            "6: [heat_engine_rs] health_address: 'http://127.0.0.1:9465' is a URL, not host:port; such as 127.0.0.1:9465 or \
             [::1]:9465 is expected\n",
        ),
        (
            "[DEFAULT]\ntransport_url = rabbit://u:p@[::1]5672/\n",
            "6: [DEFAULT] transport_url: what follows the ']' of an IPv6 address is no port\n",
        ),
        (
            "[database]\nconnection = mysql://u:p@a b/heat\n",
            "6: [database] connection: the host has characters that no host has; @ : / ? in a password must be \
             percent-encoded\n",
        ),
        (
            "[clients_keystone]\nauth_uri = http://keystone:99999/v3\n",
            "6: [clients_keystone] auth_uri: 'http://keystone:99999/v3' is no URL: invalid port number\n",
        ),
        (
            "[keystone_authtoken]\nwww_authenticate_uri = keystone:5000\n",
            "6: [keystone_authtoken] www_authenticate_uri: 'keystone:5000' is not a URL that starts with http:// or \
             https://\n",
        ),
        (
            "[trustee]\nauth_type = password\nusername = heat\nauth_url = http:/keystone\n",
            "8: [trustee] auth_url: 'http:/keystone' is not a URL that starts with http:// or https://\n",
        ),
        (
            "[DEFAULT]\nstack_action_timeout = -1\n",
            "6: [DEFAULT] stack_action_timeout: -1 is not a number of seconds\n",
        ),
    ];
    for (addition, expected) in cases {
        let complaint = complaint(&directory, &format!("{SOUND}{addition}")).replace("heat-engine-rs: ", "");
        assert_eq!(complaint, expected, "{addition}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let directory = Directory::new("check-all");
    let configuration = format!(
        "{SOUND}[DEFAULT]\ntransport_url = kafka://h/\ndebug = perhaps\n[clients]\nca_file = /nowhere\n\
         [oslo_messaging_rabbit]\nheartbeat_timeout_threshold = -3\n"
    );
    let complaint = complaint(&directory, &configuration);
    let starts = [
        "7: [DEFAULT] debug",
        "11: [oslo_messaging_rabbit] heartbeat",
        "6: [DEFAULT] transport_url",
        "9: [clients]",
    ];
    assert_eq!(complaint.lines().count(), starts.len(), "{complaint}");
    for (line, start) in complaint.lines().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

/// While a file cannot be read, what it may have said is not missed.
#[test]
fn of_a_file_that_cannot_be_read_nothing_more_is_said() {
    let directory = Directory::new("check-unread");
    let complaint = complaint(&directory, "[DEFAULT\n");
    assert_eq!(
        complaint,
        "1: a group must end with ']' (nothing may follow on the line)\n"
    );
}

#[test]
fn unwise_settings_are_warned_of() {
    let directory = Directory::new("check-warnings");
    let file = directory.file(
        "heat.conf",
        &format!(
            "{SOUND}[DEFAULT]\nlog_date_format = %Q\n\
             [oslo_messaging_notifications]\ndriver = routing\n[oslo_policy]\npolicy_file = /nowhere/policy.yaml\n"
        ),
    );
    let output = program(&["--check-config", "--config-file", &file.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for wanted in [
        "# warning: [DEFAULT] log_date_format: not a format",
        "# warning: [oslo_messaging_notifications] driver: 'routing' is not supported",
        "# warning: [oslo_policy] policy_file: there is no /nowhere/policy.yaml",
        "# warning: [trustee] auth_type is not set",
        "# warning: [clients_keystone] auth_uri is not set",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
}

#[test]
fn the_options_of_the_trustee_may_be_in_another_group() {
    let directory = Directory::new("check-section");
    let file = directory.file(
        "heat.conf",
        &format!(
            "{SOUND}[trustee]\nauth_section = keystone_authtoken\nusername = nobody\n\
             [keystone_authtoken]\nauth_type = password\nusername = heat\nuser_domain_name = Default\n"
        ),
    );
    let output = program(&["--check-config", "--config-file", &file.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let trustee = shown.split("[trustee]\n").nth(1).expect("the group of the trustee");
    let expected = format!("# from {}:10\nusername = heat\n", file.display());
    assert!(trustee.contains(&expected), "{trustee}");
}
