//! Evaluating: which function a name means for these arguments, and the call of it.
//!
//! All functions of the name are asked, nearest context first. Those whose parameters can take the arguments at all
//! must agree on which of them stay unevaluated; then the others are evaluated, and the functions of the first context
//! with one that takes the values decide among themselves, the most special one winning.

use std::rc::Rc;

use super::call::{Argument, Bound, Call, Definition, Lambda};
use super::context::Context;
use super::engine::Engine;
use super::error::Error;
use super::expression::{DATA, Expression, FunctionCall};
use super::iteration::limited;
use super::library;
use super::signature::{Default, Form, Function, Kind, Outcome, Parameter, any};
use super::value::Value;

type Keywords = Vec<(Rc<str>, Argument)>;

pub(super) fn evaluate(
    engine: &Engine,
    expression: &Rc<Expression>,
    context: &Context,
    receiver: Option<Value>,
) -> Outcome {
    match &**expression {
        Expression::Constant(value) => Ok(value.clone()),
        Expression::Word(word) => Ok(Value::Text(word.clone())),
        Expression::Wrapped(inner) => {
            let _depth = engine.enter_parentheses()?;
            evaluate(engine, inner, context, receiver)
        }
        Expression::Rule { source, destination } => {
            let source = evaluate(engine, source, context, receiver.clone())?;
            let destination = evaluate(engine, destination, context, receiver)?;
            Ok(Value::Rule(Rc::new((source, destination))))
        }
        Expression::Call(call) => {
            if let Some(name) = plain_variable(call, context) {
                engine.spend(1)?;
                let value = context.get(name);
                engine.check_memory(&value)?;
                return Ok(value);
            }
            let arguments = call.arguments.iter().map(|argument| match argument {
                Some(expression) => Argument::Expression(expression.clone()),
                None => Argument::Value(Value::NoValue),
            });
            call_function(engine, &call.name, context, receiver, arguments.collect(), Vec::new())
        }
    }
}

