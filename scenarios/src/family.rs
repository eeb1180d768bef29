//! Families of scenarios: the kind of problem that a scenario is about.
//!
//! The family is derived from a scenario's faults, or from its workload if it has none, and never from its name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Capability;
use crate::lease_duration::LeaseDuration;
use crate::scenario::Scenario;
use crate::string_enum::string_enum;

string_enum! {
    /// The kind of problem that a scenario is about, in the order of reports.
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
    /// Returns the family of a fault that needs this capability.
    fn from_capability(capability: Capability) -> Family {
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

    /// Families in the order of precedence. If a scenario has faults of several families, the first of them counts,
    /// because a delayed command or a frozen client often only prepares the scenario's main fault.
    const PRECEDENCE: [Family; 4] = [
        Family::Clocks,
        Family::Nodes,
        Family::Clients,
        Family::Network,
    ];
}

impl Scenario {
    /// Returns the kind of problem that the scenario is about.
    pub fn family(&self) -> Family {
        let needs = self.faults.iter().flat_map(|fault| fault.needs());
        let fault_families: Vec<Family> = needs.map(Family::from_capability).collect();
        let mut precedence = Family::PRECEDENCE.into_iter();
        let main_family = precedence.find(|family| fault_families.contains(family));
        let affects_stock = self.faults.iter().any(|one| one.stock_fault().is_some());
        let fails = self.workload.failing_sections > 0 || self.workload.ending_clients > 0;
        match main_family {
            Some(family) => family,
            None if affects_stock || fails || self.works_past_its_lease() => Family::Clients,
            None => Family::Load,
        }
    }

    /// Returns `true` if the work takes longer than the requested lease.
    fn works_past_its_lease(&self) -> bool {
        let lease = match self.workload.ttl {
            LeaseDuration::Absolute(lease) => lease,
            // The parser rejects this.
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
    fn family_follows_from_faults_or_else_from_workload() {
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
