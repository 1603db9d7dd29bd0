//! The availability zones of the cloud, for those templates that ask for them.

use super::known::KnownResources;
use super::services::Services;
use crate::cloud::CloudError;
use crate::exception::RemoteException;
use crate::identity::RequestContext;
use crate::template::CloudFault;

impl KnownResources {
    /// Asks nova, as whoever `context` stands for, unless it has been asked. That it does not tell them is an answer too:
    /// it fails what needs them, and nothing else.
    pub async fn learn_availability_zones(&mut self, services: &Services, context: &RequestContext) {
        if self.zones.is_none() {
            self.zones = Some(asked(services, context).await.map_err(fault));
        }
    }
}

async fn asked(services: &Services, context: &RequestContext) -> Result<Vec<String>, CloudError> {
    services.cloud.session(context)?.availability_zones().await
}

fn fault(error: CloudError) -> CloudFault {
    tracing::info!(%error, "nova does not tell the availability zones");
    CloudFault {
        class: error.class_name(),
        module: error.module(),
        message: error.to_string(),
    }
}
