//! The intrinsic functions: which version knows which, and what each of them does.
//!
//! A function is checked in three moments, as in Heat: when it is parsed (the shape of its arguments), when the stack
//! is validated, and when it is resolved. Each moment is one `match` here, and the work is in the files beside.

pub mod catalogue;
mod cfn;
mod digest;
mod lists;
mod logic;
mod lookup;
mod maps;
mod repeat;
mod strings;
mod urls;
mod yaql;

use serde_json::Value;

use super::allowance::weight;
use super::error::{Fault, ResolveError, TemplateError};
use super::expression::{AttributePath, Call, Context, Expression, ParseScope, Resolver};
use super::place::Place;
use super::references::References;
use super::version::TemplateVersion::{self, *};
use crate::python::repr;

pub(crate) use logic::choose_branch;

/// What a function does; several names, and several versions of one name, may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    GetParam,
    GetResource,
    GetAttribute(lookup::AttributeDialect),
    GetFile,
    Replace(strings::ReplaceDialect),
    Join,
    JoinMultiple,
    StrSplit,
    MapMerge,
    MapReplace,
    ListConcat {
        unique: bool,
    },
    Contains,
    Filter,
    Repeat(repeat::RepeatDialect),
    Digest,
    MakeUrl,
    ResourceFacade {
        cfn: bool,
    },
    If {
        may_omit_else: bool,
    },
    Equals,
    Not {
        in_list: bool,
    },
    And,
    Or,
    Yaql,
    /// `Ref` before it is known whether it names a resource.
    Ref,
    ParamRef,
    FindInMap,
    GetAvailabilityZones,
    Select,
    Split,
    Base64,
    MemberListToMap,
    /// Known to older versions only.
    Removed,
    /// Not allowed in a condition.
    Invalid,
}

use lookup::AttributeDialect::{AllAttributes, AttributeThenSelect, CfnPair, WithPath};
use repeat::RepeatDialect;
use strings::ReplaceDialect;

type Span = std::ops::RangeInclusive<TemplateVersion>;

const NEWEST: TemplateVersion = Hot20210416;

