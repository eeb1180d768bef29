//! What a backend can do, declared before the buyers begin, and why it did not do what it was asked to do.

use std::collections::BTreeMap;

use picklock_scenarios::{BackendName, Capability, FaultPlan, Scenario};

use crate::external_servers::NOT_OURS;

/// What a backend can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    backend: BackendName,
    /// What it cannot do, and why not.
    lacking: BTreeMap<Capability, String>,
}

impl Capabilities {
    /// What a backend of this name can do at best.
    pub fn for_backend(backend: BackendName) -> Self {
        let mut capabilities = Capabilities {
            backend,
            lacking: BTreeMap::new(),
        };
        if backend == BackendName::Sim {
            capabilities.lacks(Capability::Sentinels, "the simulation has no Sentinels");
        }
        if backend == BackendName::External {
            let of_servers = [
                Capability::PauseNodes,
                Capability::CrashNodes,
                Capability::Replication,
                Capability::Sentinels,
                Capability::Data,
                Capability::NodeClocks,
            ];
            for capability in of_servers {
                capabilities.lacks(capability, NOT_OURS);
            }
        }
        capabilities
    }

    /// The backend cannot do this. The first reason counts.
    pub fn lacks(&mut self, capability: Capability, why: impl Into<String>) {
        self.lacking.entry(capability).or_insert(why.into());
    }

    /// Whether the backend can apply a fault.
    ///
    /// # Errors
    /// [`Refusal::Unable`] names the first thing that it lacks.
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

    /// Why a scenario asks for something that the backend cannot do, and that is not optional there.
    ///
    /// # Errors
    /// The first such fault is refused.
    pub fn offer_all(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let mut faults = scenario.faults.iter().filter(|fault| !fault.optional);
        faults.try_for_each(|fault| self.offer(fault))
    }

    /// True in a backend whose machine may stop everything for a while. Virtual time cannot.
    pub fn can_stall(&self) -> bool {
        self.backend != BackendName::Sim
    }
}

/// Why a backend did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This backend lacks the capability. The run cannot be judged, unless the fault is optional.
    #[error("the {backend} backend cannot do this: {what}")]
    Unable {
        /// The backend.
        backend: BackendName,
        /// What it lacks.
        what: String,
    },
    /// It should have worked, and did not.
    #[error("{0}")]
    Failed(String),
    /// The lock does not begin with Sentinels in place of its nodes, in its own words.
    #[error("it knows no Sentinels: {0}")]
    NoSentinels(String),
    /// The Sentinels were to fail a node over, and did not in time.
    #[error("{0}")]
    NoFailover(String),
}
