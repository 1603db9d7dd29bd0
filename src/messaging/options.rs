//! What the wire needs to know: the operator's settings, and the query of the transport URL on top of them.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::compression::Compression;
use super::error::SetupError;
use super::tls;
use super::transport_url::{Broker, TransportUrl};
use crate::settings::option::OptionSpec;
use crate::settings::value::OptionValue;
use crate::settings::{FailoverStrategy, LoginMethod, MessagingSettings, RabbitSettings, TransportSettings, reference};

const RABBIT_GROUP: &str = "oslo_messaging_rabbit";

/// How to reach the brokers, and how to behave on them.
#[derive(Clone, Debug)]
pub struct Options {
    pub transport: TransportSettings,
    pub rabbit: RabbitSettings,
    /// What this process is called in the broker's list of connections.
    pub connection_name: String,
    /// Frames larger than this are dropped before anybody parses them.
    pub max_frame_bytes: usize,
    /// Brokers of the URL, as `host:port`, that are not tried as long as there is another one.
    pub passed_over: Vec<String>,
}

impl Options {
    pub fn new(settings: &MessagingSettings) -> Self {
        Self {
            transport: settings.transport.clone(),
            rabbit: settings.rabbit.clone(),
            connection_name: "heat-engine".to_owned(),
            max_frame_bytes: 100 * 1024 * 1024,
            passed_over: Vec::new(),
        }
    }

    /// Reads the URL, and lets its query override the settings; refuses what we cannot do.
    pub(super) fn resolve(&mut self) -> Result<TransportUrl, SetupError> {
        let mut url = TransportUrl::parse(self.transport.transport_url.expose_secret())?;
        self.follow_query(&url)?;
        check(&self.rabbit)?;
        let is_passed_over = |broker: &Broker| self.passed_over.contains(&broker.address());
        if !url.brokers.iter().all(is_passed_over) {
            url.brokers.retain(|broker| !is_passed_over(broker));
        }
        Ok(url)
    }

    /// All that would keep a bus from being opened with these options. Nothing is connected.
    pub fn problems(&self) -> Vec<SetupError> {
        let mut options = self.clone();
        let mut problems = Vec::new();
        match TransportUrl::parse(self.transport.transport_url.expose_secret()) {
            Ok(url) => problems.extend(options.follow_query(&url).err()),
            Err(error) => problems.push(error),
        }
        problems.extend(check(&options.rabbit).err());
        problems.extend(tls::connector(&options.rabbit).err());
        problems
    }

    fn follow_query(&mut self, url: &TransportUrl) -> Result<(), SetupError> {
        for (name, text) in &url.overrides {
            override_option(&mut self.rabbit, name, text).map_err(|error| match error {
                SetupError::Option { option, problem } => SetupError::Query { option, problem },
                other => other,
            })?;
        }
        Ok(())
    }
}

/// Sets an option by its name, as an item of the query does. oslo.messaging refuses names that are no options.
fn override_option(rabbit: &mut RabbitSettings, name: &str, text: &str) -> Result<(), SetupError> {
    let spec =
        specification(name).ok_or_else(|| SetupError::option(name, "[oslo_messaging_rabbit] has no such option"))?;
    let value = OptionValue::from_text(spec.kind, text).map_err(|problem| SetupError::option(name, problem))?;
    match value {
        OptionValue::Boolean(truth) => set_boolean(rabbit, name, truth),
        OptionValue::Integer(number) => set_integer(rabbit, name, number),
        OptionValue::Number(number) => set_seconds(rabbit, name, number),
        OptionValue::Text(text) => set_text(rabbit, name, text),
        OptionValue::Unset | OptionValue::Texts(_) => Ok(()),
    }
}

fn specification(name: &str) -> Option<&'static OptionSpec> {
    reference::group(RABBIT_GROUP)?.option(name)
}

// The options that are missing here are those that the settings read and do not honour.

fn set_boolean(rabbit: &mut RabbitSettings, name: &str, truth: bool) -> Result<(), SetupError> {
    match name {
        "amqp_durable_queues" => rabbit.amqp_durable_queues = truth,
        "amqp_auto_delete" => rabbit.amqp_auto_delete = truth,
        "ssl" => rabbit.ssl = truth,
        "ssl_enforce_hostname_verification" => rabbit.ssl_enforce_hostname_verification = truth,
        "rabbit_ha_queues" => rabbit.rabbit_ha_queues = truth,
        "rabbit_quorum_queue" => rabbit.rabbit_quorum_queue = truth,
        "rabbit_transient_quorum_queue" => rabbit.rabbit_transient_quorum_queue = truth,
        "enable_cancel_on_failover" => rabbit.enable_cancel_on_failover = truth,
        "use_queue_manager" => rabbit.use_queue_manager = truth,
        "rabbit_stream_fanout" => rabbit.rabbit_stream_fanout = truth,
        _ => {}
    }
    Ok(())
}