/// A variable that can be looked up without more ado, because nothing was defined that might change the way.
fn plain_variable<'a>(call: &'a FunctionCall, context: &Context) -> Option<&'a str> {
    if &*call.name != DATA || context.has_definitions() {
        return None;
    }
    match call.arguments.as_slice() {
        [Some(name)] => match &**name {
            Expression::Constant(Value::Text(name)) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Calls the function, or on a receiver the method, of a name.
pub(super) fn call_function(
    engine: &Engine,
    name: &str,
    context: &Context,
    receiver: Option<Value>,
    arguments: Vec<Argument>,
    keywords: Keywords,
) -> Outcome {
    let _depth = engine.enter_call()?;
    let choice = Choice {
        engine,
        name,
        context,
        receiver,
    };
    let levels = choice.candidates();
    if levels.is_empty() {
        return Err(choice.unknown());
    }
    let result = choice.make(levels, arguments, keywords)?;
    engine.check_memory(&result)?;
    engine.check_nesting(&result)?;
    Ok(result)
}

#[derive(Clone)]
enum Candidate {
    Library(&'static Function),
    Defined(Rc<Definition>),
}

const ANYTHING: Parameter = any("args");

impl Candidate {
    fn parameters(&self) -> &'static [Parameter] {
        match self {
            Self::Library(function) => function.parameters,
            Self::Defined(_) => &[],
        }
    }

    fn rest(&self) -> Option<Parameter> {
        match self {
            Self::Library(function) => function.rest,
            Self::Defined(_) => Some(ANYTHING),
        }
    }

    fn keywords(&self) -> Option<Parameter> {
        match self {
            Self::Library(function) => function.keywords,
            Self::Defined(_) => Some(ANYTHING),
        }
    }

    fn takes_rules(&self) -> bool {
        matches!(self, Self::Library(function) if function.takes_rules)
    }
}

/// Which parameter takes which argument.
struct Mapping {
    positional: Vec<Parameter>,
    keywords: Vec<(Rc<str>, Parameter)>,
}

/// The arguments that are not evaluated.
#[derive(PartialEq, Eq)]
struct Lazy {
    positions: Vec<usize>,
    names: Vec<Rc<str>>,
}

struct Choice<'a> {
    engine: &'a Engine,
    name: &'a str,
    context: &'a Context,
    receiver: Option<Value>,
}

impl Choice<'_> {
    fn candidates(&self) -> Vec<Vec<Candidate>> {
        let name = self.name.trim_end_matches('_');
        let wanted = if self.receiver.is_some() {
            Form::Method
        } else {
            Form::Function
        };
        let mut levels = Vec::new();
        if wanted == Form::Function {
            for level in self.context.definitions(name) {
                levels.push(level.into_iter().map(Candidate::Defined).collect());
            }
        }
        let library = library::functions(name);
        levels.extend(library.iter().filter_map(|level| {
            let level: Vec<Candidate> = level
                .iter()
                .filter(|function| function.form == wanted || function.form == Form::Both)
                .map(|function| Candidate::Library(function))
                .collect();
            (!level.is_empty()).then_some(level)
        }));
        levels
    }

    fn make(&self, levels: Vec<Vec<Candidate>>, mut arguments: Vec<Argument>, mut keywords: Keywords) -> Outcome {
        if let Some(receiver) = &self.receiver {
            arguments.insert(0, Argument::Value(receiver.clone()));
        }
        let mut takes_rules = None;
        let mut lazy: Option<Lazy> = None;
        let mut fitting: Vec<Vec<(Candidate, Mapping)>> = Vec::new();
        for level in levels {
            let mut fitting_here = Vec::new();
            for candidate in level {
                match takes_rules {
                    None => {
                        takes_rules = Some(candidate.takes_rules());
                        translate_rules(candidate.takes_rules(), &mut arguments, &mut keywords)?;
                    }
                    Some(known) if known != candidate.takes_rules() => return Err(self.ambiguous()),
                    Some(_) => {}
                }
                let Some(mapping) = map_arguments(&candidate, &arguments, &keywords) else {
                    continue;
                };
                let unevaluated = mapping.lazy();
                match &lazy {
                    None => lazy = Some(unevaluated),
                    Some(known) if *known != unevaluated => return Err(self.ambiguous()),
                    Some(_) => {}
                }
                fitting_here.push((candidate, mapping));
            }
            if !fitting_here.is_empty() {
                fitting.push(fitting_here);
            }
        }
        let Some(lazy) = lazy else {
            return Err(self.no_match());
        };
        self.evaluate_arguments(&mut arguments, &mut keywords, &lazy)?;
        for level in fitting {
            if let Some(candidate) = self.most_special(level, &arguments, &keywords)? {
                return self.run(&candidate, arguments, keywords);
            }
        }
        Err(self.no_match())
    }

    fn evaluate_arguments(
        &self,
        arguments: &mut [Argument],
        keywords: &mut Keywords,
        lazy: &Lazy,
    ) -> Result<(), Error> {
        let evaluated = |argument: &mut Argument| -> Result<(), Error> {
            if let Argument::Expression(expression) = argument
                && !expression.is_constant()
            {
                *argument = Argument::Value(evaluate(self.engine, expression, self.context, None)?);
            }
            Ok(())
        };
        for (index, argument) in arguments.iter_mut().enumerate() {
            if !lazy.positions.contains(&index) {
                evaluated(argument)?;
            }
        }
        for (name, argument) in keywords {
            if !lazy.names.contains(name) {
                evaluated(argument)?;
            }
        }
        Ok(())
    }

    /// The candidate of a level that takes the values, if there is one.
    fn most_special(
        &self,
        level: Vec<(Candidate, Mapping)>,
        arguments: &[Argument],
        keywords: &Keywords,
    ) -> Result<Option<Candidate>, Error> {
        let mut winner: Option<(Candidate, Mapping)> = None;
        for (candidate, mapping) in level {
            if !takes_values(&candidate, arguments, keywords) {
                continue;
            }
            match &winner {
                Some((_, winning)) if winning.is_special_case_of(&mapping) => continue,
                Some((_, winning)) if !mapping.is_special_case_of(winning) => return Err(self.ambiguous()),
                _ => winner = Some((candidate, mapping)),
            }
        }
        Ok(winner.map(|(candidate, _)| candidate))
    }

    fn run(&self, candidate: &Candidate, arguments: Vec<Argument>, keywords: Keywords) -> Outcome {
        let call = self.bind(candidate, arguments, keywords)?;
        match candidate {
            Candidate::Library(function) => (function.body)(&call),
            Candidate::Defined(definition) => {
                let arguments: Vec<Value> = call.rest_values().cloned().collect();
                definition.body.call_with(self.engine, &arguments, &call.keywords)
            }
        }
    }

    fn bind<'e>(
        &'e self,
        candidate: &Candidate,
        arguments: Vec<Argument>,
        mut keywords: Keywords,
    ) -> Result<Call<'e>, Error> {
        let context = self.context.child();
        let mut bound = Vec::with_capacity(candidate.parameters().len());
        let mut arguments = arguments.into_iter();
        for parameter in candidate.parameters() {
            let argument = match arguments.next().filter(is_given) {
                Some(argument) => argument,
                None => take_keyword(&mut keywords, parameter.name)
                    .unwrap_or_else(|| Argument::Value(parameter.default_value())),
            };
            bound.push(self.convert(parameter, argument, &context)?);
        }
        let mut rest = Vec::new();
        if let Some(parameter) = candidate.rest() {
            for argument in arguments {
                rest.push(self.convert(&parameter, argument, &context)?);
            }
        }
        let mut named = Vec::new();
        if let Some(parameter) = candidate.keywords() {
            for (name, argument) in keywords {
                if let Bound::Value(value) = self.convert(&parameter, argument, &context)? {
                    named.push((name, value));
                }
            }
        }
        Ok(Call {
            engine: self.engine,
            context,
            arguments: bound,
            rest,
            keywords: named,
        })
    }

    /// The argument as the parameter wants it.
    fn convert(&self, parameter: &Parameter, argument: Argument, context: &Context) -> Result<Bound, Error> {
        let lambda = |expression: &Rc<Expression>| Lambda::new(expression.clone(), context.clone());
        match (parameter.kind, argument) {
            (Kind::Lambda | Kind::LambdaInContext | Kind::MethodLambda, argument) => Ok(match argument {
                Argument::Expression(expression) => Bound::Lambda(lambda(&expression)),
                Argument::Value(Value::Null) => Bound::Value(Value::Null),
                Argument::Value(value) => Bound::Lambda(Lambda::constant(value, context.clone())),
            }),
            (Kind::LazyRule, Argument::Expression(expression)) => match &*expression {
                Expression::Rule { source, destination } => Ok(Bound::Rule(lambda(source), lambda(destination))),
                _ => Err(Error::InvalidArgument(parameter.name.to_owned())),
            },
            (Kind::Expression | Kind::CallExpression | Kind::WordExpression, Argument::Expression(expression)) => {
                Ok(Bound::Expression(expression))
            }
            (_, argument) => {
                let value = match argument {
                    Argument::Value(value) => value,
                    Argument::Expression(expression) => evaluate(self.engine, &expression, context, None)?,
                };
                self.engine.check_memory(&value)?;
                Ok(Bound::Value(match (parameter.kind, value) {
                    (_, Value::Null) => Value::Null,
                    (Kind::DateTime, Value::DateTime(moment)) => Value::DateTime(moment.or_utc()),
                    (Kind::Iterable | Kind::IterableButSet, value) => limited(value, self.engine)?,
                    (_, value) => value,
                }))
            }
        }
    }

    fn unknown(&self) -> Error {
        self.complaint(Error::UnknownFunction, |name, receiver| Error::UnknownMethod {
            name,
            receiver,
        })
    }

    fn no_match(&self) -> Error {
        self.complaint(Error::NoMatchingFunction, |name, receiver| Error::NoMatchingMethod {
            name,
            receiver,
        })
    }

    fn ambiguous(&self) -> Error {
        self.complaint(Error::AmbiguousFunction, |name, receiver| Error::AmbiguousMethod {
            name,
            receiver,
        })
    }

    /// What is said of a function, or with the text of its receiver of a method.
    fn complaint(&self, function: fn(String) -> Error, method: fn(String, String) -> Error) -> Error {
        match &self.receiver {
            None => function(self.name.to_owned()),
            Some(receiver) => match receiver.checked_text() {
                Ok(receiver) => method(self.name.to_owned(), receiver),
                Err(error) => error,
            },
        }
    }
}

