//! Families of scenarios: what kind of thing goes wrong.
//!
//! It follows from the faults of a scenario, or from its workload if it has none; never from a name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Capability;
use crate::lease_duration::LeaseDuration;
use crate::scenario::Scenario;
use crate::string_enum::words;

words! {
    /// What goes wrong in a scenario, in the order of reports.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Family {
        /// Nothing but the load itself.
        Load = "load",
        /// Clients freeze, die, fail, work for longer than their lease, or use the resource without the lock.
        Clients = "clients",
        /// Servers stop, restart, fail over, or lose data.
        Nodes = "nodes",
        /// Commands and replies are late or lost, or connections break.
        Network = "network",
        /// Wall clocks jump, or are wrong.
        Clocks = "clocks",
    }
}

impl Family {
    /// The family of a fault that needs this of the backend.
    fn of_capability(capability: Capability) -> Family {
        match capability {
            Capability::Workers => Family::Clients,
            Capability::PauseNodes
            | Capability::CrashNodes
            | Capability::Replication
            | Capability::Sentinels
            | Capability::Data => Family::Nodes,
            Capability::Links => Family::Network,
            Capability::WorkerClocks | Capability::NodeClocks => Family::Clocks,
        }
    }

    /// Where a scenario has faults of several families, the first of these is its own: a late command or a
    /// frozen client often only prepares the moment for the fault that the scenario is about.
    const BY_WEIGHT: [Family; 4] = [
        Family::Clocks,
        Family::Nodes,
        Family::Clients,
        Family::Network,
    ];
}

impl Scenario {
    /// What goes wrong in it.
    pub fn family(&self) -> Family {
        let needs = self.faults.iter().flat_map(|fault| fault.needs());
        let of_faults: Vec<Family> = needs.map(Family::of_capability).collect();
        let mut by_weight = Family::BY_WEIGHT.into_iter();
        let of_faults = by_weight.find(|family| of_faults.contains(family));
        let affects_stock = self.faults.iter().any(|one| one.stock_fault().is_some());
        let fails = self.workload.failing_sections > 0 || self.workload.ending_clients > 0;
        match of_faults {
            Some(family) => family,
            None if affects_stock || fails || self.works_past_its_lease() => Family::Clients,
            None => Family::Load,
        }
    }

    /// True if the work takes longer than the lease that is asked for.
    fn works_past_its_lease(&self) -> bool {
        let lease = match self.workload.ttl {
            LeaseDuration::Absolute(lease) => lease,
            // Refused by the parser.
            LeaseDuration::Ttl(_) => Duration::MAX,
        };
        self.workload.section.resolve(lease) > lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    fn family_of(name: &str) -> Family {
        catalog::named(name).unwrap().family()
    }

    #[test]
    fn family_follows_from_the_faults_else_from_the_workload() {
        let known = [
            ("calm", Family::Load),
            ("flash-sale", Family::Load),
            ("gc-pause", Family::Clients),
            ("slow-section", Family::Clients),
            ("failing-section", Family::Clients),
            ("ended-client", Family::Clients),
            ("master-failover", Family::Nodes),
            ("eviction", Family::Nodes),
            ("late-reply", Family::Network),
            ("split-vote", Family::Network),
            ("clock-jump-quorum", Family::Clocks),
        ];
        for (name, family) in known {
            assert_eq!(family_of(name), family, "{name}");
        }
    }

    #[test]
    fn catalog_has_several_scenarios_of_every_family() {
        for family in Family::ALL {
            let same = catalog::names().filter(|name| family_of(name) == family);
            assert!(same.count() >= 4, "{}", family.as_str());
        }
    }
}
