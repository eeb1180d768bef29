//! Plans: the input of one run of a search.
//!
//! A plan is a small workload with a list of faults. Each fault has its own injection point and is valid without the
//! others, so a plan with any subset of the faults is valid, too.

use picklock_scenarios::{FaultKind, FaultPlan, LeaseDuration, Scenario};

use crate::lock_factory::LockFactory;
use crate::sim::Simulation;
use crate::spec::{LockSpec, RunSpec, ServerChoice};

/// One run of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Servers, workload and faults.
    pub scenario: Scenario,
    /// Seed of tokens, delays and choices.
    pub seed: u64,
}

impl Plan {
    /// Returns the plan with one more fault.
    #[must_use]
    pub fn with(&self, fault: FaultPlan) -> Plan {
        let mut plan = self.clone();
        plan.scenario.faults.push(fault);
        plan
    }

    /// Returns the plan without one of its faults.
    #[must_use]
    pub fn without(&self, fault: usize) -> Plan {
        let mut plan = self.clone();
        plan.scenario.faults.remove(fault);
        plan
    }

    /// Returns the plan with one fault replaced.
    #[must_use]
    pub fn replacing(&self, fault: usize, by: FaultPlan) -> Plan {
        let mut plan = self.clone();
        plan.scenario.faults[fault] = by;
        plan
    }

    /// Returns the plan with a network in which each message takes 3 % of the lease. Clients whose commands must
    /// interleave then meet more often.
    #[must_use]
    pub fn with_late_messages(&self) -> Plan {
        let mut plan = self.with(FaultPlan {
            at: Some(LeaseDuration::ZERO),
            by: Some(LeaseDuration::Ttl(0.03).into()),
            ..FaultPlan::new(FaultKind::Delay)
        });
        // A scenario of the catalog with another fault is no longer that scenario.
        plan.scenario.name.push_str("-late-messages");
        plan.scenario.expect.clear();
        plan
    }

    /// Returns the kinds of the plan's faults and of their injection points, such as `pause-client at reply SET during
    /// acquire`, sorted.
    pub fn signature(&self) -> Vec<String> {
        let affects = self.affects();
        let mut signature: Vec<String> = affects
            .map(|(kind, at)| format!("{kind} at {at}"))
            .collect();
        signature.sort();
        signature
    }

    /// Returns the kind of each fault, and the kind of its injection point, such as `reply SET during acquire`.
    pub(super) fn affects(&self) -> impl Iterator<Item = (&'static str, String)> {
        let faults = self.scenario.faults.iter();
        faults.map(|fault| (fault.kind.as_str(), describe_trigger(fault)))
    }
}

fn describe_trigger(fault: &FaultPlan) -> String {
    let Some(when) = &fault.when else {
        return "a time".to_owned();
    };
    let mut words = when.on.as_str().to_owned();
    if let Some(command) = &when.command {
        words.push_str(&format!(" {command}"));
    }
    if let Some(phase) = when.during {
        words.push_str(&format!(" during {}", phase.as_str()));
    }
    words
}

/// The lock that a search tries to break.
#[derive(Debug, Clone)]
pub struct Target {
    /// The lock's code.
    pub lock: LockFactory,
    /// The lock's part of a specification.
    pub spec: LockSpec,
    /// The servers that are modelled.
    pub servers: ServerChoice,
}

impl Target {
    /// Creates a target for a lock with its default options, on the default server.
    pub fn new(lock: LockFactory) -> Target {
        Target {
            spec: lock.spec().clone(),
            servers: ServerChoice::default(),
            lock,
        }
    }

    /// Returns the number of nodes in a run of this scenario.
    pub fn nodes(&self, scenario: &Scenario) -> usize {
        scenario.topology.nodes.unwrap_or(self.spec.nodes)
    }

    /// Returns the specification of a plan's run, or `None` if the plan does not fit the lock.
    pub fn run_spec(&self, plan: &Plan) -> Option<RunSpec> {
        let spec = RunSpec {
            servers: self.servers.clone(),
            ..RunSpec::simulated(self.spec.clone(), plan.scenario.clone(), plan.seed)
        };
        spec.resolved().ok()
    }

    /// Returns the simulation of a plan, or `None` if the plan does not fit the lock.
    pub(crate) fn simulation(&self, plan: &Plan, logs_commands: bool) -> Option<Simulation> {
        Some(Simulation {
            spec: self.run_spec(plan)?,
            lock: self.lock.clone(),
            logs_commands,
        })
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::catalog;

    use super::*;

    #[test]
    fn late_messages_keep_every_scenario_valid() {
        for name in catalog::names() {
            let scenario = catalog::named(name).unwrap();
            let nodes = scenario.topology.nodes.unwrap_or(5);
            let plan = Plan { scenario, seed: 1 };
            let late = plan.with_late_messages();
            assert_eq!(late.scenario.check_for(nodes), Ok(()), "{name}");
            assert!(late.scenario.expect.is_empty() && late.scenario.name != name);
            assert_eq!(
                late.without(plan.scenario.faults.len()).signature(),
                plan.signature()
            );
        }
    }
}
