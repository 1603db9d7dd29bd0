//! Rules of those types of Keystone's that this engine does not make.

use super::Table;
use crate::plugins::keystone::role_assignments::RULES as ROLES;

pub(super) static RULES: Table = &[
    ("OS::Keystone::Group", ROLES),
    ("OS::Keystone::GroupRoleAssignment", ROLES),
    ("OS::Keystone::UserRoleAssignment", ROLES),
];
