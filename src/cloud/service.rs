//! The services that the engine talks to.

use super::wording::Wording;

/// A service that the engine talks to.
#[derive(Debug, PartialEq, Eq)]
pub struct Service {
    /// What its options are called: `[clients_<name>]`.
    pub name: &'static str,
    /// Names of its type in the catalogue, the best one first.
    pub types: &'static [&'static str],
    /// The version to use, as the path names it, where the catalogue's URL may leave it out.
    pub version: Option<&'static str>,
    /// How its failures are told.
    pub wording: Wording,
}

pub static KEYSTONE: Service = Service {
    name: "keystone",
    types: &["identity"],
    version: Some("v3"),
    wording: Wording::Keystoneauth,
};

pub static NEUTRON: Service = Service {
    name: "neutron",
    types: &["network"],
    version: Some("v2.0"),
    wording: Wording::Keystoneauth,
};

/// The catalogue's URL names a version of its own, and may end with a project.
pub static NOVA: Service = Service {
    name: "nova",
    types: &["compute"],
    version: None,
    wording: Wording::Novaclient,
};
