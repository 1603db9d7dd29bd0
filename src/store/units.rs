//! What can be asked of the store as a unit of its own. Each is the method of [`Session`] with the same name, where it
//! is described.

use std::collections::HashMap;

use chrono::NaiveDateTime;

use super::argument::Argument;
use super::{
    Column, DatedSyncPoint, Deleted, Event, EventLimits, EventQuery, ExpectedResource, LeftSyncPoints, LoadedResource,
    LocksOfEngine, NewEvent, NewRawTemplate, NewResource, NewService, NewStack, NewSyncPoint, NewUserCreds,
    NewestEvents, PropertiesData, RawTemplate, RawTemplateChanges, Refusal, Removal, Replacement, Resource,
    ResourceChanges, ResourceData, Scope, ServerFacts, Service, Stack, StackChanges, StackCreation, StackInProgress,
    StackLock, StackQuery, Store, StoreError, Swap, SyncPoint, SyncPointKey, Table, UserCreds,
};

macro_rules! units {
    ($kind:ident: $($name:ident($($argument:ident: $type:ty),* $(,)?) -> $output:ty;)*) => {
        impl Store { $(
            pub async fn $name(&self, $($argument: $type),*) -> Result<$output, StoreError> {
                self.$kind(($(Argument::keep($argument),)*), |session, ($($argument,)*)| {
                    Box::pin(session.$name($(Argument::lend($argument)),*))
                })
                .await
            }
        )* }
    };
}

units! { single:
    stack_get(id: &str, scope: &Scope, deleted: Deleted) -> Option<Stack>;
    stack_get_by_name(name: &str, project: &str, deleted: Deleted) -> Option<Stack>;
    stack_graph(id: &str, traversal: &str) -> Option<String>;
    stack_laid_out_graph(id: &str, traversal: &str) -> Option<String>;
    stack_swap(id: &str, expected_traversal: Option<&str>, changes: &StackChanges) -> Swap;
    stack_root_id(id: &str) -> Option<String>;
    stacks_below(root_id: &str, deleted: Deleted) -> Vec<Stack>;
    stacks_list(query: &StackQuery) -> Vec<Stack>;
    stacks_count(query: &StackQuery) -> i64;
    stacks_called(name_or_id: &str) -> Vec<Stack>;
    stack_lock_get(stack_id: &str) -> Option<String>;
    stack_lock_create(stack_id: &str, engine_id: &str) -> StackLock;
    stack_lock_steal(stack_id: &str, old_engine_id: &str, new_engine_id: &str) -> Swap;
    stack_lock_release(stack_id: &str, engine_id: &str) -> Swap;
    stack_tags_get(stack_id: &str) -> Vec<String>;
    stack_tags_get_all(stack_ids: &[String]) -> HashMap<String, Vec<String>>;
    snapshot_ids(stack_id: &str, project: &str) -> Vec<String>;

    raw_template_get(id: i64) -> Option<RawTemplate>;
    raw_template_update(id: i64, changes: &RawTemplateChanges) -> Swap;
    raw_template_files_get(id: i64) -> Option<Option<String>>;

    server_facts() -> Option<ServerFacts>;
    schema_revision() -> Option<String>;
    columns() -> Vec<Column>;
    refusals(table: &Table) -> Vec<Refusal>;
    is_denied(table: &Table) -> bool;
    locks_by_engine() -> Vec<LocksOfEngine>;
    stacks_under_way() -> Vec<StackInProgress>;

    resource_get(id: i64) -> Option<Resource>;
    resource_load(id: i64) -> Option<LoadedResource>;
    resources_by_stack(stack_id: &str) -> Vec<Resource>;
    resources_load_by_stack(stack_id: &str) -> Vec<LoadedResource>;
    resources_by_physical_id(physical_resource_id: &str, scope: &Scope) -> Vec<Resource>;
    engines_locking_stack(stack_id: &str) -> Vec<String>;
    resource_swap(id: i64, expected: &ExpectedResource, changes: &ResourceChanges) -> Swap;
    resource_update(id: i64, changes: &ResourceChanges) -> Swap;
    resource_data_all(resource_id: i64) -> Vec<ResourceData>;
    resource_data_add(resource_id: i64, key: &str, value: &str, decrypt_method: Option<&str>) -> i64;
    resource_data_write(id: i64, value: &str, decrypt_method: Option<&str>) -> Swap;
    resource_data_delete(resource_id: i64, key: &str) -> bool;
    properties_data_update(id: i64, data: &PropertiesData) -> Swap;

    event_create(event: &NewEvent) -> ();
    events_count(stack_id: &str) -> i64;
    events_list(query: &EventQuery) -> Vec<Event>;

    sync_point_get(key: &SyncPointKey) -> Option<SyncPoint>;
    sync_point_swap(
        key: &SyncPointKey,
        expected_atomic_key: i64,
        input_data: Option<&str>,
        extra_data: Option<&str>,
    ) -> Swap;
    sync_points_delete(stack_id: &str, traversal_id: &str) -> u64;

    lock_holders() -> Vec<String>;
    resources_locked_by(engine_id: &str) -> Vec<i64>;
    stacks_in_progress(convergence: bool) -> Vec<Stack>;
    stacks_half_deleted(before: NaiveDateTime) -> Vec<Stack>;
    sync_points_of(stack_id: &str, traversal_id: &str) -> Vec<DatedSyncPoint>;
    sync_points_left_over(before: NaiveDateTime) -> Vec<LeftSyncPoints>;
    events_newest(stack_id: &str) -> NewestEvents;
    event_latest_at() -> Option<NaiveDateTime>;
    user_creds_unused(before: NaiveDateTime) -> Vec<i64>;
    raw_templates_unowned(before: NaiveDateTime) -> Vec<i64>;
    services_ever() -> Vec<Service>;

    user_creds_get(id: i64) -> Option<UserCreds>;
    user_creds_newest() -> Option<UserCreds>;

    service_create(service: &NewService) -> ();
    service_report(id: &str) -> Swap;
    service_get(id: &str) -> Option<Service>;
    services_all() -> Vec<Service>;
    service_retire(id: &str) -> Swap;
    service_delete(id: &str) -> Swap;
    services_retire_silent(
        host: &str,
        binary: &str,
        hostname: &str,
        own_id: &str,
        time_line: NaiveDateTime,
    ) -> u64;
}

