//! RabbitMQ's management API, which shows an operator what AMQP does not: bindings, policies, what a queue was made with.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::Value;

use super::Cloud;
use super::error::CloudError;
use super::login::parse_url;
use super::transport::Request;

/// No service of the cloud: the options of `[clients]` hold for it.
const SERVICE: &str = "rabbitmq";

/// One virtual host, as somebody sees it who may.
#[derive(Clone)]
pub struct BrokerManagement {
    cloud: Cloud,
    url: String,
    authorization: HeaderValue,
    virtual_host: String,
}

impl Cloud {
    /// `url` may name a user with a password; otherwise `user` and `password` log in.
    pub fn broker_management(
        &self,
        url: &str,
        (user, password): (&str, &str),
        virtual_host: &str,
    ) -> Result<BrokerManagement, CloudError> {
        let mut url = parse_url(url)?;
        let named =
            (!url.username().is_empty()).then(|| (decoded(url.username()), decoded(url.password().unwrap_or(""))));
        let (user, password) = named.unwrap_or_else(|| (user.to_owned(), password.to_owned()));
        // They must not stand where requests are told of. A URL with a host can do without them.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let mut authorization =
            HeaderValue::try_from(format!("Basic {encoded}")).map_err(|_| CloudError::authorization_failure())?;
        authorization.set_sensitive(true);
        Ok(BrokerManagement {
            cloud: self.clone(),
            url: url.as_str().trim_end_matches('/').to_owned(),
            authorization,
            virtual_host: utf8_percent_encode(virtual_host, NON_ALPHANUMERIC).to_string(),
        })
    }
}

impl BrokerManagement {
    /// Without user and password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All `queues`, `exchanges` or `bindings`.
    pub async fn list(&self, what: &str) -> Result<Vec<Value>, CloudError> {
        let url = parse_url(&format!("{}/api/{what}/{}", self.url, self.virtual_host))?;
        let mut request = Request::new(SERVICE, Method::GET, url);
        request.headers.insert(AUTHORIZATION, self.authorization.clone());
        let response = self.cloud.transport().send(&request).await?;
        match response.json()? {
            Value::Array(items) => Ok(items),
            _ => Err(response.invalid("it is no list".to_owned())),
        }
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}
