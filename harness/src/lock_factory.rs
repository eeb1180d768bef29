//! A lock as a value, which can make clients.
//!
//! The simulation makes its clients in this process; a worker process makes the one that it
//! serves.

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use picklock_impls::{BuiltInLock, Context, DynLock, Lock, Node, OptionError, OptionSpec, Options};

use crate::spec::LockSpec;

/// Makes clients of a lock. It is `Send`, because a simulation runs on a thread of its own.
#[derive(Clone)]
pub struct LockFactory {
    name: String,
    nodes: usize,
    replicas: usize,
    options: &'static [&'static OptionSpec],
    build: Arc<dyn Fn(Vec<Node>, Context) -> Box<dyn DynLock> + Send + Sync>,
}

impl LockFactory {
    /// Your own lock on `nodes` independent Redis nodes.
    pub fn new<L: Lock + 'static>(
        name: impl Into<String>,
        nodes: usize,
        build: impl Fn(Vec<Node>, Context) -> L + Send + Sync + 'static,
    ) -> Self {
        LockFactory {
            name: name.into(),
            nodes,
            replicas: 0,
            options: &[],
            build: Arc::new(move |nodes, context| Box::new(build(nodes, context))),
        }
    }

    /// The same lock with options that its user can choose. `build` finds them in the `Context`.
    #[must_use]
    pub fn with_options(self, options: &'static [&'static OptionSpec]) -> Self {
        LockFactory { options, ..self }
    }

    /// A built-in lock.
    pub fn built_in(lock: &'static BuiltInLock) -> Self {
        LockFactory {
            name: lock.name.to_owned(),
            nodes: lock.nodes,
            replicas: lock.replicas,
            options: lock.options,
            build: Arc::new(lock.build),
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

    /// How many replicas of each node it needs at least.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// Its part of a specification, with these options.
    pub fn spec(&self, options: &BTreeMap<String, String>) -> LockSpec {
        LockSpec {
            name: self.name.clone(),
            typed: None,
            configuration: None,
            options: options.clone().into_iter().collect(),
            nodes: self.nodes,
            replicas: self.replicas,
            renews: false,
            needs_every_node: false,
            command: None,
        }
    }

    /// Reads the options that the user chose.
    ///
    /// # Errors
    /// The lock has no such option, or the value makes no sense for it.
    pub fn read_options(&self, given: &BTreeMap<String, String>) -> Result<Options, OptionError> {
        let given = given.iter();
        Options::read(
            self.options,
            given.map(|(name, value)| (name.as_str(), value.as_str())),
        )
    }

    pub(crate) fn client(&self, nodes: Vec<Node>, context: Context) -> Box<dyn DynLock> {
        (self.build)(nodes, context)
    }
}

/// It calls `build` and keeps nothing that a panic could leave half done: a failed assertion about a lock's runs can
/// be caught.
impl UnwindSafe for LockFactory {}
impl RefUnwindSafe for LockFactory {}

impl std::fmt::Debug for LockFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} nodes", self.name, self.nodes)
    }
}