/// Rules (`a => b`) are keyword arguments, unless the function takes them as they are.
fn translate_rules(takes_rules: bool, arguments: &mut Vec<Argument>, keywords: &mut Keywords) -> Result<(), Error> {
    if takes_rules {
        return match keywords.first() {
            Some((name, _)) => Err(Error::InvalidArgument(name.to_string())),
            None => Ok(()),
        };
    }
    let mut translated: Keywords = Vec::new();
    let mut positional = Vec::with_capacity(arguments.len());
    for argument in arguments.drain(..) {
        let rule = match &argument {
            Argument::Expression(expression) => match &**expression {
                Expression::Rule { source, destination } => Some((source, destination)),
                _ => None,
            },
            Argument::Value(_) => None,
        };
        let Some((source, destination)) = rule else {
            positional.push(argument);
            continue;
        };
        let Expression::Word(name) = &**source else {
            return Err(Error::MappingTranslation);
        };
        let destination = Argument::Expression(destination.clone());
        match translated.iter_mut().find(|(known, _)| known == name) {
            Some((_, earlier)) => *earlier = destination,
            None => translated.push((name.clone(), destination)),
        }
    }
    for (name, argument) in keywords.drain(..) {
        if translated.iter().any(|(known, _)| *known == name) {
            return Err(Error::MappingTranslation);
        }
        translated.push((name, argument));
    }
    *arguments = positional;
    *keywords = translated;
    Ok(())
}

