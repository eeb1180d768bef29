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
mod custody;
mod data;
mod life;
mod links;
mod nodes;
mod workers;

use picklock_scenarios::BackendName;

pub use capabilities::{Capabilities, Refusal};
pub use custody::{Custody, Probe};
pub(crate) use data::keys_to_evict;
pub use data::{Data, DataChange, StockServer};
pub use life::Life;
pub use links::Links;
pub use nodes::{Clocks, Nodes, Replication, Sentinels};
pub use workers::{Session, Workers};

pub use crate::wire::Shortage;

/// One backend: workers, nodes, and the links between them.
pub trait Backend:
    Workers
    + Links
    + Nodes
    + Replication
    + Sentinels
    + Clocks
    + Data
    + Custody
    + StockServer
    + Probe
    + Life
    + 'static
{
    /// Which backend it is.
    fn name(&self) -> BackendName;

    /// What it can do in this run. It is asked when the workers have been started, and before the
    /// first of them takes the lock: it may try things out that leave no trace.
    async fn capabilities(&self) -> Capabilities;

    /// What the harness itself could not do since this was last asked. A simulation does not run out of
    /// anything.
    fn take_shortages(&self) -> Vec<Shortage> {
        Vec::new()
    }
}
