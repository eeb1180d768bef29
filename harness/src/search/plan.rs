//! Plans: the input of one run of a search.
//!
//! A plan is a small workload with a list of faults. Each fault has its own injection point and is valid without the
//! others, so a plan with any subset of the faults is valid, too.

use picklock_scenarios::{FaultPlan, Scenario};

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
