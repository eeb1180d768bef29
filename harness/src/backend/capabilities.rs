//! Capabilities of a backend, which it declares before the clients start, and the reasons for which it refuses an
//! operation.

use std::collections::BTreeMap;

use picklock_scenarios::{BackendName, Capability, FaultPlan, Scenario};

use crate::external_servers::NOT_OURS;

/// The set of operations that a backend supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    backend: BackendName,
    /// The unsupported capabilities, each with the reason.
    lacking: BTreeMap<Capability, String>,
}

impl Capabilities {
    /// Returns the maximum capabilities of the backend called `backend`.
    pub fn for_backend(backend: BackendName) -> Self {
        let mut capabilities = Capabilities {
            backend,
            lacking: BTreeMap::new(),
        };
        if backend == BackendName::Sim {
            capabilities.lacks(Capability::Sentinels, "the simulation has no Sentinels");
        }
        if backend == BackendName::External {
            let server_capabilities = [
                Capability::PauseNodes,
                Capability::CrashNodes,
                Capability::Replication,
                Capability::Sentinels,
                Capability::Data,
                Capability::NodeClocks,
            ];
            for capability in server_capabilities {
                capabilities.lacks(capability, NOT_OURS);
            }
        }
        capabilities
    }

    /// Marks a capability as unsupported. The first reason is kept.
    pub fn lacks(&mut self, capability: Capability, why: impl Into<String>) {
        self.lacking.entry(capability).or_insert(why.into());
    }

    /// Checks that the backend can apply a fault.
    ///
    /// # Errors
    /// Returns [`Refusal::Unable`] with the first unsupported capability that the fault needs.
    pub fn offer(&self, fault: &FaultPlan) -> Result<(), Refusal> {
        let lacking = |need| self.lacking.get(&need);
        match fault.needs().into_iter().find_map(lacking) {
            None => Ok(()),
            Some(why) => Err(Refusal::Unable {
                backend: self.backend,
                what: why.clone(),
            }),
        }
    }

    /// Checks that the backend can apply every fault of a scenario that is not optional.
    ///
    /// # Errors
    /// Returns an error for the first fault that the backend cannot apply.
    pub fn offer_all(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let mut faults = scenario.faults.iter().filter(|fault| !fault.optional);
        faults.try_for_each(|fault| self.offer(fault))
    }

    /// Returns `true` if the backend depends on a machine that can stall. Virtual time cannot stall.
    pub fn can_stall(&self) -> bool {
        self.backend != BackendName::Sim
    }
}

/// The reason why a backend did not carry out an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The backend lacks the capability. The run is inconclusive unless the fault is optional.
    #[error("the {backend} backend cannot do this: {what}")]
    Unable {
        /// Name of the backend.
        backend: BackendName,
        /// The missing capability.
        what: String,
    },
    /// An operation that the backend supports has failed.
    #[error("{0}")]
    Failed(String),
    /// The lock does not accept Sentinel addresses; contains its own error message.
    #[error("the lock does not accept Sentinel addresses: {0}")]
    NoSentinels(String),
    /// The Sentinels did not fail a node over in time.
    #[error("{0}")]
    NoFailover(String),
}
