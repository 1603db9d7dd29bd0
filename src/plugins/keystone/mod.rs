//! OS::Keystone: who there is, and what they may do.
//!
//! All of these are plain objects of Keystone's API: they exist as soon as they are asked for, so that nothing waits.

mod object;
pub mod project;
pub(in crate::plugins) mod role_assignments;
pub mod user;

const PHYSICAL_NAME_LIMIT: usize = 255;