fn is_given(argument: &Argument) -> bool {
    !matches!(argument, Argument::Value(Value::NoValue))
}

fn take_keyword(keywords: &mut Keywords, name: &str) -> Option<Argument> {
    let index = keywords.iter().position(|(known, _)| &**known == name)?;
    Some(keywords.remove(index).1)
}

/// Which parameter would take which argument; `None` if the arguments cannot be passed to the candidate.
fn map_arguments(candidate: &Candidate, arguments: &[Argument], keywords: &Keywords) -> Option<Mapping> {
    let mut positional = vec![candidate.rest(); arguments.len()];
    let mut named = Vec::new();
    let mut left: Vec<&(Rc<str>, Argument)> = keywords.iter().collect();
    for (index, parameter) in candidate.parameters().iter().enumerate() {
        let keyword = left.iter().position(|(name, _)| &**name == parameter.name);
        match (arguments.get(index).filter(|argument| is_given(argument)), keyword) {
            (Some(_), Some(_)) => return None,
            (Some(_), None) => positional[index] = Some(*parameter),
            (None, Some(keyword)) => named.push((left.remove(keyword).0.clone(), *parameter)),
            (None, None) if parameter.default == Default::Required => return None,
            (None, None) => {
                if let Some(place) = positional.get_mut(index) {
                    *place = Some(*parameter);
                }
            }
        }
    }
    for (name, argument) in left {
        let parameter = candidate.keywords()?;
        if !parameter.accepts(argument) {
            return None;
        }
        named.push((name.clone(), parameter));
    }
    let positional = positional.into_iter().collect::<Option<Vec<Parameter>>>()?;
    let all_fit = positional.iter().zip(arguments).all(|(parameter, argument)| {
        let has_default = parameter.default != Default::Required;
        (has_default && !is_given(argument)) || parameter.accepts(argument)
    });
    all_fit.then_some(Mapping {
        positional,
        keywords: named,
    })
}

/// Whether a candidate takes the arguments, now that they are evaluated.
fn takes_values(candidate: &Candidate, arguments: &[Argument], keywords: &Keywords) -> bool {
    let parameters = candidate.parameters();
    let mut left: Vec<&(Rc<str>, Argument)> = keywords.iter().collect();
    for (index, parameter) in parameters.iter().enumerate() {
        let keyword = left.iter().position(|(name, _)| &**name == parameter.name);
        let argument = match arguments.get(index).filter(|argument| is_given(argument)) {
            Some(argument) => argument,
            None => match keyword {
                Some(keyword) => &left.remove(keyword).1,
                None => continue,
            },
        };
        if !parameter.accepts(argument) {
            return false;
        }
    }
    let accepts = |parameter: Option<Parameter>, argument: &Argument| {
        parameter.is_some_and(|parameter| parameter.accepts(argument))
    };
    arguments
        .iter()
        .skip(parameters.len())
        .all(|argument| accepts(candidate.rest(), argument))
        && left.iter().all(|(_, argument)| accepts(candidate.keywords(), argument))
}

impl Mapping {
    fn lazy(&self) -> Lazy {
        let positions = self.positional.iter().enumerate();
        let mut names: Vec<Rc<str>> = self
            .keywords
            .iter()
            .filter(|(_, parameter)| parameter.kind.is_lazy())
            .map(|(name, _)| name.clone())
            .collect();
        names.sort();
        Lazy {
            positions: positions
                .filter(|(_, parameter)| parameter.kind.is_lazy())
                .map(|(index, _)| index)
                .collect(),
            names,
        }
    }

    /// At least one parameter is more special, and none is less.
    fn is_special_case_of(&self, other: &Mapping) -> bool {
        let positional = self.positional.iter().zip(&other.positional);
        let keywords = self.keywords.iter().filter_map(|(name, parameter)| {
            let same = other.keywords.iter().find(|(known, _)| known == name);
            same.map(|(_, other)| (parameter, other))
        });
        let mut is_special = false;
        for (mine, theirs) in positional.chain(keywords) {
            if mine.is_special_case_of(theirs) {
                is_special = true;
            } else if theirs.is_special_case_of(mine) {
                return false;
            }
        }
        is_special
    }
}
