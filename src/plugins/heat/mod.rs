//! `OS::Heat`: what lives in the engine alone.

pub mod delay;
pub mod none;
pub mod password;
pub mod random_string;
pub mod test_resource;
pub mod value;

/// The longest name of an object that has none but ours.
const PHYSICAL_NAME_LIMIT: usize = 255;
