//! The only code with SQL: a file a table, typed compare-and-swap outcomes.
//!
//! Python engines work on the same rows at the same time, so three things are not a matter of taste here. Each write
//! to a shared row says which state it expects and reports by [`Swap`] whether it found it. Each row is, column for
//! column, the one that a Python engine would have written; columns of JSON are text here, since only the caller knows
//! whose text it passes on. And no query is ever dropped half-way, because the protocol cannot take that: a unit of
//! work runs in a task of its own, and a caller that goes away leaves it to finish.
//!
//! A unit of work is either one statement or one transaction. [`Session`] has a method for each thing that can be asked
//! of a table; [`Store`] has the same methods for units of that one thing, and [`Store::transaction`] to join several:
//!
//! ```ignore
//! store
//!     .transaction((event, changes), |session, (event, changes)| {
//!         Box::pin(async move {
//!             session.event_create(event).await?;
//!             session.resource_update(id, changes).await
//!         })
//!     })
//!     .await
//! ```
//!
//! What many tasks ask for at the same moment is done as one ([`joint`]): [`Store::joint_transaction`],
//! [`Store::resource_load_with_stack`].
//!
//! A unit may run more than once ([`retry`] says when), so it takes its arguments by reference and keeps no state. It
//! talks to its own session alone: a second connection could be the one that another unit waits for.

mod argument;
mod assignments;
mod connection;
mod connection_string;
mod counters;
mod door;
mod error;
mod examine;
mod filter;
mod joint;
mod lookout;
pub mod measure;
mod options;
mod paging;
mod pool;
mod probe;
mod rehearsal;
mod retry;
mod schema;
mod server_thread;
mod session;
mod shapes;
mod silence;
mod swap;
mod text;
mod units;
mod value;

mod event;
mod raw_template;
mod raw_template_files;
mod recovery;
mod resource;
mod resource_attributes;
mod resource_data;
mod resource_load;
mod resource_properties_data;
mod resource_purge;
mod service;
mod snapshot;
mod stack;
mod stack_list;
mod stack_lock;
mod stack_tag;
mod sweep_lock;
mod sync_point;
mod user_creds;

pub use connection::Store;
pub use connection_string::ConnectionStringError;
pub use counters::StoreCounters;
pub use error::{StoreError, Transience};
pub use event::{Event, EventLimits, EventQuery, NewEvent};
pub use examine::{Column, LocksOfEngine, Refusal, ServerFacts, StackInProgress, lacking};
pub use filter::{Filter, FilterTest};
pub use lookout::{Lookout, Usefulness};
pub use options::DatabaseOptions;
pub use paging::{Page, SortDirection};
pub use raw_template::{NewRawTemplate, RawTemplate, RawTemplateChanges, Removal};
pub use recovery::{DatedSyncPoint, LeftSyncPoints, NewestEvent, NewestEvents};
pub use resource::{
    ExpectedResource, LoadedResource, NewResource, Replacement, Resource, ResourceChanges, next_atomic_key,
};
pub use resource_data::ResourceData;
pub use resource_load::ResourceInStack;
pub use resource_properties_data::PropertiesData;
pub use retry::RetryLimits;
pub use schema::{Schema, Table};
pub use service::{NewService, Service};
pub use session::Session;
pub use stack::{Deleted, NewStack, Scope, Stack, StackChanges, StackCreation};
pub use stack_list::StackQuery;
pub use stack_lock::StackLock;
pub use swap::Swap;
pub use sweep_lock::SweepLock;
pub use sync_point::{NewSyncPoint, SyncPoint, SyncPointKey};
pub use text::{UnstorableName, name_fits};
pub use user_creds::{NewUserCreds, UserCreds};
pub use value::SqlValue;