/// Name, versions that have it, and what it is in them.
const BODY_FUNCTIONS: &[(&str, Span, Function)] = &[
    ("get_param", Hot20130523..=NEWEST, Function::GetParam),
    ("get_resource", Hot20130523..=NEWEST, Function::GetResource),
    (
        "get_attr",
        Hot20130523..=Hot20130523,
        Function::GetAttribute(AttributeThenSelect),
    ),
    ("get_attr", Hot20141016..=Hot20150430, Function::GetAttribute(WithPath)),
    ("get_attr", Hot20151015..=NEWEST, Function::GetAttribute(AllAttributes)),
    ("get_file", Hot20130523..=NEWEST, Function::GetFile),
    ("list_join", Hot20130523..=Hot20150430, Function::Join),
    ("list_join", Hot20151015..=NEWEST, Function::JoinMultiple),
    (
        "str_replace",
        Hot20130523..=Hot20150430,
        Function::Replace(ReplaceDialect::Plain),
    ),
    (
        "str_replace",
        Hot20151015..=NEWEST,
        Function::Replace(ReplaceDialect::Json),
    ),
    (
        "resource_facade",
        Hot20130523..=NEWEST,
        Function::ResourceFacade { cfn: false },
    ),
    (
        "repeat",
        Hot20150430..=Hot20160408,
        Function::Repeat(RepeatDialect::Lists),
    ),
    (
        "repeat",
        Hot20161014..=Hot20170224,
        Function::Repeat(RepeatDialect::ListsAndMaps),
    ),
    (
        "repeat",
        Hot20170901..=NEWEST,
        Function::Repeat(RepeatDialect::Permutations),
    ),
    ("digest", Hot20150430..=NEWEST, Function::Digest),
    ("str_split", Hot20151015..=NEWEST, Function::StrSplit),
    ("map_merge", Hot20160408..=NEWEST, Function::MapMerge),
    ("yaql", Hot20161014..=NEWEST, Function::Yaql),
    ("map_replace", Hot20161014..=NEWEST, Function::MapReplace),
    ("if", Hot20161014..=Hot20180831, Function::If { may_omit_else: false }),
    ("if", Hot20210416..=NEWEST, Function::If { may_omit_else: true }),
    ("filter", Hot20170224..=NEWEST, Function::Filter),
    (
        "str_replace_strict",
        Hot20170224..=NEWEST,
        Function::Replace(ReplaceDialect::Strict),
    ),
    ("make_url", Hot20170901..=NEWEST, Function::MakeUrl),
    (
        "list_concat",
        Hot20170901..=NEWEST,
        Function::ListConcat { unique: false },
    ),
    (
        "str_replace_vstrict",
        Hot20170901..=NEWEST,
        Function::Replace(ReplaceDialect::VeryStrict),
    ),
    (
        "list_concat_unique",
        Hot20170901..=NEWEST,
        Function::ListConcat { unique: true },
    ),
    ("contains", Hot20170901..=NEWEST, Function::Contains),
    ("Fn::FindInMap", Aws20100909..=Heat20121212, Function::FindInMap),
    (
        "Fn::GetAtt",
        Aws20100909..=Heat20121212,
        Function::GetAttribute(CfnPair),
    ),
    (
        "Fn::If",
        Aws20100909..=Aws20100909,
        Function::If { may_omit_else: false },
    ),
    ("Fn::GetAZs", Aws20100909..=Hot20130523, Function::GetAvailabilityZones),
    ("Fn::GetAZs", Hot20141016..=NEWEST, Function::Removed),
    ("Ref", Aws20100909..=Hot20130523, Function::Ref),
    ("Ref", Hot20141016..=NEWEST, Function::Removed),
    ("Fn::Select", Aws20100909..=Hot20150430, Function::Select),
    ("Fn::Select", Hot20151015..=NEWEST, Function::Removed),
    ("Fn::Join", Aws20100909..=Hot20130523, Function::Join),
    ("Fn::Join", Hot20141016..=NEWEST, Function::Removed),
    ("Fn::Split", Aws20100909..=Hot20130523, Function::Split),
    ("Fn::Split", Hot20141016..=NEWEST, Function::Removed),
    (
        "Fn::Replace",
        Aws20100909..=Hot20130523,
        Function::Replace(ReplaceDialect::Cfn),
    ),
    ("Fn::Replace", Hot20141016..=NEWEST, Function::Removed),
    ("Fn::Base64", Aws20100909..=Hot20130523, Function::Base64),
    ("Fn::Base64", Hot20141016..=NEWEST, Function::Removed),
    (
        "Fn::MemberListToMap",
        Aws20100909..=Hot20130523,
        Function::MemberListToMap,
    ),
    ("Fn::MemberListToMap", Hot20141016..=NEWEST, Function::Removed),
    (
        "Fn::ResourceFacade",
        Aws20100909..=Hot20130523,
        Function::ResourceFacade { cfn: true },
    ),
    ("Fn::ResourceFacade", Hot20141016..=NEWEST, Function::Removed),
];

const CONDITION_FUNCTIONS: &[(&str, Span, Function)] = &[
    ("get_param", Hot20161014..=NEWEST, Function::GetParam),
    ("equals", Hot20161014..=NEWEST, Function::Equals),
    ("not", Hot20161014..=NEWEST, Function::Not { in_list: false }),
    ("and", Hot20161014..=NEWEST, Function::And),
    ("or", Hot20161014..=NEWEST, Function::Or),
    ("yaql", Hot20170901..=NEWEST, Function::Yaql),
    ("contains", Hot20170901..=NEWEST, Function::Contains),
    ("Ref", Aws20100909..=Aws20100909, Function::ParamRef),
    ("Fn::FindInMap", Aws20100909..=Aws20100909, Function::FindInMap),
    ("Fn::Equals", Aws20100909..=Aws20100909, Function::Equals),
    ("Fn::Not", Aws20100909..=Aws20100909, Function::Not { in_list: true }),
    ("Fn::And", Aws20100909..=Aws20100909, Function::And),
    ("Fn::Or", Aws20100909..=Aws20100909, Function::Or),
];

