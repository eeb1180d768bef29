//! What a world can do, declared before the buyers begin.

use std::collections::BTreeMap;

use picklock_scenarios::{Capability, FaultPlan, WorldName};

use super::Refusal;

/// What a world can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    world: WorldName,
    /// What it cannot do, and why not.
    lacking: BTreeMap<Capability, String>,
}

impl Capabilities {
    /// What a world of this name can do at best.
    pub fn of(world: WorldName) -> Self {
        let mut capabilities = Capabilities {
            world,
            lacking: BTreeMap::new(),
        };
        if world == WorldName::Sim {
            capabilities.lacks(Capability::Sentinels, "the simulation has no Sentinels");
        }
        capabilities
    }

    /// The world cannot do this. The first reason counts.
    pub fn lacks(&mut self, capability: Capability, why: impl Into<String>) {
        self.lacking.entry(capability).or_insert(why.into());
    }

    /// Whether the world can apply a fault.
    ///
    /// # Errors
    /// [`Refusal::Unable`] names the first thing that it lacks.
    pub fn offer(&self, fault: &FaultPlan) -> Result<(), Refusal> {
        let lacking = |need| self.lacking.get(&need);
        match fault.needs().into_iter().find_map(lacking) {
            None => Ok(()),
            Some(why) => Err(Refusal::Unable {
                world: self.world,
                what: why.clone(),
            }),
        }
    }

    /// True in a world whose machine may stop everything for a while. Virtual time cannot.
    pub fn can_stall(&self) -> bool {
        self.world != WorldName::Sim
    }
}
