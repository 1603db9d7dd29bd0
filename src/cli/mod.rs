//! The verbs of the command line, a file each.

pub mod arguments;
mod by_hand;
pub mod check_config;
pub mod doctor;
pub mod inspect;
pub mod once;
pub mod run;
mod screen;
mod secrets;
pub mod template;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::{Arguments, Verb};

use crate::exception::chain;
use crate::settings::SettingsError;

/// It ended as it was told to.
const DONE: u8 = 0;
/// It could not start, or could not go on.
const FAILED: u8 = 1;
/// The command line or heat.conf cannot be used. clap uses the same code.
const UNUSABLE: u8 = 2;

/// The whole program.
pub fn main() -> ExitCode {
    let matches = Arguments::command().get_matches();
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    if let Some(contradiction) = arguments.contradiction() {
        contradiction.exit();
    }
    let sources = arguments.sources(&matches);
    let code = match &arguments.verb {
        Some(Verb::Doctor(what)) => doctor::main(&sources, what),
        Some(Verb::Inspect(what)) => inspect::main(&sources, arguments.debug, what),
        None if arguments.once.once.is_some() => {
            let target = arguments.once.once.as_deref().unwrap_or_default();
            once::main(&sources, arguments.debug, target, &arguments.once)
        }
        Some(Verb::Template(what)) => template::main(what),
        None if arguments.check_config => check_config::main(&sources),
        None => run::main(sources),
    };
    ExitCode::from(code)
}

/// A line for each problem of a configuration.
fn complain_of_all(problems: Vec<SettingsError>) {
    for problem in problems {
        complain(problem.into());
    }
}

/// One line on stderr: what failed, and why, down to the first cause.
fn complain(error: anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "heat-engine-rs: {}", chain(error.as_ref()));
}
