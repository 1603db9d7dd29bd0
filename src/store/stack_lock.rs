//! Table `stack_lock`: which engine works on a whole stack, as legacy stacks and a few calls need it.

use super::error::StoreError;
use super::session::Session;
use super::swap::Swap;

/// How an attempt to take a lock ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum StackLock {
    Acquired,
    /// By the engine with this id.
    Held(String),
}

impl Session {
    pub async fn stack_lock_get(&mut self, stack_id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT engine_id FROM stack_lock WHERE stack_id = ?";
        let engine: Option<Option<String>> = sqlx::query_scalar(sql)
            .bind(stack_id)
            .fetch_optional(self.statement())
            .await?;
        Ok(engine.flatten())
    }

    pub async fn stack_lock_create(&mut self, stack_id: &str, engine_id: &str) -> Result<StackLock, StoreError> {
        loop {
            let sql = "INSERT INTO stack_lock (stack_id, created_at, engine_id) VALUES (?, ?, ?)";
            let now = self.now();
            match self
                .execute(sql, &[stack_id.into(), now.into(), engine_id.into()])
                .await
            {
                Ok(_) => return Ok(StackLock::Acquired),
                Err(error) if error.is_duplicate() => {}
                Err(error) => return Err(error),
            }
            match self.stack_lock_get(stack_id).await? {
                Some(holder) if holder == engine_id && self.is_unsure() => return Ok(StackLock::Acquired),
                Some(holder) => return Ok(StackLock::Held(holder)),
                // Released in between.
                None => {}
            }
        }
    }

    /// Takes the lock over from an engine that is dead.
    pub async fn stack_lock_steal(
        &mut self,
        stack_id: &str,
        old_engine_id: &str,
        new_engine_id: &str,
    ) -> Result<Swap, StoreError> {
        let sql = "UPDATE stack_lock SET engine_id = ?, updated_at = ? WHERE stack_id = ? AND engine_id = ?";
        let now = self.now();
        let values = [new_engine_id.into(), now.into(), stack_id.into(), old_engine_id.into()];
        let done = self.execute(sql, &values).await?;
        if done.rows_affected() > 0 {
            return Ok(Swap::Updated);
        }
        match self.stack_lock_get(stack_id).await? {
            Some(holder) if holder == new_engine_id && self.is_unsure() => Ok(Swap::Updated),
            Some(_) => Ok(Swap::Lost),
            None => Ok(Swap::Gone),
        }
    }

    /// Gives the lock up; `Gone` if this engine did not have it.
    pub async fn stack_lock_release(&mut self, stack_id: &str, engine_id: &str) -> Result<Swap, StoreError> {
        let sql = "DELETE FROM stack_lock WHERE stack_id = ? AND engine_id = ?";
        let done = self.execute(sql, &[stack_id.into(), engine_id.into()]).await?;
        let released = done.rows_affected() > 0 || self.is_unsure();
        Ok(if released { Swap::Updated } else { Swap::Gone })
    }
}
