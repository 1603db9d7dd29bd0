//! The convergence engine: what its parts share.

use std::sync::Arc;

use moka::future::Cache;
use tokio_util::sync::CancellationToken;

use super::held::Unreleased;
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

/// Graphs that are kept at a time; one has a few hundred bytes for each resource.
const KEPT_GRAPHS: u64 = 200;

/// Messages that are remembered as sent.
const KEPT_MESSAGES: u64 = 20_000;

#[derive(Clone)]
pub struct Convergence {
    pub services: Services,
    pub running: RunningChecks,
    /// Cancelled when what runs has to be given back: the engine ends.
    pub(super) ending: CancellationToken,
    pub(super) sync_points: Turns,
    pub(super) unreleased: Unreleased,
    graphs: Cache<String, Arc<Graph>>,
    sent: Cache<(String, Node), ()>,
    pub(super) watch: Watch,
}

impl Convergence {
    pub fn new(services: Services, ending: CancellationToken) -> Self {
        Self {
            services,
            running: RunningChecks::default(),
            ending,
            sync_points: Turns::default(),
            unreleased: Unreleased::default(),
            graphs: Cache::new(KEPT_GRAPHS),
            sent: Cache::new(KEPT_MESSAGES),
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
        check_resource(&self.services.rpc, context, message).await?;
        self.sent.insert(sent, ()).await;
        Ok(())
    }

    /// Whether this engine has had the node checked. What the broker has taken is not lost, so whoever comes to a node
    /// again, by a message that came twice, need not ask once more. (Without this, what is asked for in vain would
    /// multiply from node to node.)
    pub(super) fn has_sent(&self, traversal: &str, node: &Node) -> bool {
        self.sent.contains_key(&(traversal.to_owned(), node.clone()))
    }

    /// The graph of a traversal that has messages out, read and parsed once: a traversal never changes its own.
    pub async fn graph(&self, stack_id: &str, traversal: &str) -> Result<Arc<Graph>, StackError> {
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

    pub(super) async fn remember_graph(&self, traversal: &str, graph: Graph) -> Arc<Graph> {
        let graph = Arc::new(graph);
        self.graphs.insert(traversal.to_owned(), graph.clone()).await;
        graph
    }
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
