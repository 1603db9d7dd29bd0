//! `template …`: looks at templates without a cloud, a database or a bus.

mod check;
mod checked;
mod constraints;
mod document;
mod environments;
mod expressions;
mod facade;
mod files;
mod functions;
mod groups;
mod hidden;
mod hints;
mod inputs;
mod keys;
mod members;
mod misspelt;
mod names;
mod near;
mod nested;
mod nested_parameters;
mod parameters;
#[cfg(test)]
mod probes;
mod problem;
mod refused;
mod registry;
mod resolve;
mod resources;
mod rules;
mod source;
mod strategies;
mod truths;
mod validate;
mod words;

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::python::dumps;

/// There is nothing to complain about.
const SOUND: u8 = super::DONE;
/// Something is wrong with the template or with what it is given.
const UNSOUND: u8 = super::FAILED;
/// A file cannot be read, or the command line makes no sense.
const UNREADABLE: u8 = super::UNUSABLE;

#[derive(Debug, Args)]
pub struct TemplateArguments {
    #[command(subcommand)]
    verb: TemplateVerb,
}

#[derive(Debug, Subcommand)]
enum TemplateVerb {
    /// Tell everything that is wrong with a template, with its place
    #[command(after_help = "Exit codes: 0 sound, 1 errors found, 2 a file cannot be read")]
    Validate(ValidateArguments),
    /// Show properties and outputs as far as they can be told without a cloud
    #[command(
        after_help = "Values of hidden parameters are shown as ***; what a function makes of one, such as its \
                            digest, is not hidden.\n\n\
                            Exit codes: 0 shown, 1 errors found, 2 a file cannot be read, or a resource is not there"
    )]
    Resolve(ResolveArguments),
    /// List the functions that a version of the language has
    Functions(functions::FunctionsArguments),
}

#[derive(Debug, Args)]
struct ValidateArguments {
    #[command(flatten)]
    inputs: InputArguments,

    /// Show the parameters of nested templates too
    #[arg(long)]
    show_nested: bool,

    /// End with 1 after warnings, too
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Args)]
struct ResolveArguments {
    #[command(flatten)]
    inputs: InputArguments,

    /// Show only these resources; may be given several times
    #[arg(long, value_name = "NAME")]
    resource: Vec<String>,
}

#[derive(Debug, Args)]
struct InputArguments {
    /// The template, YAML or JSON; - for standard input
    file: PathBuf,

    /// An environment file; may be given several times, a later one wins
    #[arg(short = 'e', long, value_name = "FILE")]
    environment: Vec<PathBuf>,

    /// The value of a parameter; may be given several times
    #[arg(short = 'P', long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct OutputArguments {
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn main(arguments: &TemplateArguments) -> u8 {
    let outcome = match &arguments.verb {
        TemplateVerb::Validate(arguments) => validate::run(arguments),
        TemplateVerb::Resolve(arguments) => resolve::run(arguments),
        TemplateVerb::Functions(arguments) => functions::run(arguments),
    };
    match outcome {
        Ok((text, code)) => {
            // Whoever reads may have gone (`| head`): nothing to do about it.
            let _ = std::io::stdout().write_all(text.as_bytes());
            code
        }
        Err(error) => {
            if arguments.verb.format() == Format::Json {
                let report = json!({"error": super::chain(error.as_ref())});
                let _ = writeln!(std::io::stdout(), "{}", dumps(&report));
            }
            super::complain(error);
            UNREADABLE
        }
    }
}

impl TemplateVerb {
    fn format(&self) -> Format {
        let output = match self {
            Self::Validate(arguments) => &arguments.inputs.output,
            Self::Resolve(arguments) => &arguments.inputs.output,
            Self::Functions(arguments) => arguments.output(),
        };
        output.format
    }
}