fn set_integer(rabbit: &mut RabbitSettings, name: &str, number: i64) -> Result<(), SetupError> {
    let seconds = || {
        let seconds =
            u64::try_from(number).map_err(|_| SetupError::option(name, format!("{number} is not a number of seconds")));
        seconds.map(Duration::from_secs)
    };
    match name {
        "kombu_missing_consumer_retry_timeout" => rabbit.kombu_missing_consumer_retry_timeout = seconds()?,
        "rabbit_retry_interval" => rabbit.rabbit_retry_interval = seconds()?,
        "rabbit_retry_backoff" => rabbit.rabbit_retry_backoff = seconds()?,
        "rabbit_interval_max" => rabbit.rabbit_interval_max = seconds()?,
        "heartbeat_timeout_threshold" => rabbit.heartbeat_timeout_threshold = seconds()?,
        "rabbit_quorum_delivery_limit" => rabbit.rabbit_quorum_delivery_limit = number,
        "rabbit_quorum_max_memory_length" => rabbit.rabbit_quorum_max_memory_length = number,
        "rabbit_quorum_max_memory_bytes" => rabbit.rabbit_quorum_max_memory_bytes = number,
        "rabbit_transient_queues_ttl" => rabbit.rabbit_transient_queues_ttl = number,
        "rabbit_qos_prefetch_count" => {
            rabbit.rabbit_qos_prefetch_count = u16::try_from(number)
                .map_err(|_| SetupError::option(name, format!("{number} is not between 0 and 65535")))?;
        }
        _ => {}
    }
    Ok(())
}

fn set_seconds(rabbit: &mut RabbitSettings, name: &str, number: f64) -> Result<(), SetupError> {
    let seconds = Duration::try_from_secs_f64(number)
        .map_err(|_| SetupError::option(name, format!("{number} is not a number of seconds")))?;
    match name {
        "kombu_reconnect_delay" => rabbit.kombu_reconnect_delay = seconds,
        "kombu_reconnect_splay" => rabbit.kombu_reconnect_splay = seconds,
        _ => {}
    }
    Ok(())
}

fn set_text(rabbit: &mut RabbitSettings, name: &str, text: String) -> Result<(), SetupError> {
    match name {
        "ssl_key_file" => rabbit.ssl_key_file = text,
        "ssl_cert_file" => rabbit.ssl_cert_file = text,
        "ssl_ca_file" => rabbit.ssl_ca_file = text,
        "kombu_compression" => rabbit.kombu_compression = Some(text),
        "hostname" => rabbit.hostname = text,
        "processname" => rabbit.processname = text,
        "kombu_failover_strategy" if text == "shuffle" => rabbit.kombu_failover_strategy = FailoverStrategy::Shuffle,
        "kombu_failover_strategy" => rabbit.kombu_failover_strategy = FailoverStrategy::RoundRobin,
        "rabbit_login_method" => {
            rabbit.rabbit_login_method = match text.as_str() {
                "PLAIN" => LoginMethod::Plain,
                "EXTERNAL" => LoginMethod::External,
                "RABBIT-CR-DEMO" => LoginMethod::RabbitCrDemo,
                _ => LoginMethod::AmqPlain,
            }
        }
        _ => {}
    }
    Ok(())
}

fn check(rabbit: &RabbitSettings) -> Result<(), SetupError> {
    if rabbit.rabbit_ha_queues && (rabbit.rabbit_quorum_queue || rabbit.rabbit_transient_quorum_queue) {
        let problem = "a queue is either mirrored or a quorum queue; switch one of the two off";
        return Err(SetupError::option("rabbit_ha_queues", problem));
    }
    if rabbit.rabbit_stream_fanout {
        let problem = "stream queues are not supported; switch it off for all services that talk to Heat";
        return Err(SetupError::option("rabbit_stream_fanout", problem));
    }
    Compression::named(rabbit.kombu_compression.as_deref())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use rstest::rstest;

    fn options(query: &str) -> Options {
        let mut options = Options::new(&Settings::defaults().messaging);
        options.transport.transport_url = format!("rabbit://h/v?{query}").into();
        options
    }

    #[test]
    fn the_query_of_the_url_overrides_settings() {
        let mut options =
            options("ssl=1&kombu_failover_strategy=shuffle&rabbit_retry_interval=7&kombu_reconnect_delay=.5");
        options.resolve().unwrap();
        let rabbit = options.rabbit;
        assert!(rabbit.ssl);
        assert_eq!(rabbit.kombu_failover_strategy, FailoverStrategy::Shuffle);
        assert_eq!(rabbit.rabbit_retry_interval, Duration::from_secs(7));
        assert_eq!(rabbit.kombu_reconnect_delay, Duration::from_millis(500));
    }

    #[rstest]
    #[case("no_such_option=1")]
    #[case("ssl=perhaps")]
    #[case("rabbit_retry_interval=0")]
    #[case("kombu_failover_strategy=random")]
    #[case("rabbit_qos_prefetch_count=70000")]
    #[case("rabbit_stream_fanout=true")]
    #[case("kombu_compression=bz2")]
    #[case("rabbit_ha_queues=true&rabbit_quorum_queue=true")]
    fn refuses(#[case] query: &str) {
        assert!(options(query).resolve().is_err());
    }

    #[test]
    fn every_option_is_set_or_on_purpose_not() {
        use crate::settings::option::{Kind, Treatment};
        let rabbit = Settings::defaults().messaging.rabbit;
        for spec in reference::group(RABBIT_GROUP).unwrap().options() {
            let text = match spec.kind {
                Kind::Boolean => "true",
                Kind::Choice { values, .. } => values[values.len() - 1],
                Kind::Text => "text",
                _ => "4",
            };
            let mut changed = rabbit.clone();
            override_option(&mut changed, spec.name, text).unwrap();
            let honoured = spec.treatment == Treatment::Honoured;
            let is_true_anyway = format!("{rabbit:?}").contains(&format!("{}: true", spec.name));
            assert!(
                is_true_anyway || honoured == (format!("{changed:?}") != format!("{rabbit:?}")),
                "{}",
                spec.name
            );
        }
    }
}
