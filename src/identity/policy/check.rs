//! The language of oslo.policy's rules: `role:admin and not user_id:%(x)s`.
//!
//! A rule that makes no sense allows nobody.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::identity::RequestContext;
use crate::python::literal::Literal;
use crate::python::to_text;

/// How far rules may refer to rules; one that refers to itself would never end.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    True,
    False,
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
    Rule(String),
    Role(String),
    /// The caller's value at this dotted path, or a literal, must read as that text.
    Value {
        what: String,
        text: String,
    },
}

/// What rules can ask about a caller.
pub(super) struct Credentials(Value);

impl Credentials {
    pub fn of(context: &RequestContext) -> Self {
        Self(json!({
            "user_id": context.user_id,
            "user_domain_id": context.user_domain_id,
            "system_scope": context.system_scope,
            "domain_id": context.domain_id,
            "project_id": context.project_id,
            "project_domain_id": context.project_domain_id,
            "roles": context.roles,
            "is_admin_project": context.is_admin_project,
            "user": context.user_id,
            "tenant": context.project_id,
            "is_admin": context.is_admin,
            "auth_token_info": context.auth_token_info.as_deref(),
        }))
    }

    fn has_role(&self, role: &str) -> bool {
        let role = role.to_lowercase();
        self.0["roles"].as_array().is_some_and(|roles| {
            roles
                .iter()
                .any(|own| own.as_str().is_some_and(|own| own.to_lowercase() == role))
        })
    }
}

impl Check {
    pub fn parse(rule: &str) -> Self {
        if rule.is_empty() {
            return Self::True;
        }
        let tokens = tokens_of(rule);
        let mut parser = Parser {
            tokens: &tokens,
            depth: 0,
        };
        match parser.any() {
            Some(check) if parser.tokens.is_empty() => check,
            _ => {
                tracing::error!(rule, "policy rule makes no sense and allows nobody");
                Self::False
            }
        }
    }

    /// The older form, a list of lists: one of the inner lists must hold in full.
    pub fn parse_value(rule: &Value) -> Self {
        match rule {
            Value::String(rule) => Self::parse(rule),
            Value::Null => Self::True,
            Value::Array(alternatives) if alternatives.is_empty() => Self::True,
            Value::Array(alternatives) => Self::Any(
                alternatives
                    .iter()
                    .map(|alternative| match alternative {
                        Value::Array(all) => {
                            Self::All(all.iter().map(|rule| rule.as_str().map_or(Self::False, atom)).collect())
                        }
                        Value::String(rule) => atom(rule),
                        _ => Self::False,
                    })
                    .collect(),
            ),
            _ => Self::False,
        }
    }

    pub fn passes(&self, credentials: &Credentials, rules: &HashMap<String, Check>) -> bool {
        self.passes_within(credentials, rules, MAX_DEPTH)
    }

    fn passes_within(&self, credentials: &Credentials, rules: &HashMap<String, Check>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            tracing::error!(check = ?self, "policy rules nest too deeply and allow nobody");
            return false;
        };
        let passes = |check: &Check| check.passes_within(credentials, rules, depth);
        match self {
            Self::True => true,
            Self::False => false,
            Self::Not(check) => !passes(check),
            Self::All(checks) => checks.iter().all(passes),
            Self::Any(checks) => checks.iter().any(passes),
            // For resource types an unknown rule is none.
            Self::Rule(name) => rules.get(name).is_none_or(passes),
            Self::Role(role) => credentials.has_role(role),
            Self::Value { what, text } => match Literal::parse(what) {
                Ok(literal) => literal_text(&literal).as_ref() == Some(text),
                Err(_) => reads_as(&credentials.0, &what.split('.').collect::<Vec<_>>(), text),
            },
        }
    }
}

fn literal_text(literal: &Literal) -> Option<String> {
    if let Some(flag) = literal.as_bool() {
        return Some(to_text(&Value::Bool(flag)));
    }
    literal
        .as_text()
        .map(str::to_owned)
        .or_else(|| literal.as_i64().map(|number| number.to_string()))
}