units! { transaction:
    raw_template_create(template: &NewRawTemplate) -> i64;
    raw_template_files_create(files: &str) -> i64;
    resource_create(resource: &NewResource) -> i64;
    properties_data_create(data: &PropertiesData) -> i64;
    user_creds_create(creds: &NewUserCreds) -> i64;
    stack_create(stack: &NewStack) -> StackCreation;
    stack_delete(id: &str) -> Swap;
    stack_tags_set(stack_id: &str, tags: &[String]) -> ();
    raw_template_delete(id: i64) -> Removal;
    resources_create(resources: &[NewResource]) -> Vec<i64>;
    resource_create_replacement(
        existing_id: i64,
        replacement: &NewResource,
        expected: &ExpectedResource,
    ) -> Replacement;
    resource_delete_unmade(id: i64) -> Swap;
    resources_purge_deleted(stack_id: &str) -> u64;
    resource_attributes_store(
        resource_id: i64,
        atomic_key: Option<i64>,
        attributes: &PropertiesData,
        attr_id: Option<i64>,
    ) -> Option<i64>;
    resource_attributes_delete(resource_id: i64, attr_id: i64) -> Swap;
    events_create(events: &[NewEvent]) -> ();
    event_create_limited(event: &NewEvent, limits: EventLimits) -> ();
    events_purge_oldest(stack_id: &str, count: u64) -> u64;
    sync_points_create(points: &[NewSyncPoint]) -> ();
    user_creds_delete(id: i64) -> bool;
}
