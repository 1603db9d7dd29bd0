//! Table `user_creds`: what a stack later acts with. Secrets are encrypted by the layer above.

use super::assignments::{Assignments, from_columns};
use super::error::StoreError;
use super::session::Session;
use super::value::SqlValue;

/// As stored: `password` or `trust_id` is ciphertext of `decrypt_method`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCreds {
    pub id: i64,
    pub username: Option<String>,
    pub password: Option<String>,
    pub region_name: Option<String>,
    pub decrypt_method: Option<String>,
    /// The project's name.
    pub tenant: Option<String>,
    pub auth_url: Option<String>,
    /// The project's id.
    pub tenant_id: Option<String>,
    pub trust_id: Option<String>,
    pub trustor_user_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewUserCreds {
    pub username: Option<String>,
    pub password: Option<String>,
    pub region_name: Option<String>,
    pub decrypt_method: Option<String>,
    pub tenant: Option<String>,
    pub auth_url: Option<String>,
    pub tenant_id: Option<String>,
    pub trust_id: Option<String>,
    pub trustor_user_id: Option<String>,
}

impl Session {
    pub async fn user_creds_create(&mut self, creds: &NewUserCreds) -> Result<i64, StoreError> {
        let mut row = Assignments::default();
        row.set("created_at", self.now());
        row.set("username", creds.username.clone());
        row.set("password", creds.password.clone());
        row.set("region_name", creds.region_name.clone());
        row.set("decrypt_method", creds.decrypt_method.clone());
        row.set("tenant", creds.tenant.clone());
        row.set("auth_url", creds.auth_url.clone());
        row.set("tenant_id", creds.tenant_id.clone());
        row.set("trust_id", creds.trust_id.clone());
        row.set("trustor_user_id", creds.trustor_user_id.clone());
        self.insert("user_creds", &row).await
    }

    pub async fn user_creds_get(&mut self, id: i64) -> Result<Option<UserCreds>, StoreError> {
        self.user_creds_where("WHERE id = ?", &[id.into()]).await
    }

    pub async fn user_creds_newest(&mut self) -> Result<Option<UserCreds>, StoreError> {
        self.user_creds_where("ORDER BY id DESC LIMIT 1", &[]).await
    }

    async fn user_creds_where(&mut self, clause: &str, values: &[SqlValue]) -> Result<Option<UserCreds>, StoreError> {
        let sql = format!(
            "SELECT id, username, password, region_name, decrypt_method, tenant, auth_url, tenant_id, trust_id, \
             trustor_user_id FROM user_creds {clause}"
        );
        let Some(row) = self.fetch_optional(sql, values).await? else {
            return Ok(None);
        };
        Ok(Some(from_columns!(&row => UserCreds {
            id, username, password, region_name, decrypt_method, tenant, auth_url, tenant_id, trust_id, trustor_user_id,
        })))
    }

    /// Deletes credentials, after stacks that still name them (deleted ones too) have let go of them. A transaction of
    /// its own. False if they were gone.
    pub async fn user_creds_delete(&mut self, id: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE stack SET user_creds_id = NULL WHERE user_creds_id = ?";
        self.execute(sql, &[id.into()]).await?;
        let deleted = self
            .execute("DELETE FROM user_creds WHERE id = ?", &[id.into()])
            .await?;
        Ok(deleted.rows_affected() > 0)
    }
}
