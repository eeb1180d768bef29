//! The interface of a backend. Driver and nemesis use a backend only through these traits, so they are the same for
//! every backend.
//!
//! There is one trait for each part of a backend, with the faults that this part offers. A backend lists the
//! capabilities that it lacks in its [`Capabilities`], which it declares before the clients start.

#![expect(
    async_fn_in_trait,
    reason = "driver, nemesis and backend run on one thread"
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
pub use key_history::{KeyObservation, MissingKeyHistory, Probe};
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
    + KeyObservation
    + StockServer
    + Probe
    + Liveness
    + 'static
{
    /// Returns the name of the backend.
    fn name(&self) -> BackendName;

    /// Returns the capabilities of the backend in this run. Called after the workers have been started and before the
    /// first of them takes the lock. The backend may try out operations, if this leaves no trace.
    async fn capabilities(&self) -> Capabilities;

    /// Returns the operations that the harness itself could not carry out since the last call. The default is for the
    /// simulation, which cannot run out of resources.
    fn take_incidents(&self) -> Vec<ProxyIncident> {
        Vec::new()
    }
}
