//! The convergence engine: what its parts share.

use std::sync::Arc;

use moka::future::Cache;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::gatherings::Gatherings;
use super::held::Unreleased;
use super::peers::Peers;
use super::running::RunningChecks;
use super::turns::Turns;
use super::witness::Watch;
use super::worker_client::{CheckMessage, check_resource};
use crate::identity::RequestContext;
use crate::messaging::PublishError;
use crate::stack::dependencies::Dependencies;
use crate::stack::error::StackError;
use crate::stack::node::Node;
use crate::stack::services::Services;

/// The graph of a traversal.
pub type Graph = Dependencies<Node>;

/// Bytes of graphs that are kept at a time.
const KEPT_GRAPHS: u64 = 16 << 20;

/// What a node of a graph takes, with one edge in and one out, and each further edge.
const BYTES_OF_NODE: usize = 400;
const BYTES_OF_EDGE: usize = 160;

/// Messages that are remembered as sent.
const KEPT_MESSAGES: u64 = 20_000;

/// Nodes that are remembered as done.
const KEPT_DONE: u64 = 4_000;

#[derive(Clone)]
pub struct Convergence {
    pub services: Services,
    pub running: RunningChecks,
    pub peers: Peers,
    /// Cancelled when the engine is to end: nothing new is begun, and what only waits is for others to wait for.
    pub(super) leaving: CancellationToken,
    /// Cancelled when what runs has to be given back.
    pub(super) ending: CancellationToken,
    pub(super) gatherings: Gatherings,
    pub(super) turns: Turns,
    pub(super) unreleased: Unreleased,
    graphs: Cache<String, Arc<Graph>>,
    /// Held by whoever reads a graph, so that the checks of a traversal do not all read it.
    reading_graph: Arc<Mutex<()>>,
    sent: Cache<(String, Node), ()>,
    done: Cache<(String, Node), ()>,
    pub(super) watch: Watch,
}

impl Convergence {
    pub fn new(services: Services, leaving: CancellationToken, ending: CancellationToken) -> Self {
        let own = &services.settings.own;
        let gatherings = Gatherings::new(own.checks_begun_at_a_time() as usize);
        Self {
            peers: Peers::new(
                services.store.clone(),
                services.rpc.clone(),
                services.clock.clone(),
                &services.engine_id,
                services.settings.engine.engine_life_check_timeout,
            ),
            turns: Turns::new(own.max_concurrent_checks as usize, own.fair_shares),
            services,
            leaving,
            running: RunningChecks::default(),
            ending,
            unreleased: Unreleased::default(),
            gatherings,
            graphs: Cache::builder()
                .max_capacity(KEPT_GRAPHS)
                .weigher(|_: &String, graph: &Arc<Graph>| weight_of(graph))
                .build(),
            reading_graph: Arc::default(),
            sent: Cache::new(KEPT_MESSAGES),
            done: Cache::new(KEPT_DONE),
            watch: Watch::default(),
        }
    }

    /// The same engine, for somebody who looks on.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// Has a node checked, by whichever engine takes the message.
    pub(super) async fn send_check(
        &self,
        context: &RequestContext,
        message: CheckMessage<'_>,
    ) -> Result<(), PublishError> {
        let sent = (message.traversal.to_owned(), message.node.clone());
        self.sent.insert(sent.clone(), ()).await;
        let sending = check_resource(&self.services.rpc, context, message).await;
        if sending.is_err() {
            self.sent.invalidate(&sent).await;
        }
        sending
    }

    /// Tells others that a node is about to be checked for [`Self::send_check`], which may have to wait before.
    pub(super) async fn will_send(&self, traversal: &str, node: &Node) {
        self.sent.insert((traversal.to_owned(), node.clone()), ()).await;
    }

    /// Whether this engine has had the node checked, or is about to. What the broker has taken is not lost, so whoever
    /// comes to a node again, by a message that came twice, need not ask once more. (Without this, what is asked for in
    /// vain would multiply from node to node.)
    pub(super) fn has_sent(&self, traversal: &str, node: &Node) -> bool {
        self.sent.contains_key(&(traversal.to_owned(), node.clone()))
    }

    /// Notes that this engine has done its work on a node, and tells others of it.
    pub(super) async fn note_done(&self, traversal: &str, node: &Node) {
        self.done.insert((traversal.to_owned(), node.clone()), ()).await;
    }

