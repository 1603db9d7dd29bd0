//! What no single option shows: combinations with which an engine would start and then fail its users.

use secrecy::ExposeSecret;

use super::error::SettingsError;
use super::option::DefaultValue;
use super::{Settings, reference};

/// Refuses what cannot work; tells of what is unwise.
pub fn check(settings: &Settings) -> Result<Vec<String>, SettingsError> {
    let mut warnings = Vec::new();
    check_database(settings)?;
    check_stack_domain(settings, &mut warnings)?;
    check_encryption_key(settings, &mut warnings)?;
    Ok(warnings)
}

fn check_database(settings: &Settings) -> Result<(), SettingsError> {
    match settings.database.connection {
        Some(_) => Ok(()),
        None => Err(refuse(
            settings,
            "database",
            "connection",
            "is not set; the engine has no database without it",
        )),
    }
}

fn check_stack_domain(settings: &Settings, warnings: &mut Vec<String>) -> Result<(), SettingsError> {
    let engine = &settings.engine;
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if !is_set(&engine.stack_user_domain_id) && !is_set(&engine.stack_user_domain_name) {
        warnings.push(
            "[DEFAULT] stack_user_domain_id or stack_user_domain_name is not set: users that stacks need are made in \
             the domain of their owner"
                .to_owned(),
        );
        return Ok(());
    }
    let has_password = engine
        .stack_domain_admin_password
        .as_ref()
        .is_some_and(|password| !password.expose_secret().is_empty());
    if is_set(&engine.stack_domain_admin) && has_password {
        return Ok(());
    }
    let option = if has_password {
        "stack_domain_admin"
    } else {
        "stack_domain_admin_password"
    };
    Err(refuse(
        settings,
        "DEFAULT",
        option,
        "is needed with stack_user_domain_id or stack_user_domain_name",
    ))
}

fn check_encryption_key(settings: &Settings, warnings: &mut Vec<String>) -> Result<(), SettingsError> {
    const OPTION: &str = "auth_encryption_key";
    let key = settings.engine.auth_encryption_key.expose_secret();
    match key.chars().count() {
        32 => {}
        16 | 24 => warnings.push(format!("[DEFAULT] {OPTION} should have 32 characters")),
        _ => return Err(refuse(settings, "DEFAULT", OPTION, "must have 32 characters")),
    }
    let known = reference::group("DEFAULT")
        .and_then(|group| group.option(OPTION))
        .map(|option| option.default);
    if matches!(known, Some(DefaultValue::Text(default)) if default == key) {
        warnings.push(format!("[DEFAULT] {OPTION} is the default, which everybody knows"));
    }
    Ok(())
}

fn refuse(settings: &Settings, group: &str, option: &str, problem: &str) -> SettingsError {
    let origin = settings.options.get(group, option).map(|found| found.origin.clone());
    SettingsError::BadValue {
        origin: origin.unwrap_or(super::Origin::Default),
        group: group.to_owned(),
        option: option.to_owned(),
        problem: problem.to_owned(),
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
        settings
    }

    fn refusal(settings: &Settings) -> String {
        check(settings).expect_err("refused").to_string()
    }

    #[test]
    fn a_sound_configuration_passes_in_silence() {
        assert_eq!(check(&sound()).expect("sound"), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let mut settings = sound();
        settings.database.connection = None;
        assert!(refusal(&settings).contains("[database] connection"));
        let mut settings = sound();
        settings.engine.auth_encryption_key = SecretString::from("short");
        assert!(refusal(&settings).contains("32 characters"));
        let mut settings = sound();
        settings.engine.stack_domain_admin_password = None;
        assert!(refusal(&settings).contains("stack_domain_admin_password"));
    }

    #[test]
    fn what_is_unwise_is_told() {
        let mut settings = sound();
        settings.engine.stack_user_domain_name = None;
        settings.engine.auth_encryption_key = Settings::defaults().engine.auth_encryption_key;
        let warnings = check(&settings).expect("it works all the same");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
}
