//! Resource types: a folder a service, a file a type; one static table lists them all.

pub mod heat;
pub mod inventory;
pub mod keystone;
pub mod questions;
pub mod rules;
pub mod translations;
pub mod update_policies;

use crate::resource::plugin::ResourceType;

/// All types that this engine makes itself, by name.
pub static TYPES: &[&ResourceType] = &[
    &heat::delay::TYPE,
    &heat::none::TYPE,
    &heat::random_string::TYPE,
    &heat::test_resource::TYPE,
    &heat::value::TYPE,
    &keystone::project::TYPE,
    &keystone::user::TYPE,
];

/// The type of that name.
pub fn find(name: &str) -> Option<&'static ResourceType> {
    TYPES
        .binary_search_by_key(&name, |resource_type| resource_type.name)
        .ok()
        .map(|index| TYPES[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(TYPES.is_sorted_by(|one, next| one.name < next.name));
    }

    #[test]
    fn every_type_is_found() {
        for resource_type in TYPES {
            assert_eq!(
                find(resource_type.name).map(|found| found.name),
                Some(resource_type.name)
            );
        }
        assert!(find("OS::Heat::Nothing").is_none());
    }
}
