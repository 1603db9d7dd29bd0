//! Resources that wait for their object when their engine is told to end.
//!
//! Waiting depends on stored state alone, so another engine can do it as well. An engine that ends offers such a resource
//! to the others of its kind, one after the other, and goes on waiting, within its grace period, while none takes it. Who
//! takes it writes its own id over ours by compare-and-swap: at each moment the row names one holder, and whichever of the
//! two dies on the way, the sweep finds what it finds after any death. A Python engine knows of no such thing and is not
//! asked.

use std::sync::Arc;

use tracing::Instrument;

use super::check::{not_served, party};
use super::engine::Convergence;
use super::request::CheckRequest;
use super::subject::Subjected;
use super::work::{Beginning, Begun, NoReceipt, Work};
use super::worker_client::take_over_check;
use crate::identity::RequestContext;
use crate::resource::state::Status;
use crate::stack::Stack;
use crate::stack::error::StackError;
use crate::store::ResourceInStack;

impl Work<'_> {
    /// Offers the resource to the other engines. Whether one of them has it now.
    pub async fn pass_on(&self, resource_id: i64) -> bool {
        let services = &self.engine.services;
        let Ok(living) = self.engine.peers.living().await else {
            return false;
        };
        if living.ours.is_empty() {
            return false;
        }
        // Not everything to the same one.
        let first = services.clock.random_below(living.ours.len() as u64) as usize;
        for peer in living.ours[first..].iter().chain(&living.ours[..first]) {
            let engine_id = peer.engine_id.as_str();
            match take_over_check(services, self.context, self.request, engine_id).await {
                Ok(true) => {
                    tracing::info!(resource_id, to = engine_id, "another engine waits for it from here on");
                    return true;
                }
                Ok(false) => tracing::debug!(resource_id, engine_id, "the other engine does not take it"),
                Err(error) => tracing::debug!(resource_id, engine_id, %error, "the other engine cannot be asked"),
            }
        }
        false
    }
}

impl Convergence {
    /// Takes over a resource that `holder` waits for, and goes on with it in the background. False: it stays where it is.
    pub async fn take_over_check(
        &self,
        context: RequestContext,
        request: CheckRequest,
        holder: &str,
    ) -> Result<bool, StackError> {
        let services = &self.services;
        if self.leaving.is_cancelled() {
            return Ok(false);
        }
        let Some(resource_id) = request.node.resource_id() else {
            return Ok(false);
        };
        let Some(ResourceInStack {
            resource: loaded,
            stack: Some(row),
        }) = services.store.resource_load_with_stack(resource_id).await?
        else {
            return Ok(false);
        };
        let is_waited_for = loaded.resource.engine_id.as_deref() == Some(holder)
            && loaded.resource.status.as_deref() == Some(Status::InProgress.as_str());
        let mut stack = Stack::from_row(services, Arc::unwrap_or_clone(row)).await?;
        stack.converge = request.converge;
        let is_wanted = request.traversal == stack.traversal() && stack.is_in_progress();
        if !is_waited_for || !is_wanted || not_served(&stack, &loaded.resource.name, &request).is_some() {
            return Ok(false);
        }
        let known = request.known_resources();
        let Ok(mut subject) = Subjected::prepare(self, &context, &stack, loaded, &request.node, known).await? else {
            return Ok(false);
        };
        if !subject.tracked.inherit(services, holder).await?.is_updated() {
            return Ok(false);
        }
        tracing::info!(
            resource = subject.tracked.row.name,
            resource_id,
            stack = stack.name(),
            from = holder,
            "waits for it from here on; its engine ends"
        );
        let running = self.running.begin(stack.id());
        let engine = self.clone();
        let waiting = async move {
            let turn = engine.turns.take(party(&context, &request)).await;
            let begun = Begun {
                beginning: Beginning::Inherited,
                receipt: &NoReceipt,
                running,
                turn,
            };
            let checked = engine.check(&context, &request, &mut stack, &mut subject, begun).await;
            if let Err(error) = checked {
                tracing::error!(resource_id, error = &error as &dyn std::error::Error, "the work failed");
            }
        };
        services.background.spawn(waiting.in_current_span());
        Ok(true)
    }
}
