//! Names of the DNS.

const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 255;

pub fn check_name(name: &str) -> Result<(), String> {
    check_labels(name).map_err(|reason| format!("'{name}' not in valid format. Reason: {reason}"))
}

/// A name that says of itself that it is complete.
pub fn check_domain(name: &str) -> Result<(), String> {
    check_name(name)?;
    if name.ends_with('.') {
        Ok(())
    } else {
        Err(format!("'{name}' must end with '.'."))
    }
}

pub fn check_relative_name(name: &str) -> Result<(), String> {
    if name.ends_with('.') {
        return Err(format!("'{name}' is a FQDN. It should be a relative domain name."));
    }
    let length = name.chars().count();
    // A domain has two characters at least, and a dot before it.
    if length > LONGEST_NAME - 3 {
        return Err(format!(
            "'{name}' contains '{length}' characters. Adding a domain name will cause it to exceed the maximum length of \
             a FQDN of '{LONGEST_NAME}'."
        ));
    }
    check_name(name)
}

fn check_labels(name: &str) -> Result<(), String> {
    let (trimmed, is_complete) = match name.strip_suffix('.') {
        Some(trimmed) => (trimmed, true),
        None => (name, false),
    };
    if trimmed.chars().count() > LONGEST_NAME {
        return Err(format!("'{trimmed}' exceeds the {LONGEST_NAME} character FQDN limit"));
    }
    let labels: Vec<&str> = trimmed.split('.').collect();
    labels.iter().try_for_each(|label| check_label(label))?;
    match labels.as_slice() {
        [_, .., last] if is_complete && before_line_end(last).bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("TLD '{last}' must not be all numeric."))
        }
        _ => Ok(()),
    }
}

fn check_label(label: &str) -> Result<(), String> {
    if label.is_empty() {
        return Err("Encountered an empty component.".to_owned());
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(format!("Name '{label}' must not start or end with a hyphen."));
    }
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let written = before_line_end(label);
    if (1..=LONGEST_LABEL).contains(&written.len()) && written.bytes().all(is_allowed) {
        Ok(())
    } else {
        Err(format!(
            "Name '{label}' must be 1-{LONGEST_LABEL} characters long, each of which can only be alphanumeric or a hyphen."
        ))
    }
}

/// What stands before the `$` of a pattern of Python's.
fn before_line_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}
