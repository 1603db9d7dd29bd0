//! What was found.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    Configuration,
    Database,
    Broker,
    Identity,
    Engines,
    Stacks,
    Queues,
}

impl Area {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Database => "database",
            Self::Broker => "broker",
            Self::Identity => "identity",
            Self::Engines => "engines",
            Self::Stacks => "stacks",
            Self::Queues => "queues",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Fine,
    /// From here it cannot be told whether it is so.
    Unseen,
    /// Works, and an operator should know.
    Warning,
    /// Does not work, or will not.
    Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub area: Area,
    pub severity: Severity,
    /// What is so.
    pub what: String,
    /// Why it matters; empty where all is well.
    pub why: String,
    /// What to do about it; empty where all is well.
    pub advice: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn fine(&mut self, area: Area, what: impl Into<String>) {
        self.add(area, Severity::Fine, what.into(), "", "");
    }

    pub fn unseen(&mut self, area: Area, what: impl Into<String>, why: &str, advice: &str) {
        self.add(area, Severity::Unseen, what.into(), why, advice);
    }

    pub fn warning(&mut self, area: Area, what: impl Into<String>, why: &str, advice: &str) {
        self.add(area, Severity::Warning, what.into(), why, advice);
    }

    pub fn problem(&mut self, area: Area, what: impl Into<String>, why: &str, advice: &str) {
        self.add(area, Severity::Problem, what.into(), why, advice);
    }

    /// The worst of it.
    pub fn severity(&self) -> Severity {
        let severities = self.findings.iter().map(|finding| finding.severity);
        severities.max().unwrap_or(Severity::Fine)
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    fn add(&mut self, area: Area, severity: Severity, what: String, why: &str, advice: &str) {
        self.findings.push(Finding {
            area,
            severity,
            what,
            why: why.to_owned(),
            advice: advice.to_owned(),
        });
    }
}
