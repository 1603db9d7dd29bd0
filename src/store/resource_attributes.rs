//! The stored attributes of a resource: a row of `resource_properties_data` that `resource.attr_data_id` names.

use super::error::StoreError;
use super::resource::next_atomic_key;
use super::resource_properties_data::PropertiesData;
use super::session::Session;
use super::swap::Swap;

impl Session {
    /// Stores attributes if nobody works on the resource and nobody else has stored any. Returns the id of their row,
    /// `None` if they were not stored; the resource's key counts up with it. A transaction of its own.
    ///
    /// `attr_id` is the row in which this resource's attributes are already.
    pub async fn resource_attributes_store(
        &mut self,
        resource_id: i64,
        atomic_key: Option<i64>,
        attributes: &PropertiesData,
        attr_id: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        let updated = match attr_id {
            Some(id) => self
                .properties_data_update(id, attributes)
                .await?
                .is_updated()
                .then_some(id),
            None => None,
        };
        let id = match updated {
            Some(id) => id,
            None => self.properties_data_create(attributes).await?,
        };
        let sql = "UPDATE resource SET attr_data_id = ?, atomic_key = ? WHERE id = ? AND atomic_key <=> ? \
                   AND engine_id IS NULL AND (attr_data_id = ? OR attr_data_id IS NULL)";
        let values = [
            id.into(),
            next_atomic_key(atomic_key).into(),
            resource_id.into(),
            atomic_key.into(),
            id.into(),
        ];
        let stored = self.execute(sql, &values).await?;
        if stored.rows_affected() > 0 {
            return Ok(Some(id));
        }
        self.abandon();
        Ok(None)
    }

    /// Forgets the stored attributes of a resource. A transaction of its own.
    pub async fn resource_attributes_delete(&mut self, resource_id: i64, attr_id: i64) -> Result<Swap, StoreError> {
        let sql = "UPDATE resource SET attr_data_id = NULL WHERE id = ?";
        let cleared = self.execute(sql, &[resource_id.into()]).await?;
        self.delete_ids("resource_properties_data", &[attr_id]).await?;
        Ok(if cleared.rows_affected() > 0 {
            Swap::Updated
        } else {
            Swap::Gone
        })
    }
}
