//! Live progress of a run.

use crate::history::Event;

/// A phase of a run on real servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Servers and workers are being started.
    Setup,
    /// Servers and workers are being stopped.
    Teardown,
}

/// Watches a run on real servers. A simulation is too short to watch.
pub trait Observer {
    /// Called when a phase begins. The workload has no phase: it begins with the first event.
    fn phase(&self, phase: RunPhase);

    /// Called for every event of the history.
    fn event(&self, event: &Event);
}

/// An observer that ignores all calls.
impl Observer for () {
    fn phase(&self, _: RunPhase) {}

    fn event(&self, _: &Event) {}
}
