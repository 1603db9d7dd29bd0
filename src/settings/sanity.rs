//! What no single option shows: combinations with which an engine would start and then fail its users.

use secrecy::ExposeSecret;

use super::option::DefaultValue;
use super::{DeferredAuthMethod, Findings, Settings, address, reference};

/// Finds what cannot work and what is unwise.
pub fn check(settings: &Settings) -> Findings {
    let mut findings = Findings::default();
    check_names(settings, &mut findings);
    check_database(settings, &mut findings);
    check_stack_domain(settings, &mut findings);
    check_encryption_key(settings, &mut findings);
    check_trustee(settings, &mut findings);
    check_keystone(settings, &mut findings);
    check_urls(settings, &mut findings);
    findings
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Queues are called after `host` (`engine.HOST`), and AMQP and the service table have names of 255 bytes at most.
fn check_names(settings: &Settings, findings: &mut Findings) {
    const LONGEST_NAME: usize = 255;
    let longest_host = LONGEST_NAME - "engine.".len();
    for (option, name, longest) in [
        ("host", &settings.engine.host, longest_host),
        (
            "control_exchange",
            &settings.messaging.transport.control_exchange,
            LONGEST_NAME,
        ),
    ] {
        let problem = match name.len() {
            0 => "must not be empty".to_owned(),
            length if length > longest => format!("must have {longest} bytes at most, not {length}"),
            _ => continue,
        };
        findings.problems.push(settings.refusal("DEFAULT", option, problem));
    }
}

fn check_database(settings: &Settings, findings: &mut Findings) {
    if settings.database.connection.is_none() {
        let problem = "is not set; the engine has no database without it";
        findings
            .problems
            .push(settings.refusal("database", "connection", problem));
    }
}

fn check_stack_domain(settings: &Settings, findings: &mut Findings) {
    let engine = &settings.engine;
    if !is_set(engine.stack_user_domain_id.as_ref()) && !is_set(engine.stack_user_domain_name.as_ref()) {
        findings.warnings.push(
            "[DEFAULT] stack_user_domain_id or stack_user_domain_name is not set: users that stacks need are made in \
             the domain of their owner"
                .to_owned(),
        );
        return;
    }
    let has_password = engine
        .stack_domain_admin_password
        .as_ref()
        .is_some_and(|password| !password.expose_secret().is_empty());
    let problem = "is needed with stack_user_domain_id or stack_user_domain_name";
    for (option, is_there) in [
        ("stack_domain_admin", is_set(engine.stack_domain_admin.as_ref())),
        ("stack_domain_admin_password", has_password),
    ] {
        if !is_there {
            findings.problems.push(settings.refusal("DEFAULT", option, problem));
        }
    }
}

fn check_encryption_key(settings: &Settings, findings: &mut Findings) {
    const OPTION: &str = "auth_encryption_key";
    let key = settings.engine.auth_encryption_key.expose_secret();
    let (length, is_ascii) = (key.chars().count(), key.is_ascii());
    match length {
        32 if is_ascii => {}
        16 | 24 if is_ascii => findings
            .warnings
            .push(format!("[DEFAULT] {OPTION} should have 32 characters")),
        16 | 24 | 32 => {
            let problem = "holds a character beyond ASCII, with which nothing can be encrypted";
            findings.problems.push(settings.refusal("DEFAULT", OPTION, problem));
        }
        _ => {
            let problem = format!("must have 32 characters, not {length}");
            findings.problems.push(settings.refusal("DEFAULT", OPTION, problem));
        }
    }
    let known = reference::group("DEFAULT")
        .and_then(|group| group.option(OPTION))
        .map(|option| option.default);
    if matches!(known, Some(DefaultValue::Text(default)) if default == key) {
        findings
            .warnings
            .push(format!("[DEFAULT] {OPTION} is the default, which everybody knows"));
    }
}

/// Without a user of its own the engine cannot take a trust: every create would fail.
fn check_trustee(settings: &Settings, findings: &mut Findings) {
    let trustee = &settings.trustee;
    let takes_trusts = settings.engine.deferred_auth_method == DeferredAuthMethod::Trusts;
    let problem = match trustee.auth_type.as_deref() {
        Some("password" | "v3password") => None,
        Some(other) => Some(("auth_type", format!("'{other}' is not supported; password is"))),
        None => Some((
            "auth_type",
            "is not set: the engine has no user to whom the owners of stacks could delegate".to_owned(),
        )),
    };
    let nameless = || {
        let is_named = is_set(trustee.username.as_ref()) || is_set(trustee.user_id.as_ref());
        (!is_named).then(|| ("username", "is needed, or user_id".to_owned()))
    };
    let Some((option, problem)) = problem.or_else(nameless) else {
        return;
    };
    if takes_trusts && trustee.auth_type.is_some() {
        findings.problems.push(settings.refusal("trustee", option, problem));
    } else if takes_trusts {
        findings.warnings.push(format!("[trustee] {option} {problem}"));
    }
}

fn check_keystone(settings: &Settings, findings: &mut Findings) {
    let is_known = is_set(settings.clients.keystone_auth_uri.as_ref())
        || is_set(settings.keystone_authtoken.www_authenticate_uri.as_ref());
    if !is_known {
        findings.warnings.push(
            "[clients_keystone] auth_uri is not set, nor [keystone_authtoken] www_authenticate_uri: Keystone is found \
             only where a request says where it is"
                .to_owned(),
        );
    }
}

/// Where the engine is to find Keystone. oslo.config takes any text for some of these options, and what cannot be a URL
/// would only be found when somebody needs it.
fn check_urls(settings: &Settings, findings: &mut Findings) {
    let clients = settings.clients.keystone_auth_uri.as_ref();
    let authtoken = settings.keystone_authtoken.www_authenticate_uri.as_ref();
    let used = [
        ("clients_keystone", "auth_uri", clients),
        // Only in the place of the other.
        (
            "keystone_authtoken",
            "www_authenticate_uri",
            authtoken.filter(|_| !is_set(clients)),
        ),
        ("trustee", "auth_url", settings.trustee.auth_url.as_ref()),
    ];
    for (group, option, url) in used {
        let Some(url) = url.filter(|url| !url.is_empty()) else {
            continue;
        };
        if let Err(problem) = address::service_url(url) {
            findings.problems.push(settings.refusal(group, option, problem));
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn sound() -> Settings {
        let mut settings = Settings::defaults();
        settings.database.connection = Some(SecretString::from("mysql+pymysql://heat@localhost/heat"));
        settings.engine.auth_encryption_key = SecretString::from("0123456789abcdef0123456789abcdef");
        settings.engine.stack_user_domain_name = Some("heat".to_owned());
        settings.engine.stack_domain_admin = Some("heat_domain_admin".to_owned());
        settings.engine.stack_domain_admin_password = Some(SecretString::from("secret"));
        settings.trustee.auth_type = Some("password".to_owned());
        settings.trustee.username = Some("heat".to_owned());
        settings.clients.keystone_auth_uri = Some("http://localhost:5000".to_owned());
        settings
    }

    fn refusal(settings: &Settings) -> String {
        let problems = check(settings).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].to_string()
    }

    #[test]
    fn a_sound_configuration_passes_in_silence() {
        let findings = check(&sound());
        assert!(findings.problems.is_empty(), "{findings:?}");
        assert_eq!(findings.warnings, Vec::<String>::new());
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let mut settings = sound();
        settings.database.connection = None;
        assert!(refusal(&settings).contains("[database] connection"));
        let mut settings = sound();
        settings.engine.host = "h".repeat(249);
        assert!(refusal(&settings).contains("[DEFAULT] host: must have 248 bytes at most, not 249"));
        let mut settings = sound();
        settings.messaging.transport.control_exchange = String::new();
        assert!(refusal(&settings).contains("[DEFAULT] control_exchange: must not be empty"));
        let mut settings = sound();
        settings.engine.auth_encryption_key = SecretString::from("short");
        assert!(refusal(&settings).contains("32 characters"));
        let mut settings = sound();
        settings.engine.stack_domain_admin_password = None;
        assert!(refusal(&settings).contains("stack_domain_admin_password"));
        let mut settings = sound();
        settings.engine.auth_encryption_key = SecretString::from("ä".repeat(32));
        assert!(refusal(&settings).contains("ASCII"));
        let mut settings = sound();
        settings.trustee.auth_type = Some("v3oidcpassword".to_owned());
        assert!(refusal(&settings).contains("[trustee] auth_type"));
        let mut settings = sound();
        settings.trustee.username = None;
        assert!(refusal(&settings).contains("[trustee] username"));
    }

    #[test]
    fn what_is_unwise_is_told() {
        let mut settings = sound();
        settings.engine.stack_user_domain_name = None;
        settings.engine.auth_encryption_key = Settings::defaults().engine.auth_encryption_key;
        settings.trustee.auth_type = None;
        settings.clients.keystone_auth_uri = None;
        let findings = check(&settings);
        assert!(findings.problems.is_empty(), "it works all the same: {findings:?}");
        assert_eq!(findings.warnings.len(), 4, "{findings:?}");
    }
}
