//! A site whose engines reach database and broker over links of the test's own.

use std::sync::Arc;

use super::site::{Engine, Site};
use crate::lab::Lab;
use crate::link::{Link, Protocol, Steps};

/// Short pauses between attempts, so that a test need not wait for them.
pub const IMPATIENT: &str = "[database]\ndb_retry_interval = 0\nretry_interval = 1\n\
     [oslo_messaging_rabbit]\nkombu_reconnect_delay = 0.1\nrabbit_retry_interval = 1\nrabbit_interval_max = 1";

pub struct LinkedSite {
    pub site: Site,
    /// What passes over both links.
    pub steps: Arc<Steps>,
    pub database: Link,
    pub broker: Link,
}

impl LinkedSite {
    pub async fn new(hint: &str, extra: &str) -> Self {
        let steps: Arc<Steps> = Arc::default();
        let lab = Lab::get();
        let (database, broker) = (&lab.database, &lab.broker);
        Self {
            site: Site::new(hint, &format!("{IMPATIENT}\n{extra}")).await,
            database: Link::counting(&database.host, database.port, Protocol::MySql, steps.clone()).await,
            broker: Link::counting(&broker.host, broker.port, Protocol::Amqp, steps.clone()).await,
            steps,
        }
    }

    pub fn database_url(&self) -> String {
        let port = Lab::get().database.port.to_string();
        self.site.database.url().replace(&port, &self.database.port.to_string())
    }

    pub fn transport_url(&self) -> String {
        let port = Lab::get().broker.port.to_string();
        self.site
            .vhost
            .transport_url()
            .replace(&port, &self.broker.port.to_string())
    }

    pub fn options(&self) -> [(&'static str, String); 2] {
        [
            ("OS_DATABASE__CONNECTION", self.database_url()),
            ("OS_DEFAULT__TRANSPORT_URL", self.transport_url()),
        ]
    }

    pub async fn engine(&self) -> Engine {
        self.engine_with(&self.options()).await
    }

    pub async fn engine_with(&self, options: &[(&str, String)]) -> Engine {
        let options: Vec<(&str, &str)> = options.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.site.engine_with(&options).await
    }
}
