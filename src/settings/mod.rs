//! heat.conf as oslo.config reads it, into typed settings.
//!
//! An operator's file must mean here what it means to a Python engine, so the dialect is oslo.config's down to its
//! oddities ([`ini`], [`substitution`], [`value`]), and what can be set is a table for each group ([`option`],
//! [`reference`]). figment carries the values from there into the structs that the rooms above take: each takes only
//! its own. Secrets are held so that neither `Debug` nor `--check-config` shows them.

pub mod address;
pub mod cache;
pub mod clients;
pub mod database;
pub mod engine;
pub mod error;
mod http_url;
pub mod ini;
pub mod keystone;
pub mod layers;
pub mod logging;
pub mod messaging;
pub mod option;
pub mod own;
pub mod policy;
pub mod provider;
pub mod reference;
pub mod sanity;
pub mod search;
pub mod substitution;
pub mod typed;
pub mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use serde::de::DeserializeOwned;

pub use cache::CacheSettings;
pub use clients::{ClientSettings, ClientsSettings, EndpointType};
pub use database::DatabaseSettings;
pub use engine::{
    AuthPasswordSettings, DeferredAuthMethod, EngineSettings, ReauthenticationMethod, RevisionSettings,
    VolumesSettings, YaqlSettings,
};
pub use error::{Origin, SettingsError};
pub use keystone::{KeystoneAuthtokenSettings, TrusteeSettings};
pub use layers::{ConfigSource, Override, SettingsSources};
pub use logging::LoggingSettings;
pub use messaging::{
    FailoverStrategy, LoginMethod, MessagingSettings, NotificationSettings, RabbitSettings, TransportSettings,
};
pub use own::{FairShares, OwnSettings};
pub use policy::PolicySettings;
pub use typed::Limit;

use layers::Layers;
use provider::ResolvedOptions;

use crate::near;

/// All that the daemon is told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub engine: EngineSettings,
    pub yaql: YaqlSettings,
    pub revision: RevisionSettings,
    pub volumes: VolumesSettings,
    pub auth_password: AuthPasswordSettings,
    pub database: DatabaseSettings,
    pub messaging: MessagingSettings,
    pub trustee: TrusteeSettings,
    pub keystone_authtoken: KeystoneAuthtokenSettings,
    pub clients: ClientsSettings,
    pub cache: CacheSettings,
    pub policy: PolicySettings,
    pub logging: LoggingSettings,
    pub own: OwnSettings,
    /// The files that were read, in their order.
    pub files: Vec<PathBuf>,
    /// What an operator should know about the files, a sentence each.
    pub warnings: Vec<String>,
    /// Every option with its origin, for `--check-config` and the log.
    pub options: ResolvedOptions,
}

/// What the sources say, and all that is wrong with it.
#[derive(Debug)]
pub struct Reading {
    /// Options that are wrong have their defaults here.
    pub settings: Settings,
    pub problems: Vec<SettingsError>,
}

impl Settings {
    /// The first problem is the error; [`Self::read`] has them all.
    pub fn load(sources: &SettingsSources) -> Result<Self, SettingsError> {
        let reading = Self::read(sources);
        match reading.problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(reading.settings),
        }
    }

    /// Reads everything, whatever is wrong with some of it.
    pub fn read(sources: &SettingsSources) -> Reading {
        let (layers, mut problems) = Layers::read(sources);
        let (options, unusable) = ResolvedOptions::resolve(&layers);
        problems.extend(unusable);
        let mut groups = Groups {
            figment: Figment::from(&options),
            options,
            problems,
        };
        let settings = groups
            .settings(&layers)
            .expect("the defaults of the option tables fit their structs");
        Reading {
            settings,
            problems: groups.problems,
        }
    }

    /// As [`Self::read`], and fit for an engine: combinations that cannot work are problems, unwise ones warnings.
    pub fn read_for_engine(sources: &SettingsSources) -> Reading {
        let mut reading = Self::read(sources);
        let findings = sanity::check(&reading.settings);
        reading.add(findings);
        reading
    }

    /// A refusal of what an option says, with the place where it is said.
    pub fn refusal(&self, group: &str, option: &str, problem: impl Into<String>) -> SettingsError {
        let origin = self.options.get(group, option).map(|found| found.origin.clone());
        SettingsError::BadValue {
            origin: origin.unwrap_or(Origin::Default),
            group: group.to_owned(),
            option: option.to_owned(),
            problem: problem.into(),
        }
    }

    /// What holds when nobody says anything.
    pub fn defaults() -> Self {
        Self::read(&SettingsSources::default()).settings
    }

    /// How long what runs may go on after the order to stop; `None`: without end.
    pub fn grace_period(&self) -> Option<Duration> {
        let period = self.engine.graceful_shutdown_timeout;
        (!period.is_zero()).then_some(period)
    }

    /// The directories of `[oslo_policy] policy_dirs` that exist.
    pub fn policy_directories(&self) -> Vec<PathBuf> {
        let named = self.policy.policy_dirs.iter();
        named.filter_map(|directory| self.find_file(directory)).collect()
    }

    /// Where a file beside heat.conf is: next to the files that were read, the last first, then in the usual places.
    pub fn find_file(&self, name: &Path) -> Option<PathBuf> {
        // What cannot be looked at is there: reading it tells why it cannot be used.
        let is_there = |path: &Path| !matches!(path.try_exists(), Ok(false));
        if name.is_absolute() {
            return is_there(name).then(|| name.to_owned());
        }
        let beside = self
            .files
            .iter()
            .rev()
            .filter_map(|file| file.parent())
            .map(Path::to_owned);
        beside
            .chain(search::usual_directories())
            .map(|directory| directory.join(name))
            .find(|path| is_there(path))
    }
}

