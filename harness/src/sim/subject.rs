//! What is simulated: how one client of the lock is made.

use std::sync::Arc;

use picklock_impls::{Context, DynLock, Lock, Node, Strategy};

/// Makes clients of a lock; `Send`, because a simulation runs on a thread of its own.
#[derive(Clone)]
pub struct Subject {
    name: String,
    nodes: usize,
    build: Arc<dyn Fn(Vec<Node>, Context) -> Box<dyn DynLock> + Send + Sync>,
}

impl Subject {
    /// A lock of your own on `nodes` independent Redis nodes.
    pub fn new<L: Lock + 'static>(
        name: impl Into<String>,
        nodes: usize,
        build: impl Fn(Vec<Node>, Context) -> L + Send + Sync + 'static,
    ) -> Self {
        Subject {
            name: name.into(),
            nodes,
            build: Arc::new(move |nodes, context| Box::new(build(nodes, context))),
        }
    }

    /// A built-in strategy.
    pub fn of(strategy: &'static Strategy) -> Self {
        Subject {
            name: strategy.name.to_owned(),
            nodes: strategy.nodes,
            build: Arc::new(strategy.build),
        }
    }

    /// Its name, for the history.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many independent nodes it wants.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// One client.
    pub(super) fn client(&self, nodes: Vec<Node>, context: Context) -> Box<dyn DynLock> {
        (self.build)(nodes, context)
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} nodes", self.name, self.nodes)
    }
}
