//! What can be told of a version's functions without a template: their names and what each is for, as
//! `list_template_functions` shows them.

use super::{CONDITION_FUNCTIONS, Function, find, lookup};
use crate::template::expression::Context;
use crate::template::functions::repeat::RepeatDialect;
use crate::template::version::TemplateVersion::{self, Hot20130523};

/// A function as users are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescribedFunction {
    pub name: &'static str,
    pub description: &'static str,
}

/// Users see the functions in the order in which each family of versions came to have them.
const CFN_ORDER: &[&str] = &[
    "Fn::FindInMap",
    "Fn::GetAZs",
    "Ref",
    "Fn::GetAtt",
    "Fn::Select",
    "Fn::Join",
    "Fn::Split",
    "Fn::Replace",
    "Fn::Base64",
    "Fn::MemberListToMap",
    "Fn::ResourceFacade",
    "Fn::If",
];
const CFN_CONDITION_ORDER: &[&str] = &["Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or"];
const FIRST_HOT_ORDER: &[&str] = &[
    "Fn::GetAZs",
    "get_param",
    "get_resource",
    "Ref",
    "get_attr",
    "Fn::Select",
    "Fn::Join",
    "list_join",
    "Fn::Split",
    "str_replace",
    "Fn::Replace",
    "Fn::Base64",
    "Fn::MemberListToMap",
    "resource_facade",
    "Fn::ResourceFacade",
    "get_file",
];
const HOT_ORDER: &[&str] = &[
    "get_attr",
    "get_file",
    "get_param",
    "get_resource",
    "list_join",
    "repeat",
    "resource_facade",
    "str_replace",
    "Fn::Select",
    "digest",
    "str_split",
    "map_merge",
    "yaql",
    "map_replace",
    "if",
    "filter",
    "str_replace_strict",
    "make_url",
    "list_concat",
    "str_replace_vstrict",
    "list_concat_unique",
    "contains",
];
const HOT_CONDITION_ORDER: &[&str] = &["equals", "not", "and", "or"];

/// The functions of a version; those of its conditions too if they are wanted, which then stand for a function of the
/// same name.
pub fn functions_of(version: TemplateVersion, with_conditions: bool) -> Vec<DescribedFunction> {
    let (order, condition_order) = if !version.is_hot() {
        (CFN_ORDER, CFN_CONDITION_ORDER)
    } else if version == Hot20130523 {
        (FIRST_HOT_ORDER, HOT_CONDITION_ORDER)
    } else {
        (HOT_ORDER, HOT_CONDITION_ORDER)
    };
    let in_conditions = |name: &str| {
        with_conditions
            .then(|| find(CONDITION_FUNCTIONS, version, name))
            .flatten()
    };
    let anywhere = |name: &str| in_conditions(name).or_else(|| lookup(version, Context::Body, name));
    let of_the_body = order.iter().map(|name| (*name, anywhere(name)));
    let of_conditions = condition_order.iter().map(|name| (*name, in_conditions(name)));
    of_the_body
        .chain(of_conditions)
        .filter_map(|(name, function)| {
            Some(DescribedFunction {
                name,
                description: description(function?)?,
            })
        })
        .collect()
}

/// The names of the functions that conditions of a version may call.
pub fn condition_functions(version: TemplateVersion) -> Vec<&'static str> {
    let of_version = CONDITION_FUNCTIONS
        .iter()
        .filter(|(_, versions, _)| versions.contains(&version));
    of_version.map(|(name, _, _)| *name).collect()
}

/// Whether a version refuses a function that older ones have.
pub fn was_removed(version: TemplateVersion, name: &str) -> bool {
    lookup(version, Context::Body, name) == Some(Function::Removed)
}

/// `None` for what is no function of its version any more.
fn description(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::GetParam | Function::ParamRef => "A function for resolving parameter references.",
        Function::GetResource => "A function for resolving resource references.",
        Function::Ref => "A function for resolving parameters or resource references.",
        Function::GetAttribute(_) => "A function for resolving resource attributes.",
        Function::GetFile => "A function for including a file inline.",
        Function::Replace(_) => "A function for performing string substitutions.",
        Function::Join => "A function for joining strings.",
        Function::JoinMultiple => "A function for joining one or more lists of strings.",
        Function::StrSplit => "A function for splitting delimited strings into a list.",
        Function::Split => "A function for splitting strings.",
        Function::MapMerge => "A function for merging maps.",
        Function::MapReplace | Function::MakeUrl => "A function for performing substitutions on maps.",
        Function::ListConcat { unique: false } => "A function for extending lists.",
        Function::ListConcat { unique: true } => "A function for extending lists with unique items.",
        Function::Contains => "A function for checking whether specific value is in sequence.",
        Function::Filter => "A function for filtering out values from lists.",
        Function::Repeat(RepeatDialect::Lists) => "A function for iterating over a list of items.",
        Function::Repeat(_) => "A function for iterating over a list of items or a dict of keys.",
        Function::Digest => "A function for performing digest operations.",
        Function::ResourceFacade { .. } => "A function for retrieving data in a parent provider template.",
        Function::If { .. } => "A function to return corresponding value based on condition evaluation.",
        Function::Equals => "A function for comparing whether two values are equal.",
        Function::Not { .. } => "A function that acts as a NOT operator on a condition.",
        Function::And => "A function that acts as an AND operator on conditions.",
        Function::Or => "A function that acts as an OR operator on conditions.",
        Function::Yaql => "A function for executing a yaql expression.",
        Function::FindInMap => "A function for resolving keys in the template mappings.",
        Function::GetAvailabilityZones => "A function for retrieving the availability zones.",
        Function::Select => "A function for selecting an item from a list or map.",
        Function::Base64 => "A placeholder function for converting to base64.",
        Function::MemberListToMap => "A function to convert lists with enumerated keys and values to mapping.",
        Function::Removed | Function::Invalid => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::BODY_FUNCTIONS;
    use super::*;
    use crate::template::version::VERSIONS;

    #[test]
    fn every_function_has_its_place_in_the_list_of_its_versions() {
        for (_, _, version) in VERSIONS {
            let described: Vec<&str> = functions_of(*version, true).iter().map(|it| it.name).collect();
            let tables = BODY_FUNCTIONS.iter().chain(CONDITION_FUNCTIONS);
            let known = tables.filter(|(_, versions, function)| {
                versions.contains(version) && !matches!(function, Function::Removed | Function::Invalid)
            });
            for (name, _, _) in known {
                assert_eq!(
                    described.iter().filter(|it| *it == name).count(),
                    1,
                    "{name} in {version:?}"
                );
            }
        }
    }

    #[test]
    fn conditions_take_the_place_of_functions_of_their_name() {
        let of_ref = |with_conditions| {
            let functions = functions_of(TemplateVersion::Aws20100909, with_conditions);
            let found = functions.into_iter().find(|function| function.name == "Ref");
            found.map(|function| function.description)
        };
        assert_ne!(of_ref(false), of_ref(true));
    }
}
