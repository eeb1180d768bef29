//! What shall happen: the scenario vocabulary, its parser and the catalog. Pure data; no I/O.

mod fault;
mod scenario;
mod span;

pub use fault::{
    Direction, EventKind, FaultKind, FaultPlan, Nodes, Phase, Trigger, Who, Workers,
};
pub use scenario::{
    Expectation, Judge, Persistence, Scenario, Topology, Update, Workload, WorkloadKind,
};
pub use span::{BadSpan, Span};