/// What a look at settings finds.
#[derive(Debug, Default)]
pub struct Findings {
    /// With these an engine cannot work.
    pub problems: Vec<SettingsError>,
    /// What an operator should know, a sentence each.
    pub warnings: Vec<String>,
}

impl Reading {
    /// Takes in what was found. While a file is unread, and of an option that is known to be wrong, nothing more is
    /// said: it would follow from what is said already.
    pub fn add(&mut self, findings: Findings) {
        self.settings.warnings.extend(findings.warnings);
        if self.problems.iter().any(|known| known.about().is_none()) {
            return;
        }
        for problem in findings.problems {
            if !self.problems.iter().any(|known| known.about() == problem.about()) {
                self.problems.push(problem);
            }
        }
    }
}

/// The groups on their way into structs.
struct Groups {
    figment: Figment,
    options: ResolvedOptions,
    problems: Vec<SettingsError>,
}

impl Groups {
    fn settings(&mut self, layers: &Layers) -> Result<Settings, SettingsError> {
        let cache_switch: cache::CacheSwitch = self.extract("cache")?;
        Ok(Settings {
            engine: self.extract("DEFAULT")?,
            yaql: self.extract("yaql")?,
            revision: self.extract("revision")?,
            volumes: self.extract("volumes")?,
            auth_password: self.extract("auth_password")?,
            database: self.extract("database")?,
            messaging: MessagingSettings {
                transport: self.extract("DEFAULT")?,
                rabbit: self.extract("oslo_messaging_rabbit")?,
                notifications: self.extract("oslo_messaging_notifications")?,
            },
            trustee: self.extract("trustee")?,
            keystone_authtoken: self.extract("keystone_authtoken")?,
            clients: self.clients()?,
            cache: CacheSettings {
                constraint_validation: cache_switch.apply(self.extract("constraint_validation_cache")?),
                resource_finder: cache_switch.apply(self.extract("resource_finder_cache")?),
                service_extension: cache_switch.apply(self.extract("service_extension_cache")?),
            },
            policy: self.extract("oslo_policy")?,
            logging: self.extract("DEFAULT")?,
            own: self.extract(own::GROUP)?,
            files: layers.files().map(Path::to_owned).collect(),
            warnings: warnings(layers),
            options: self.options.clone(),
        })
    }

    /// An option that its struct cannot hold is noted and gets its default.
    fn extract<T: DeserializeOwned>(&mut self, group: &str) -> Result<T, SettingsError> {
        loop {
            // By `focus`: `extract_inner` tells of the group alone where an option is wrong.
            let error = match self.figment.focus(group).extract() {
                Ok(values) => return Ok(values),
                Err(error) => error,
            };
            let option = error.path.last().cloned().unwrap_or_default();
            let problem = self.bad_value(group, &option, error.kind);
            if !self.options.reset(group, &option) {
                return Err(problem);
            }
            self.problems.push(problem);
            self.figment = Figment::from(&self.options);
        }
    }

    fn clients(&mut self) -> Result<ClientsSettings, SettingsError> {
        let mut services = std::collections::BTreeMap::new();
        for service in clients::SERVICES.iter().copied() {
            services.insert(service, self.extract(&format!("clients_{service}"))?);
        }
        let keystone: clients::KeystoneClientSettings = self.extract("clients_keystone")?;
        let heat: clients::HeatClientSettings = self.extract("clients_heat")?;
        Ok(ClientsSettings {
            defaults: self.extract("clients")?,
            services,
            keystone_auth_uri: keystone.auth_uri,
            heat_url: heat.url,
        })
    }

    /// A value that its struct cannot hold, such as a negative number of seconds.
    fn bad_value(&self, group: &str, option: &str, kind: figment::error::Kind) -> SettingsError {
        let found = self.options.get(group, option);
        let origin = found.map_or(Origin::Default, |found| found.origin.clone());
        let problem = match found {
            Some(found) if found.value == value::OptionValue::Unset => "needs a value".to_owned(),
            _ => typed::misfit(kind),
        };
        SettingsError::BadValue {
            origin,
            group: group.to_owned(),
            option: option.to_owned(),
            problem,
        }
    }
}

