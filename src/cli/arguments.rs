//! The command line: what `heat-engine` of Python takes, under the same names, and what an operator asks beside it.
//!
//! Options of the configuration may stand before or after a verb, not on both sides: clap keeps one side only.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, CommandFactory, Parser, Subcommand};

use super::doctor::DoctorArguments;
use super::inspect::InspectArguments;
use super::once::OnceArguments;
use super::template::TemplateArguments;
use crate::settings::{ConfigSource, Override, SettingsSources, search};

const ABOUT: &str = "\
OpenStack Heat's engine: creates, updates and deletes stacks.

It takes the place of the Python heat-engine, or works beside it: the same heat.conf,
the same message queues, the same database. Any number of both kinds may serve one cloud.";

const AFTER_HELP: &str = "\
Without --config-file it reads heat.conf and heat-engine.conf, each from the first of
~/.heat, ~, /etc/heat and /etc that has it; without --config-dir, heat.conf.d and
heat-engine.conf.d likewise. A later file wins over an earlier one, an environment
variable OS_<GROUP>__<OPTION> (for example OS_DATABASE__CONNECTION) over files, and the
command line over all.

Examples:
  heat-engine-rs --config-file /etc/heat/heat.conf
  heat-engine-rs --config-file /etc/heat/heat.conf --config-file /etc/heat/rust.conf --debug
  heat-engine-rs --check-config | less
  heat-engine-rs doctor
  heat-engine-rs template validate stack.yaml -e production.yaml -P name=web
  heat-engine-rs inspect my-stack
  heat-engine-rs --once my-stack/db --dry-run

Signals:
  SIGTERM, SIGINT  take nothing new, finish what runs (graceful_shutdown_timeout), end;
                   the second one ends at once: other engines continue what ran
  SIGHUP           read debug and default_log_levels again, open the log file anew

Exit codes:
  0  ended as told, or the configuration is sound
  1  could not start or go on (the reason is on stderr and in the log); doctor: a problem; --once: the resource failed
  2  the command line or the configuration cannot be used; --once: the check could not be run";

#[derive(Debug, Parser)]
#[command(
    name = "heat-engine-rs",
    version,
    about = ABOUT,
    after_help = AFTER_HELP,
    infer_long_args = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Option<Verb>,

    #[command(flatten)]
    pub once: OnceArguments,

    /// Read this file; may be given several times
    #[arg(long, value_name = "PATH", action = ArgAction::Append, global = true, help_heading = "Configuration")]
    config_file: Vec<PathBuf>,

    /// Read the *.conf of this directory, sorted by name; may be given several times
    #[arg(long, value_name = "DIR", action = ArgAction::Append, global = true, help_heading = "Configuration")]
    config_dir: Vec<PathBuf>,

    /// Say what is understood (secrets hidden), or what is wrong, and end
    #[arg(long, help_heading = "Configuration")]
    pub check_config: bool,

    /// Log at DEBUG
    #[arg(
        short = 'd',
        long,
        overrides_with = "nodebug",
        global = true,
        help_heading = "Logging"
    )]
    pub debug: bool,

    /// Log at INFO, whatever heat.conf says
    #[arg(long, overrides_with = "debug", global = true, help_heading = "Logging")]
    nodebug: bool,

    /// Log to this file
    #[arg(
        long,
        alias = "logfile",
        value_name = "PATH",
        global = true,
        help_heading = "Logging"
    )]
    log_file: Option<String>,

    /// The directory of a relative --log-file; alone, the file is called as the program
    #[arg(long, alias = "logdir", value_name = "DIR", global = true, help_heading = "Logging")]
    log_dir: Option<String>,

    /// The form of dates in the log (strftime)
    #[arg(long, value_name = "FORMAT", global = true, help_heading = "Logging")]
    log_date_format: Option<String>,

    /// Log to the journal of systemd
    #[arg(long, overrides_with = "nouse_journal", global = true, help_heading = "Logging")]
    use_journal: bool,

    /// Do not, whatever heat.conf says
    #[arg(long = "nouse-journal", overrides_with = "use_journal", global = true, hide = true)]
    nouse_journal: bool,

    /// Log JSON, an object a line
    #[arg(long, overrides_with = "nouse_json", global = true, help_heading = "Logging")]
    use_json: bool,

    /// Do not, whatever heat.conf says
    #[arg(long = "nouse-json", overrides_with = "use_json", global = true, hide = true)]
    nouse_json: bool,

    /// Log to syslog
    #[arg(long, overrides_with = "nouse_syslog", global = true, help_heading = "Logging")]
    use_syslog: bool,

    /// Do not, whatever heat.conf says
    #[arg(long = "nouse-syslog", overrides_with = "use_syslog", global = true, hide = true)]
    nouse_syslog: bool,

    /// The facility of what goes to syslog
    #[arg(long, value_name = "FACILITY", global = true, help_heading = "Logging")]
    syslog_log_facility: Option<String>,

    /// A file of Python's logging module: accepted and not used
    #[arg(long, aliases = ["log-config", "log_config"], value_name = "PATH", global = true, hide = true)]
    log_config_append: Option<String>,
}

/// What it does instead of being an engine.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Look at all that an engine needs, and say what is wrong, why it matters and what to do
    Doctor(DoctorArguments),
    /// Show where a stack stands, and why
    Inspect(InspectArguments),
    /// Look at templates without a cloud, a database or a bus
    Template(TemplateArguments),
}

