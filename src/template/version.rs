//! Versions of the template language and the words each family of them uses.

use serde_json::{Map, Value};

use super::error::TemplateError;

/// The versions in the order in which the language grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TemplateVersion {
    Aws20100909,
    Heat20121212,
    Hot20130523,
    Hot20141016,
    Hot20150430,
    Hot20151015,
    Hot20160408,
    Hot20161014,
    Hot20170224,
    Hot20170901,
    Hot20180302,
    Hot20180831,
    Hot20210416,
}

use TemplateVersion::*;

const AWS_KEY: &str = "AWSTemplateFormatVersion";
const HEAT_KEY: &str = "HeatTemplateFormatVersion";
const HOT_KEY: &str = "heat_template_version";

/// The keys with which a document may name its version.
pub(super) const VERSION_KEYS: [&str; 3] = [AWS_KEY, HEAT_KEY, HOT_KEY];

/// Every value that a version key may have.
pub const VERSIONS: &[(&str, &str, TemplateVersion)] = &[
    (AWS_KEY, "2010-09-09", Aws20100909),
    (HEAT_KEY, "2012-12-12", Heat20121212),
    (HOT_KEY, "2013-05-23", Hot20130523),
    (HOT_KEY, "2014-10-16", Hot20141016),
    (HOT_KEY, "2015-04-30", Hot20150430),
    (HOT_KEY, "2015-10-15", Hot20151015),
    (HOT_KEY, "2016-04-08", Hot20160408),
    (HOT_KEY, "2016-10-14", Hot20161014),
    (HOT_KEY, "2017-02-24", Hot20170224),
    (HOT_KEY, "2017-09-01", Hot20170901),
    (HOT_KEY, "2018-03-02", Hot20180302),
    (HOT_KEY, "2018-08-31", Hot20180831),
    (HOT_KEY, "2021-04-16", Hot20210416),
    (HOT_KEY, "newton", Hot20161014),
    (HOT_KEY, "ocata", Hot20170224),
    (HOT_KEY, "pike", Hot20170901),
    (HOT_KEY, "queens", Hot20180302),
    (HOT_KEY, "rocky", Hot20180831),
    (HOT_KEY, "wallaby", Hot20210416),
];

/// The words of a family: sections, and keys of resources and outputs.
#[derive(Debug)]
pub struct Keywords {
    pub description: &'static str,
    pub parameters: &'static str,
    pub resources: &'static str,
    pub outputs: &'static str,
    pub conditions: &'static str,
    pub mappings: &'static str,
    pub resource_type: &'static str,
    pub properties: &'static str,
    pub metadata: &'static str,
    pub depends_on: &'static str,
    pub deletion_policy: &'static str,
    pub update_policy: &'static str,
    pub resource_description: &'static str,
    pub external_id: &'static str,
    pub condition: &'static str,
    pub value: &'static str,
}

static HOT_KEYWORDS: Keywords = Keywords {
    description: "description",
    parameters: "parameters",
    resources: "resources",
    outputs: "outputs",
    conditions: "conditions",
    mappings: "__undefined__",
    resource_type: "type",
    properties: "properties",
    metadata: "metadata",
    depends_on: "depends_on",
    deletion_policy: "deletion_policy",
    update_policy: "update_policy",
    resource_description: "description",
    external_id: "external_id",
    condition: "condition",
    value: "value",
};

static CFN_KEYWORDS: Keywords = Keywords {
    description: "Description",
    parameters: "Parameters",
    resources: "Resources",
    outputs: "Outputs",
    conditions: "Conditions",
    mappings: "Mappings",
    resource_type: "Type",
    properties: "Properties",
    metadata: "Metadata",
    depends_on: "DependsOn",
    deletion_policy: "DeletionPolicy",
    update_policy: "UpdatePolicy",
    resource_description: "Description",
    external_id: "external_id",
    condition: "Condition",
    value: "Value",
};