fn warnings(layers: &Layers) -> Vec<String> {
    let mut warnings = Vec::new();
    for group in reference::GROUPS {
        for option in group.options() {
            for (origin, former) in layers.former_names_in_use(group.name, option) {
                warnings.push(format!("{origin}: {former} is now [{}] {}", group.name, option.name));
            }
        }
    }
    let own = reference::group(own::GROUP).expect("the group is in the reference");
    for (origin, name) in layers.unknown_names(own) {
        let meant = near::question(&name, own.options().map(|option| option.name));
        let meant = meant.map_or(String::new(), |question| format!(": {question}"));
        warnings.push(format!("{origin}: [{}] has no option {name}{meant}", own.name));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fill_every_struct() {
        let settings = Settings::defaults();
        assert!(Settings::read(&SettingsSources::default()).problems.is_empty());
        assert_eq!(settings.engine.max_resources_per_stack, Limit::AtMost(1000));
        assert_eq!(
            settings.messaging.transport.rpc_response_timeout,
            Duration::from_secs(60)
        );
        assert_eq!(settings.grace_period(), Some(Duration::from_secs(60)));
        assert!(
            !settings.cache.constraint_validation.caching,
            "nothing is cached unless [cache] says so"
        );
    }

    /// Other groups are not ours alone: what this program does not know of them may be a Python engine's.
    #[test]
    fn an_unknown_option_of_our_own_group_is_told_with_the_one_that_is_meant() {
        let file = std::env::temp_dir().join(format!("heat-engine-rs-unknown-{}.conf", std::process::id()));
        let text = "[heat_engine_rs]\nrecovery_interval = 5\nmetrics_adress = 127.0.0.1:1\n[DEFAULT]\nmetrics_adress = x\n\
                    [Heat_Engine_RS]\nfrobnicate = 1\n";
        std::fs::write(&file, text).expect("temporary file");
        let environment = ["HEALTH_ADRESS", "HEALTH_ADDRESS"];
        let reading = Settings::read(&SettingsSources {
            files: vec![ConfigSource::File(file.clone())],
            environment: environment
                .map(|name| (format!("OS_HEAT_ENGINE_RS__{name}"), String::new()))
                .into(),
            ..SettingsSources::default()
        });
        std::fs::remove_file(&file).expect("cleanup");
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        let path = file.display();
        let expected = [
            format!("{path}:3: [heat_engine_rs] has no option metrics_adress: is \"metrics_address\" meant?"),
            format!("{path}:7: [heat_engine_rs] has no option frobnicate"),
            "environment variable OS_HEAT_ENGINE_RS__HEALTH_ADRESS: [heat_engine_rs] has no option health_adress: is \
             \"health_address\" meant?"
                .to_owned(),
        ];
        assert_eq!(reading.settings.warnings, expected);
    }

    /// Whatever is refused, an operator is told where it stands.
    #[test]
    fn a_value_that_does_not_fit_is_refused_with_its_place() {
        let values = ["-1", "", "99999999999", "1e300", "-0.5", "x"];
        for group in reference::GROUPS {
            for option in group.options() {
                for value in values {
                    let variable = format!("OS_{}__{}", group.name.to_uppercase(), option.name.to_uppercase());
                    let sources = SettingsSources {
                        environment: [(variable.clone(), value.to_owned())].into(),
                        ..SettingsSources::default()
                    };
                    let reading = Settings::read(&sources);
                    for problem in &reading.problems {
                        let text = problem.to_string();
                        let place = format!("environment variable {variable}: [{}] {}: ", group.name, option.name);
                        assert!(text.starts_with(&place), "{text}");
                    }
                    assert!(reading.problems.len() < 2, "{:?}", reading.problems);
                }
            }
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let environment = [
            ("OS_DEFAULT__STACK_ACTION_TIMEOUT", "-1"),
            ("OS_DEFAULT__DEBUG", "perhaps"),
            ("OS_DATABASE__MAX_POOL_SIZE", "-7"),
            ("OS_DATABASE__RETRY_INTERVAL", ""),
        ];
        let sources = SettingsSources {
            environment: environment
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..SettingsSources::default()
        };
        let reading = Settings::read(&sources);
        let mut texts: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        texts.sort();
        let expected = [
            "environment variable OS_DATABASE__MAX_POOL_SIZE: [database] max_pool_size: -7 is not between 0 and 4294967295",
            "environment variable OS_DATABASE__RETRY_INTERVAL: [database] retry_interval: needs a value",
            "environment variable OS_DEFAULT__DEBUG: [DEFAULT] debug: must be true or false (or 1/0, on/off, yes/no), \
             not 'perhaps'",
            "environment variable OS_DEFAULT__STACK_ACTION_TIMEOUT: [DEFAULT] stack_action_timeout: -1 is not a number of \
             seconds",
        ];
        assert_eq!(texts, expected);
        assert_eq!(reading.settings.database.max_pool_size, 5);
    }
}