fn find(table: &[(&str, Span, Function)], version: TemplateVersion, name: &str) -> Option<Function> {
    table
        .iter()
        .find(|(known, versions, _)| *known == name && versions.contains(&version))
        .map(|(_, _, function)| *function)
}

/// The function of a name, if the version has one. In a condition, the other functions of the version are known too, but
/// not allowed.
pub(crate) fn lookup(version: TemplateVersion, context: Context, name: &str) -> Option<Function> {
    let in_body = || find(BODY_FUNCTIONS, version, name);
    match context {
        Context::Body => in_body(),
        Context::Condition => find(CONDITION_FUNCTIONS, version, name).or_else(|| match in_body()? {
            Function::Removed if version.has_conditions() => Some(Function::Removed),
            _ => Some(Function::Invalid),
        }),
    }
}

/// Tells apart what one name may mean.
pub(crate) fn specialise(
    function: Function,
    arguments: &Expression,
    scope: &ParseScope<'_>,
) -> Result<Function, Fault> {
    if function != Function::Ref {
        return Ok(function);
    }
    let name = match arguments {
        Expression::Scalar(Value::String(name)) => name,
        Expression::Scalar(_) => return Ok(Function::ParamRef),
        other => return Err(unhashable(&other.render())),
    };
    Ok(if scope.references.has_resource(name) {
        Function::GetResource
    } else {
        Function::ParamRef
    })
}

/// What can be said about arguments when they are parsed.
pub(crate) fn check_arguments(function: Function, name: &str, arguments: &Expression) -> Result<(), Fault> {
    match function {
        Function::GetAttribute(dialect) => lookup::check_attribute(dialect, name, arguments),
        Function::Replace(dialect) => strings::check_replace(dialect, name, arguments),
        Function::Join => strings::check_join(name, arguments),
        Function::JoinMultiple => strings::check_join_multiple(name, arguments),
        Function::StrSplit => strings::check_str_split(name, arguments),
        Function::Contains => lists::check_contains(name, arguments),
        Function::Filter => lists::check_filter(name, arguments),
        Function::Repeat(dialect) => repeat::check(dialect, name, arguments),
        Function::ResourceFacade { cfn } => lookup::check_facade(cfn, name, arguments),
        Function::Equals => logic::check_equals(name, arguments),
        Function::Not { in_list } => logic::check_not(in_list, name, arguments),
        Function::And | Function::Or => logic::check_several(name, arguments),
        Function::FindInMap => cfn::check_find_in_map(arguments),
        Function::Select => cfn::check_select(name, arguments),
        Function::Split => cfn::check_split(name, arguments),
        Function::MemberListToMap => cfn::check_member_list(name, arguments),
        Function::Invalid => Err(Fault::ValueError(format!(
            "The function \"{name}\" is invalid in this context"
        ))),
        Function::Yaql => yaql::check(name, arguments),
        _ => Ok(()),
    }
}

/// What is checked in addition when the stack is validated.
pub(crate) fn validate(call: &Call, references: &dyn References) -> Result<(), Fault> {
    if call.function == Function::Removed {
        let explanation = format!("The function {} is not supported in this version of HOT.", call.name);
        return Err(TemplateError::InvalidTemplateVersion { explanation }.into());
    }
    call.arguments.validate(references, &Place::Start(&[]))?;
    match call.function {
        Function::GetAttribute(_) => lookup::validate_attribute(call, references),
        Function::Repeat(_) => repeat::validate(call),
        Function::MakeUrl => urls::validate(call),
        Function::Yaql => yaql::validate(&call.name, &call.arguments),
        _ => Ok(()),
    }
}

