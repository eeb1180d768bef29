//! What a backend can do. Driver and nemesis know a backend only through these traits, so they are
//! the same in every backend.
//!
//! One trait for each thing that a backend is made of, with the faults that it offers. What a backend
//! lacks is in its [`Capabilities`], which it declares before the buyers begin.

#![expect(
    async_fn_in_trait,
    reason = "driver, nemesis and backend are on one thread"
)]

mod capabilities;
mod data;
mod key_history;
mod links;
mod liveness;
mod nodes;
mod workers;

use picklock_scenarios::BackendName;

pub use capabilities::{Capabilities, Refusal};
pub(crate) use data::keys_to_evict;
pub use data::{Data, DataChange, StockServer};
pub use key_history::{KeyHistory, Probe};
pub use links::Links;
pub use liveness::Liveness;
pub use nodes::{Clocks, Nodes, Replication, Sentinels};
pub use workers::{Session, Workers};

pub use crate::proxy::ProxyIncident;

/// One backend: workers, nodes, and the links between them.
pub trait Backend:
    Workers
    + Links
    + Nodes
    + Replication
    + Sentinels
    + Clocks
    + Data
    + KeyHistory
    + StockServer
    + Probe
    + Liveness
    + 'static
{
    /// Which backend it is.
    fn name(&self) -> BackendName;

    /// What it can do in this run. It is asked when the workers have been started, and before the
    /// first of them takes the lock: it may try things out that leave no trace.
    async fn capabilities(&self) -> Capabilities;

    /// What the harness itself could not do since this was last asked. A simulation does not run out of
    /// anything.
    fn take_incidents(&self) -> Vec<ProxyIncident> {
        Vec::new()
    }
}
