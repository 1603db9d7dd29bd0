//! Making and unmaking what a stack keeps of its owner.
//!
//! The rows are the store's; here are the calls to Keystone around them. A trust must be deleted by its trustor (or
//! through itself), so whoever deletes or takes over a stack may have to act as its former owner for that.

use super::Cloud;
use super::error::CloudError;
use crate::identity::RequestContext;
use crate::identity::credentials::UserCredentials;
use crate::settings::DeferredAuthMethod;

impl Cloud {
    /// What a new stack of this caller keeps, with a new trust if that is the way here.
    pub async fn create_stored_credentials(&self, context: &RequestContext) -> Result<UserCredentials, CloudError> {
        match self.options().deferred_auth_method {
            DeferredAuthMethod::Password => Ok(UserCredentials::of(context)),
            DeferredAuthMethod::Trusts => {
                let trusting = self.keystone(context)?.create_trust_context().await?;
                Ok(UserCredentials::of(&trusting))
            }
        }
    }

    /// What a stack keeps that this caller takes over: always a new trust. The former owner's is deleted with
    /// [`Self::delete_stored_trust`] once the new values are stored.
    pub async fn renew_stored_credentials(&self, context: &RequestContext) -> Result<UserCredentials, CloudError> {
        let trusting = self.keystone(context)?.regenerate_trust_context().await?;
        Ok(UserCredentials::of(&trusting))
    }

    /// Whether an update by this caller must renew what the stack keeps, because it is somebody else's.
    pub async fn must_renew_stored_credentials(
        &self,
        context: &RequestContext,
        stored: &UserCredentials,
    ) -> Result<bool, CloudError> {
        if self.options().deferred_auth_method != DeferredAuthMethod::Trusts {
            return Ok(false);
        }
        let caller = self.session(context)?.access().await?;
        Ok(!stored.are_of(caller.user_id.as_deref(), caller.project_id.as_deref()))
    }

    /// Deletes the trust in stored credentials, if there is one, as its trustor.
    ///
    /// When the trust itself no longer works (its trustor is gone, or was disabled) there is nobody left to delete it
    /// as, and it does no harm.
    pub async fn delete_stored_trust(
        &self,
        context: &RequestContext,
        stored: &UserCredentials,
    ) -> Result<(), CloudError> {
        let Some(trust_id) = stored.trust_id.as_deref().filter(|id| !id.is_empty()) else {
            return Ok(());
        };
        if context.user_id == stored.trustor_user_id {
            return self.keystone(context)?.delete_trust(trust_id).await;
        }
        let former_owner = stored.context(&context.request_id);
        match self.keystone(&former_owner)?.delete_trust(trust_id).await {
            Err(error) if error.is_unauthorized() || error.is_not_found() => {
                tracing::warn!(%error, "stored credentials are no longer valid, leaving their trust");
                Ok(())
            }
            outcome => outcome,
        }
    }
}