fn reads_as(value: &Value, path: &[&str], text: &str) -> bool {
    let Some((key, rest)) = path.split_first() else {
        return to_text(value) == text;
    };
    match value.get(key) {
        None => false,
        Some(Value::Array(items)) => items.iter().any(|item| reads_as(item, rest, text)),
        Some(found) => reads_as(found, rest, text),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    And,
    Or,
    Not,
    Atom(&'a str),
}

fn tokens_of(rule: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for word in rule.split_whitespace() {
        let inner = word.trim_start_matches('(');
        tokens.extend((0..word.len() - inner.len()).map(|_| Token::Open));
        let core = inner.trim_end_matches(')');
        match core.to_lowercase().as_str() {
            "" => {}
            "and" => tokens.push(Token::And),
            "or" => tokens.push(Token::Or),
            "not" => tokens.push(Token::Not),
            _ => tokens.push(Token::Atom(core)),
        }
        tokens.extend((0..inner.len() - core.len()).map(|_| Token::Close));
    }
    tokens
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, wanted: &Token<'_>) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if first == wanted => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn any(&mut self) -> Option<Check> {
        let mut checks = vec![self.all()?];
        while self.take(&Token::Or) {
            checks.push(self.all()?);
        }
        Some(one_or(checks, Check::Any))
    }

    fn all(&mut self) -> Option<Check> {
        let mut checks = vec![self.single()?];
        while self.take(&Token::And) {
            checks.push(self.single()?);
        }
        Some(one_or(checks, Check::All))
    }

    fn single(&mut self) -> Option<Check> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let check = if self.take(&Token::Not) {
            Check::Not(Box::new(self.single()?))
        } else if self.take(&Token::Open) {
            let inside = self.any()?;
            if !self.take(&Token::Close) {
                return None;
            }
            inside
        } else {
            let (Token::Atom(text), rest) = self.tokens.split_first()? else {
                return None;
            };
            self.tokens = rest;
            atom(text)
        };
        self.depth -= 1;
        Some(check)
    }
}

fn one_or(mut checks: Vec<Check>, several: fn(Vec<Check>) -> Check) -> Check {
    match checks.pop() {
        Some(only) if checks.is_empty() => only,
        last => {
            checks.extend(last);
            several(checks)
        }
    }
}

/// One check. There is no target object here, so what refers to one (`%(…)s`) never holds.
fn atom(text: &str) -> Check {
    match text {
        "!" => return Check::False,
        "@" => return Check::True,
        _ => {}
    }
    let Some((kind, wanted)) = text.split_once(':') else {
        tracing::error!(check = text, "policy check makes no sense and allows nobody");
        return Check::False;
    };
    if kind != "rule" && wanted.contains('%') {
        return Check::False;
    }
    match kind {
        "rule" => Check::Rule(wanted.to_owned()),
        "role" => Check::Role(wanted.to_owned()),
        "http" | "https" => {
            tracing::error!(
                check = text,
                "policy checks that ask a web service are not supported and allow nobody"
            );
            Check::False
        }
        _ => Check::Value {
            what: kind.to_owned(),
            text: wanted.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(rule: &str) -> bool {
        let context = RequestContext {
            user_id: Some("u1".to_owned()),
            project_id: Some("p1".to_owned()),
            roles: vec!["Member".to_owned()],
            is_admin_project: true,
            ..RequestContext::default()
        };
        let rules = HashMap::from([
            ("member".to_owned(), Check::parse("role:member")),
            ("self".to_owned(), Check::parse("rule:self")),
        ]);
        Check::parse(rule).passes(&Credentials::of(&context), &rules)
    }

    #[test]
    fn rules_that_hold() {
        for rule in [
            "",
            "@",
            "role:member",
            "rule:member",
            "rule:unknown",
            "not role:admin",
            "is_admin_project:True",
            "user_id:u1 and tenant:p1",
            "role:admin or role:member",
            "(role:admin or role:member) and not !",
            "! and ! or @",
            "'x':x",
            "True:True",
            "1:1",
            "roles:Member",
            "NOT role:admin",
            "not (role:admin AND role:member)",
        ] {
            assert!(passes(rule), "{rule}");
        }
    }

    #[test]
    fn rules_that_do_not() {
        for rule in [
            "!",
            "role:admin",
            "user_id:u2",
            "project_id:%(project_id)s",
            "nonsense",
            "role:member and",
            "(role:member",
            "role:member)",
            "domain_id:x",
            "is_admin:True",
            "http://example.org/",
            "rule:self",
            "\"quoted\"",
        ] {
            assert!(!passes(rule), "{rule}");
        }
    }

    #[test]
    fn lists_are_the_older_form() {
        assert_eq!(
            Check::parse_value(&json!([["role:a", "role:b"], ["@"]])),
            Check::Any(vec![
                Check::All(vec![Check::Role("a".into()), Check::Role("b".into())]),
                Check::All(vec![Check::True])
            ])
        );
    }
}
