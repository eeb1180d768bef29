//! Live progress of a run.

use crate::history::Event;

/// A phase of a run on real servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Servers and workers are started.
    Setup,
    /// Servers and workers are ended.
    Teardown,
}

/// Watches a run on real servers while it goes on. A simulation takes too little time to watch.
pub trait Observer {
    /// A phase begins. The workload begins with the first event.
    fn phase(&self, phase: RunPhase);

    /// Something happened.
    fn event(&self, event: &Event);
}

/// Watches nothing.
impl Observer for () {
    fn phase(&self, _: RunPhase) {}

    fn event(&self, _: &Event) {}
}