    /// To be called if what is done could not be told.
    pub(super) async fn forget_done(&self, traversal: &str, node: &Node) {
        self.done.invalidate(&(traversal.to_owned(), node.clone())).await;
    }

    /// Whether this engine has done a node, and told others or will: nobody need ask for it again.
    pub(super) fn has_done(&self, traversal: &str, node: &Node) -> bool {
        self.done.contains_key(&(traversal.to_owned(), node.clone()))
    }

    /// The graph of a traversal that has messages out, read and parsed once: a traversal never changes its own.
    pub async fn graph(&self, stack_id: &str, traversal: &str) -> Result<Arc<Graph>, StackError> {
        if let Some(graph) = self.graphs.get(traversal).await {
            return Ok(graph);
        }
        let _reading = self.reading_graph.lock().await;
        if let Some(graph) = self.graphs.get(traversal).await {
            return Ok(graph);
        }
        let text = self.services.store.stack_graph(stack_id, traversal).await?;
        let graph = Arc::new(read_graph(text.as_deref()));
        // Before the graph is stored there is none, and what is not there must not be remembered.
        if !graph.is_empty() {
            self.graphs.insert(traversal.to_owned(), graph.clone()).await;
        }
        Ok(graph)
    }

    /// The graph that a stack has at this moment. Between two traversals that is still the graph of the first, under
    /// the name of the second; so it is not remembered.
    pub(super) async fn latest_graph(&self, stack_id: &str, traversal: &str) -> Result<Arc<Graph>, StackError> {
        if let Some(graph) = self.graphs.get(traversal).await {
            return Ok(graph);
        }
        let text = self.services.store.stack_graph(stack_id, traversal).await?;
        Ok(Arc::new(read_graph(text.as_deref())))
    }

    /// The graph of a stack's traversal; `None` before it is laid out, and when the traversal is over. Whoever arrives at a
    /// sync point needs it: by the graph of the traversal before, nobody else may seem to be expected there.
    pub(super) async fn laid_out_graph(
        &self,
        stack_id: &str,
        traversal: &str,
    ) -> Result<Option<Arc<Graph>>, StackError> {
        if let Some(graph) = self.graphs.get(traversal).await {
            return Ok(Some(graph));
        }
        let text = self.services.store.stack_laid_out_graph(stack_id, traversal).await?;
        Ok(text.map(|text| Arc::new(read_graph(Some(&text)))))
    }

    pub(super) async fn remember_graph(&self, traversal: &str, graph: Graph) -> Arc<Graph> {
        let graph = Arc::new(graph);
        self.graphs.insert(traversal.to_owned(), graph.clone()).await;
        graph
    }
}

fn weight_of(graph: &Graph) -> u32 {
    let bytes = graph.len() * BYTES_OF_NODE + graph.edges().count() * BYTES_OF_EDGE;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The graph as `stack.current_deps` holds it: `{"edges": [[[42, true], [41, true]], [[43, false], null]]}`.
fn read_graph(text: Option<&str>) -> Graph {
    let stored: Option<serde_json::Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let edges = stored
        .as_ref()
        .and_then(|stored| stored.get("edges"))
        .and_then(|edges| edges.as_array());
    let edges = edges.into_iter().flatten().filter_map(|edge| {
        let requirer = Node::from_edge_end(edge.get(0)?)?;
        Some((requirer, edge.get(1).and_then(Node::from_edge_end)))
    });
    Dependencies::from_edges(edges)
}

/// The reverse of [`read_graph`].
pub(super) fn graph_text(graph: &Graph) -> String {
    let edges: Vec<serde_json::Value> = graph
        .edges()
        .map(|(requirer, required)| {
            let required = required.map_or(serde_json::Value::Null, Node::to_edge_end);
            serde_json::json!([requirer.to_edge_end(), required])
        })
        .collect();
    crate::python::dumps(&serde_json::json!({ "edges": edges }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_stored_as_the_python_engine_stores_it() {
        let text = r#"{"edges": [[[6210, true], [6212, true]], [[7, false], null]]}"#;
        let graph = read_graph(Some(text));
        assert_eq!(graph_text(&graph), text);
        assert!(read_graph(Some("null")).is_empty());
    }
}
