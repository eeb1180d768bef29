//! A lock as a value that creates clients.
//!
//! The simulation creates its clients in this process. A worker process creates the one client that it serves.

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use picklock_impls::{BuiltInLock, Context, DynLock, Lock, Node, OptionError, OptionSpec, Options};

use crate::lock_kinds::kind_of;
use crate::spec::LockSpec;

/// Creates clients of a lock. It is `Send`, because a simulation runs on its own thread.
#[derive(Clone)]
pub struct LockFactory {
    spec: LockSpec,
    options: &'static [&'static OptionSpec],
    build: Arc<dyn Fn(Vec<Node>, Context) -> Box<dyn DynLock> + Send + Sync>,
}

impl LockFactory {
    /// Creates a factory for your own lock on `nodes` independent Redis nodes.
    pub fn new<L: Lock + 'static>(
        name: impl Into<String>,
        nodes: usize,
        build: impl Fn(Vec<Node>, Context) -> L + Send + Sync + 'static,
    ) -> Self {
        LockFactory {
            spec: LockSpec {
                nodes,
                ..LockSpec::new(name)
            },
            options: &[],
            build: Arc::new(move |nodes, context| Box::new(build(nodes, context))),
        }
    }

    /// Returns the same lock with options that its user can set. `build` receives their values in the `Context`.
    #[must_use]
    pub fn with_options(self, options: &'static [&'static OptionSpec]) -> Self {
        LockFactory { options, ..self }
    }

    /// Creates a factory for a built-in lock.
    pub fn built_in(lock: &'static BuiltInLock) -> Self {
        LockFactory {
            spec: LockSpec {
                nodes: lock.nodes,
                replicas: lock.replicas,
                kind: Some(kind_of(lock.kind)),
                renews: lock.renews(),
                ..LockSpec::new(lock.name)
            },
            options: lock.options,
            build: Arc::new(lock.build),
        }
    }

    /// Returns the lock's part of the specification of a run, without options.
    pub fn spec(&self) -> &LockSpec {
        &self.spec
    }

    /// Returns the lock's part of the specification of a run, with these options.
    pub fn spec_with(&self, options: &BTreeMap<String, String>) -> LockSpec {
        LockSpec {
            options: options.clone().into_iter().collect(),
            ..self.spec.clone()
        }
    }

    /// Parses the options that the user chose.
    ///
    /// # Errors
    /// Returns an error if the lock does not have an option, or if its value is invalid.
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

/// The factory only calls `build` and has no state that a panic could leave inconsistent. So a test can use
/// `catch_unwind` around an assertion about the lock's runs.
impl UnwindSafe for LockFactory {}
impl RefUnwindSafe for LockFactory {}

impl std::fmt::Debug for LockFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} nodes", self.spec.name, self.spec.nodes)
    }
}