impl Verb {
    fn name(&self) -> &'static str {
        match self {
            Verb::Doctor(_) => "doctor",
            Verb::Inspect(_) => "inspect",
            Verb::Template(_) => "template",
        }
    }
}

impl Arguments {
    /// One run does one thing: whoever asks for two is not to get one of them unawares.
    pub fn contradiction(&self) -> Option<clap::Error> {
        let asked = [
            self.once.once.is_some().then_some("--once"),
            self.check_config.then_some("--check-config"),
            self.verb.as_ref().map(Verb::name),
        ];
        let asked: Vec<&str> = asked.into_iter().flatten().collect();
        let [first, second, ..] = asked[..] else {
            return None;
        };
        let message = format!("{first} cannot be used with {second}");
        Some(Self::command().error(ErrorKind::ArgumentConflict, message))
    }

    /// Where the settings come from, in the order of the command line (which `matches` knows).
    pub fn sources(&self, matches: &ArgMatches) -> SettingsSources {
        let mut files = Vec::new();
        if self.config_file.is_empty() {
            files.extend(search::default_files());
        }
        if self.config_dir.is_empty() {
            files.extend(search::default_directories());
        }
        files.extend(self.named_sources(matches));
        SettingsSources {
            files,
            overrides: self.overrides(),
            environment: environment(),
        }
    }

    fn named_sources(&self, matches: &ArgMatches) -> Vec<ConfigSource> {
        let mut named: Vec<(usize, ConfigSource)> = Vec::new();
        let places = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
        for (place, path) in places("config_file").into_iter().zip(&self.config_file) {
            named.push((place, ConfigSource::File(search::expand(path))));
        }
        for (place, path) in places("config_dir").into_iter().zip(&self.config_dir) {
            named.push((
                place,
                ConfigSource::Directory {
                    path: search::expand(path),
                    must_exist: true,
                },
            ));
        }
        named.sort_by_key(|(place, _)| *place);
        named.into_iter().map(|(_, source)| source).collect()
    }

    fn overrides(&self) -> Vec<Override> {
        let switches = [
            ("debug", self.debug, self.nodebug),
            ("use_journal", self.use_journal, self.nouse_journal),
            ("use_json", self.use_json, self.nouse_json),
            ("use_syslog", self.use_syslog, self.nouse_syslog),
        ];
        let texts = [
            ("log_file", &self.log_file),
            ("log_dir", &self.log_dir),
            ("log_date_format", &self.log_date_format),
            ("syslog_log_facility", &self.syslog_log_facility),
            ("log_config_append", &self.log_config_append),
        ];
        let mut overrides = Vec::new();
        for (option, on, off) in switches {
            if on || off {
                let no = if off { "no" } else { "" };
                overrides.push(set(
                    option,
                    on.to_string(),
                    format!("--{no}{}", option.replace('_', "-")),
                ));
            }
        }
        for (option, value) in texts {
            if let Some(value) = value {
                overrides.push(set(option, value.clone(), format!("--{}", option.replace('_', "-"))));
            }
        }
        overrides
    }
}

fn set(option: &'static str, value: String, flag: String) -> Override {
    Override {
        group: "DEFAULT",
        option,
        value,
        flag,
    }
}

/// Variables that are not UTF-8 cannot be options.
fn environment() -> std::collections::BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("OS_") && name.contains("__"))
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn sources_of(line: &[&str]) -> SettingsSources {
        let matches = Arguments::command()
            .try_get_matches_from(line)
            .expect("a sound command line");
        Arguments::from_arg_matches(&matches)
            .expect("a sound command line")
            .sources(&matches)
    }

    #[test]
    fn the_command_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn one_run_does_one_thing() {
        let contradicts = |line: &str| {
            let matches = Arguments::command().get_matches_from(format!("x {line}").split(' '));
            let arguments = Arguments::from_arg_matches(&matches).expect("a sound command line");
            arguments.contradiction().map(|error| error.kind())
        };
        for line in [
            "--once s/r --check-config",
            "--once s/r inspect s",
            "--once s/r --dry-run doctor",
            "--check-config doctor",
            "--once s/r template validate f",
        ] {
            assert_eq!(contradicts(line), Some(ErrorKind::ArgumentConflict), "{line}");
        }
        for line in ["--once s/r --dry-run", "--check-config", "--debug inspect s", "doctor"] {
            assert_eq!(contradicts(line), None, "{line}");
        }
    }

    #[test]
    fn files_and_directories_keep_their_order() {
        let line = [
            "heat-engine-rs",
            "--config-file",
            "/a",
            "--config-dir",
            "/d",
            "--config-file=/b",
        ];
        let directory = ConfigSource::Directory {
            path: "/d".into(),
            must_exist: true,
        };
        let expected = vec![
            ConfigSource::File("/a".into()),
            directory,
            ConfigSource::File("/b".into()),
        ];
        assert_eq!(sources_of(&line).files, expected);
    }

    #[test]
    fn switches_and_their_inverse_become_options() {
        let set = |line: &[&str]| {
            let overrides = sources_of(line).overrides;
            overrides
                .into_iter()
                .map(|it| (it.option, it.value))
                .collect::<Vec<_>>()
        };
        assert_eq!(set(&["x", "--debug", "--nodebug"]), [("debug", "false".to_owned())]);
        assert_eq!(set(&["x", "-d"]), [("debug", "true".to_owned())]);
        assert_eq!(set(&["x", "--logfile", "a"]), [("log_file", "a".to_owned())]);
        assert_eq!(
            set(&["x", "--log_config", "a"]),
            [("log_config_append", "a".to_owned())]
        );
    }
}
