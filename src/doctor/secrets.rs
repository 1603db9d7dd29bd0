//! Tries the key on what is stored.

use super::report::{Area, Report};
use crate::clock::Clock;
use crate::exception::chain;
use crate::identity::crypt::EncryptionKey;
use crate::settings::Settings;
use crate::store::Store;

pub async fn look(settings: &Settings, store: &Store, report: &mut Report) {
    let key = match EncryptionKey::new(settings.engine.auth_encryption_key.clone(), Clock::system()) {
        Ok(key) => key,
        Err(error) => {
            return report.problem(
                Area::Database,
                format!("auth_encryption_key: {}", chain(&error)),
                "an engine refuses to start with it",
                "give it 32 characters, those that the other engines have",
            );
        }
    };
    // What the tables lack is told elsewhere.
    let Ok(Some(newest)) = store.user_creds_newest().await else {
        return;
    };
    match key.open_credentials(&newest) {
        Ok(_) => report.fine(
            Area::Database,
            "auth_encryption_key opens the newest stored credentials",
        ),
        Err(error) => report.problem(
            Area::Database,
            format!(
                "auth_encryption_key does not open the newest stored credentials: {}",
                chain(&error)
            ),
            "stacks that other engines made can be neither changed nor deleted here",
            "set [DEFAULT] auth_encryption_key to that of the other engines",
        ),
    }
}
