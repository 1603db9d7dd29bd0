//! What Keystone says about a token: whose it is, how long it lives, where the services are.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;

use super::error::CloudError;

/// A token and its description.
pub struct Access {
    pub token: String,
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    /// The domain, for a token that is scoped to one.
    pub domain_id: Option<String>,
    pub roles: Vec<Role>,
    pub is_trust_scoped: bool,
    pub expires_at: Option<NaiveDateTime>,
    catalog: Vec<Endpoint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    service_type: String,
    interface: String,
    region: String,
    url: String,
}

/// Which endpoint of the catalogue to take.
#[derive(Clone, Debug)]
pub struct EndpointFilter<'a> {
    /// Names of the service's type, the best one first.
    pub service_types: &'a [&'a str],
    pub interface: &'a str,
    pub region_name: Option<&'a str>,
}

impl Access {
    /// Reads `{"token": {…}}`. What is missing is left out: an old or cut description still has its token.
    pub fn from_description(token: String, description: &Value) -> Self {
        let body = &description["token"];
        Self {
            token,
            user_id: text(&body["user"]["id"]),
            user_domain_id: text(&body["user"]["domain"]["id"]),
            project_id: text(&body["project"]["id"]),
            project_domain_id: text(&body["project"]["domain"]["id"]),
            domain_id: text(&body["domain"]["id"]),
            roles: items(&body["roles"])
                .filter_map(|role| {
                    Some(Role {
                        id: text(&role["id"])?,
                        name: text(&role["name"])?,
                    })
                })
                .collect(),
            is_trust_scoped: body["OS-TRUST:trust"].is_object(),
            expires_at: body["expires_at"].as_str().and_then(parse_time),
            catalog: items(&body["catalog"]).flat_map(endpoints_of).collect(),
        }
    }

    /// Whether less than `margin` of the token's life is left.
    pub fn expires_within(&self, margin: Duration, now: NaiveDateTime) -> bool {
        self.expires_at.is_some_and(|end| now + margin >= end)
    }

    pub fn role_names(&self) -> Vec<String> {
        self.roles.iter().map(|role| role.name.clone()).collect()
    }

    pub fn has_catalog(&self) -> bool {
        !self.catalog.is_empty()
    }

    pub fn endpoint(&self, filter: &EndpointFilter<'_>) -> Result<&str, CloudError> {
        if self.catalog.is_empty() {
            return Err(CloudError::EmptyCatalog);
        }
        // As keystoneauth does it: any of the letters of URL are cut from the end.
        let interface = filter.interface.trim_end_matches(['U', 'R', 'L']);
        let fits = |endpoint: &&Endpoint, service_type: &str| {
            endpoint.service_type == service_type
                && endpoint.interface == interface
                && filter.region_name.is_none_or(|region| endpoint.region == region)
        };
        filter
            .service_types
            .iter()
            .find_map(|service_type| self.catalog.iter().find(|endpoint| fits(endpoint, service_type)))
            .map(|endpoint| endpoint.url.as_str())
            .ok_or_else(|| CloudError::EndpointNotFound(not_found_text(filter)))
    }
}

fn not_found_text(filter: &EndpointFilter<'_>) -> String {
    let interface = filter.interface;
    let service_type = filter.service_types.first().copied().unwrap_or("None");
    match filter.region_name {
        None => format!("{interface} endpoint for {service_type} service not found"),
        Some(region) => format!("{interface} endpoint for {service_type} service in {region} region not found"),
    }
}

fn endpoints_of(service: &Value) -> impl Iterator<Item = Endpoint> {
    let service_type = text(&service["type"]);
    items(&service["endpoints"]).filter_map(move |endpoint| {
        Some(Endpoint {
            service_type: service_type.clone()?,
            interface: text(&endpoint["interface"])?,
            region: text(&endpoint["region_id"])
                .or_else(|| text(&endpoint["region"]))
                .unwrap_or_default(),
            url: text(&endpoint["url"])?,
        })
    })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn parse_time(text: &str) -> Option<NaiveDateTime> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.naive_utc())
}

/// Says whose token it is; not the token.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("user_id", &self.user_id)
            .field("project_id", &self.project_id)
            .field("domain_id", &self.domain_id)
            .field("is_trust_scoped", &self.is_trust_scoped)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn access() -> Access {
        let endpoint = |interface: &str, region: &str| {
            json!({"interface": interface, "region": region, "region_id": region,
                   "url": format!("http://{interface}.{region}/v3")})
        };
        Access::from_description(
            "t".to_owned(),
            &json!({"token": {
            "user": {"id": "u1", "domain": {"id": "default"}},
            "project": {"id": "p1", "domain": {"id": "default"}},
            "roles": [{"id": "r1", "name": "member"}],
            "expires_at": "2026-11-30T14:35:03.000000Z",
            "catalog": [
                {"type": "identity", "name": "keystone", "endpoints": [
                    endpoint("public", "one"), endpoint("internal", "one"), endpoint("public", "two")]},
                {"type": "block-storage", "endpoints": [endpoint("public", "one")]},
            ]}}),
        )
    }

    fn url_of(types: &[&str], interface: &str, region_name: Option<&str>) -> Result<String, String> {
        access()
            .endpoint(&EndpointFilter {
                service_types: types,
                interface,
                region_name,
            })
            .map(str::to_owned)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_catalogue_is_searched_by_type_interface_and_region() {
        assert_eq!(url_of(&["identity"], "public", None).unwrap(), "http://public.one/v3");
        assert_eq!(
            url_of(&["identity"], "internalURL", Some("one")).unwrap(),
            "http://internal.one/v3"
        );
        assert_eq!(
            url_of(&["identity"], "publicURL", Some("two")).unwrap(),
            "http://public.two/v3"
        );
        assert_eq!(
            url_of(&["volumev3", "block-storage"], "public", None).unwrap(),
            "http://public.one/v3"
        );
    }

    #[test]
    fn a_missing_endpoint_is_named_as_keystoneauth_names_it() {
        assert_eq!(
            url_of(&["network"], "publicURL", Some("one")).unwrap_err(),
            "publicURL endpoint for network service in one region not found"
        );
        assert_eq!(
            url_of(&["network"], "public", None).unwrap_err(),
            "public endpoint for network service not found"
        );
        let bare = Access::from_description("t".to_owned(), &Value::Null);
        let filter = EndpointFilter {
            service_types: &["identity"],
            interface: "public",
            region_name: None,
        };
        assert_eq!(
            bare.endpoint(&filter).unwrap_err().to_string(),
            "The service catalog is empty."
        );
    }

    #[test]
    fn a_token_expires() {
        let access = access();
        let end = access.expires_at.unwrap();
        assert!(access.expires_within(Duration::from_secs(30), end - Duration::from_secs(30)));
        assert!(!access.expires_within(Duration::from_secs(30), end - Duration::from_secs(31)));
    }
}
