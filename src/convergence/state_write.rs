//! A change of a resource's state: its row by compare-and-swap, its event and, where they are new, its properties, in one
//! transaction.

use crate::stack::services::Services;
use crate::stack::state::event_limits;
use crate::store::{ExpectedResource, NewEvent, PropertiesData, ResourceChanges, StoreError, Swap};

#[derive(Debug)]
pub(super) struct StateWrite {
    pub resource_id: i64,
    pub expected: ExpectedResource,
    pub changes: ResourceChanges,
    pub properties: Option<PropertiesData>,
    pub event: Option<NewEvent>,
}

/// Gives the id of the properties, if there were any. Nothing is written where the row is not as expected.
pub(super) async fn write_state(services: &Services, write: StateWrite) -> Result<(Swap, Option<i64>), StoreError> {
    let limits = event_limits(services);
    services
        .store
        .joint_transaction((write, limits), |session, (write, limits)| {
            Box::pin(async move {
                let mut changes = write.changes.clone();
                let mut event = write.event.clone();
                let mut properties_id = None;
                if let Some(properties) = &write.properties {
                    let id = session.properties_data_create(properties).await?;
                    properties_id = Some(id);
                    changes.rsrc_prop_data_id = Some(Some(id));
                    if let Some(event) = &mut event {
                        event.rsrc_prop_data_id = Some(id);
                    }
                }
                let swap = session
                    .resource_swap(write.resource_id, &write.expected, &changes)
                    .await?;
                if !swap.is_updated() {
                    session.abandon();
                } else if let Some(event) = &event {
                    session.event_create_limited(event, *limits).await?;
                }
                Ok((swap, properties_id))
            })
        })
        .await
}
