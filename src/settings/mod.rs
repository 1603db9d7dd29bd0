//! heat.conf as oslo.config reads it, into typed settings.
//!
//! An operator's file must mean here what it means to a Python engine, so the dialect is oslo.config's down to its
//! oddities ([`ini`], [`substitution`], [`value`]), and what can be set is a table for each group ([`option`],
//! [`reference`]). figment carries the values from there into the structs that the rooms above take: each takes only
//! its own. Secrets are held so that neither `Debug` nor `--check-config` shows them.

pub mod cache;
pub mod clients;
pub mod database;
pub mod engine;
pub mod error;
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
pub use own::OwnSettings;
pub use policy::PolicySettings;
pub use typed::Limit;

use layers::Layers;
use provider::ResolvedOptions;

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

impl Settings {
    pub fn load(sources: &SettingsSources) -> Result<Self, SettingsError> {
        let layers = Layers::read(sources)?;
        let options = ResolvedOptions::resolve(&layers)?;
        let groups = Groups {
            figment: Figment::from(&options),
            options: &options,
        };
        let cache_switch: cache::CacheSwitch = groups.extract("cache")?;
        Ok(Settings {
            engine: groups.extract("DEFAULT")?,
            yaql: groups.extract("yaql")?,
            revision: groups.extract("revision")?,
            volumes: groups.extract("volumes")?,
            auth_password: groups.extract("auth_password")?,
            database: groups.extract("database")?,
            messaging: MessagingSettings {
                transport: groups.extract("DEFAULT")?,
                rabbit: groups.extract("oslo_messaging_rabbit")?,
                notifications: groups.extract("oslo_messaging_notifications")?,
            },
            trustee: groups.extract("trustee")?,
            keystone_authtoken: groups.extract("keystone_authtoken")?,
            clients: groups.clients()?,
            cache: CacheSettings {
                constraint_validation: cache_switch.apply(groups.extract("constraint_validation_cache")?),
                resource_finder: cache_switch.apply(groups.extract("resource_finder_cache")?),
                service_extension: cache_switch.apply(groups.extract("service_extension_cache")?),
            },
            policy: groups.extract("oslo_policy")?,
            logging: groups.extract("DEFAULT")?,
            own: groups.extract("heat_engine_rs")?,
            files: layers.files().map(Path::to_owned).collect(),
            warnings: warnings(&layers),
            options,
        })
    }

    /// As [`Self::load`], and fit for an engine: combinations that cannot work are refused, unwise ones are warned of.
    pub fn load_for_engine(sources: &SettingsSources) -> Result<Self, SettingsError> {
        let mut settings = Self::load(sources)?;
        let warnings = sanity::check(&settings)?;
        settings.warnings.extend(warnings);
        Ok(settings)
    }

    /// What holds when nobody says anything.
    pub fn defaults() -> Self {
        Self::load(&SettingsSources::default()).expect("the defaults of the option tables fit their structs")
    }

    /// How long what runs may go on after the order to stop; `None`: without end.
    pub fn grace_period(&self) -> Option<Duration> {
        let period = self.engine.graceful_shutdown_timeout;
        (!period.is_zero()).then_some(period)
    }

    /// Where a file beside heat.conf is: next to the files that were read, the last first, then in the usual places.
    pub fn find_file(&self, name: &Path) -> Option<PathBuf> {
        if name.is_absolute() {
            return name.exists().then(|| name.to_owned());
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
            .find(|path| path.exists())
    }
}

/// The groups on their way into structs.
struct Groups<'a> {
    figment: Figment,
    options: &'a ResolvedOptions,
}

impl Groups<'_> {
    fn extract<T: DeserializeOwned>(&self, group: &str) -> Result<T, SettingsError> {
        self.figment
            .extract_inner(group)
            .map_err(|error| self.bad_value(group, &error))
    }

    fn clients(&self) -> Result<ClientsSettings, SettingsError> {
        let mut services = std::collections::BTreeMap::new();
        for service in clients::SERVICES.iter().copied() {
            services.insert(service, self.extract(&format!("clients_{service}"))?);
        }
        Ok(ClientsSettings {
            defaults: self.extract("clients")?,
            services,
            keystone_auth_uri: self.extract("clients_keystone.auth_uri")?,
            heat_url: self.extract("clients_heat.url")?,
        })
    }

    /// A value that its struct cannot hold, such as a negative number of seconds.
    fn bad_value(&self, group: &str, error: &figment::Error) -> SettingsError {
        let option = error.path.last().cloned().unwrap_or_default();
        let found = self.options.get(group, &option);
        let origin = found.map_or(Origin::Default, |found| found.origin.clone());
        let problem = match found {
            Some(found) if found.value == value::OptionValue::Unset => "needs a value".to_owned(),
            _ => error.kind.to_string(),
        };
        SettingsError::BadValue {
            origin,
            group: group.to_owned(),
            option,
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
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fill_every_struct() {
        let settings = Settings::defaults();
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
}