impl Keywords {
    /// The keys that the definition of a resource or an output may have.
    pub fn of_definitions(&self) -> [&'static str; 11] {
        [
            self.resource_type,
            self.properties,
            self.metadata,
            self.depends_on,
            self.deletion_policy,
            self.update_policy,
            self.resource_description,
            self.external_id,
            self.condition,
            self.value,
            self.description,
        ]
    }
}

impl TemplateVersion {
    /// The version that a document names, with its key and value as written.
    pub fn of(document: &Map<String, Value>) -> Result<(Self, String, String), TemplateError> {
        let present: Vec<(&str, &str)> = VERSION_KEYS
            .into_iter()
            .filter_map(|key| Some((key, document.get(key)?.as_str()?)))
            .collect();
        match present.as_slice() {
            [] => Err(invalid("Template version was not provided")),
            [(key, value)] => VERSIONS
                .iter()
                .find(|(known_key, known_value, _)| known_key == key && known_value == value)
                .map(|(_, _, version)| (*version, (*key).to_owned(), (*value).to_owned()))
                .ok_or_else(|| unknown_value(key, value)),
            several => {
                let keys: Vec<&str> = several.iter().map(|(key, _)| *key).collect();
                Err(invalid(format!("Ambiguous versions ({})", keys.join(", "))))
            }
        }
    }

    pub fn is_hot(self) -> bool {
        self >= Hot20130523
    }

    pub fn has_conditions(self) -> bool {
        self == Aws20100909 || self >= Hot20161014
    }

    pub(crate) fn keywords(self) -> &'static Keywords {
        if self.is_hot() { &HOT_KEYWORDS } else { &CFN_KEYWORDS }
    }

    /// The sections that a template of this version may have.
    pub fn sections(self) -> Vec<&'static str> {
        let mut sections = if self.is_hot() {
            vec![
                HOT_KEY,
                "description",
                "parameter_groups",
                "parameters",
                "resources",
                "outputs",
                "__undefined__",
            ]
        } else {
            vec![
                AWS_KEY,
                HEAT_KEY,
                "Description",
                "Mappings",
                "Parameters",
                "Resources",
                "Outputs",
            ]
        };
        if self.has_conditions() {
            sections.push(self.keywords().conditions);
        }
        sections
    }

    /// The name that this family gives to a field of a resource or an output which the engine knows by its CFN name.
    pub fn field_name(self, cfn_name: &str) -> String {
        if !self.is_hot() {
            return cfn_name.to_owned();
        }
        let (hot, cfn) = (&HOT_KEYWORDS, &CFN_KEYWORDS);
        let pairs = [
            (cfn.resource_type, hot.resource_type),
            (cfn.properties, hot.properties),
            (cfn.metadata, hot.metadata),
            (cfn.depends_on, hot.depends_on),
            (cfn.deletion_policy, hot.deletion_policy),
            (cfn.update_policy, hot.update_policy),
            (cfn.description, hot.description),
            (cfn.value, hot.value),
            (cfn.condition, hot.condition),
        ];
        pairs
            .iter()
            .find(|(cfn, _)| *cfn == cfn_name)
            .map_or(cfn_name, |(_, hot)| hot)
            .to_owned()
    }
}

fn invalid(explanation: impl Into<String>) -> TemplateError {
    TemplateError::InvalidTemplateVersion {
        explanation: explanation.into(),
    }
}

fn unknown_value(key: &str, value: &str) -> TemplateError {
    let mut available: Vec<&str> = VERSIONS
        .iter()
        .filter(|(known, _, _)| *known == key)
        .map(|(_, value, _)| *value)
        .collect();
    available.sort_unstable();
    let verb = if available.len() > 1 {
        "should be one of"
    } else {
        "should be"
    };
    invalid(format!(
        "\"{key}: {value}\". \"{key}\" {verb}: {}",
        available.join(", ")
    ))
}
