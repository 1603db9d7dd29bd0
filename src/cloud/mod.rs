//! The only code that sends HTTP: Keystone sessions, the catalogue, retries.