/// The value of a call; `None` if an `if` leaves nothing.
pub(crate) fn resolve(call: &Call, resolver: &Resolver<'_>) -> Result<Option<Value>, ResolveError> {
    let name = call.name.as_str();
    let arguments = &call.arguments;
    let value = match call.function {
        Function::If { .. } => return resolver.resolve_or_absent(arguments),
        Function::GetParam => lookup::get_param(name, arguments, resolver),
        Function::GetResource => lookup::get_resource(arguments, resolver),
        Function::GetAttribute(dialect) => lookup::get_attribute(dialect, arguments, resolver),
        Function::GetFile => lookup::get_file(name, arguments, resolver),
        Function::Replace(dialect) => strings::replace(dialect, name, arguments, resolver),
        Function::Join => strings::join(name, arguments, resolver),
        Function::JoinMultiple => strings::join_multiple(name, arguments, resolver),
        Function::StrSplit => strings::str_split(name, arguments, resolver),
        Function::MapMerge => maps::merge(name, arguments, resolver),
        Function::MapReplace => maps::replace(name, arguments, resolver),
        Function::ListConcat { unique } => lists::concat(unique, name, arguments, resolver),
        Function::Contains => lists::contains(name, arguments, resolver),
        Function::Filter => lists::filter(name, arguments, resolver),
        Function::Repeat(dialect) => repeat::resolve(dialect, name, arguments, resolver),
        Function::Digest => digest::resolve(name, arguments, resolver),
        Function::MakeUrl => urls::resolve(name, arguments, resolver),
        Function::Yaql => yaql::resolve(name, arguments, resolver),
        Function::Equals => logic::equals(arguments, resolver),
        Function::Not { in_list } => logic::not(in_list, arguments, resolver),
        Function::And => logic::and(arguments, resolver),
        Function::Or => logic::or(arguments, resolver),
        Function::ParamRef => cfn::param_ref(arguments, resolver),
        Function::FindInMap => cfn::find_in_map(arguments, resolver),
        Function::Select => cfn::select(name, arguments, resolver),
        Function::Split => cfn::split(name, arguments, resolver),
        Function::Base64 => cfn::base64(name, arguments, resolver),
        Function::MemberListToMap => cfn::member_list_to_map(arguments, resolver),
        Function::Removed => Ok(Value::Object(serde_json::Map::from_iter([(
            name.to_owned(),
            arguments.render(),
        )]))),
        Function::ResourceFacade { .. } => lookup::facade(arguments, resolver),
        Function::GetAvailabilityZones => resolver.references.availability_zones().map(Value::from),
        Function::Ref | Function::Invalid => Err(never_resolved(name).into()),
    }?;
    resolver.spend(weight(&value))?;
    Ok(Some(value))
}

/// The resource that a call refers to by itself (its arguments may refer to more).
pub(crate) fn referenced_resource(
    call: &Call,
    resolver: &Resolver<'_>,
    place: &Place<'_>,
) -> Result<Option<String>, ResolveError> {
    match call.function {
        Function::GetResource => lookup::existing_resource(&call.arguments, resolver, place).map(Some),
        Function::GetAttribute(_) => {
            let resource = lookup::resource_asked(&call.arguments);
            lookup::existing_resource(resource, resolver, place).map(Some)
        }
        _ => Ok(None),
    }
}

pub(crate) fn referenced_attribute(call: &Call, resolver: &Resolver<'_>) -> Option<(String, AttributePath)> {
    match call.function {
        Function::GetAttribute(dialect) => lookup::attribute_asked_for(dialect, &call.arguments, resolver),
        _ => None,
    }
}

/// Parsing makes something else of it, or refuses it.
fn never_resolved(name: &str) -> Fault {
    TemplateError::NotSupported {
        feature: format!("The function \"{name}\""),
    }
    .into()
}

/// What Python says of a list or a map where a key is needed.
fn unhashable(value: &Value) -> Fault {
    Fault::TypeError(format!(
        "unhashable type: '{}'",
        crate::python::value::class_name(value)
    ))
}

/// The beginning of a value's `repr`, for messages about single items.
fn short_repr(value: &Value) -> String {
    repr(value).chars().take(200).collect()
}

/// Resolves a list of arguments; anything else gives Python's word for what it is.
fn resolved_list(arguments: &Expression, resolver: &Resolver<'_>) -> Result<Result<Vec<Value>, Value>, ResolveError> {
    Ok(match resolver.resolve(arguments)? {
        Value::Array(items) => Ok(items),
        other => Err(other),
    })
}
