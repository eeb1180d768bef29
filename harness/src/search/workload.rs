//! The workloads of a sweep: small, and without faults.

use std::time::Duration;

use picklock_scenarios::{
    LeaseDuration, LockKind, Property, Scenario, ScenarioError, Update, Workload, WorkloadKind,
};

use crate::spec::LockSpec;

/// The workloads by name, simplest first. To add one, write a file in `workloads/` and add a line here.
const WORKLOADS: [(&str, &str); 6] = [
    ("short", include_str!("workloads/short.toml")),
    ("held", include_str!("workloads/held.toml")),
    ("extend", include_str!("workloads/extend.toml")),
    ("keys", include_str!("workloads/keys.toml")),
    ("waiting", include_str!("workloads/waiting.toml")),
    ("ticks", TICKS),
];

const TICKS: &str = include_str!("workloads/ticks.toml");

/// Returns the names of the workloads, simplest first.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name)
}

/// Returns the workload with this name, or `None` if it does not exist.
///
/// # Errors
/// Returns an error if its file is invalid, which a test excludes.
pub fn named(name: &str) -> Option<Result<Scenario, ScenarioError>> {
    let (name, text) = WORKLOADS.iter().find(|(workload, _)| *workload == name)?;
    Some(Scenario::parse(text, name))
}

/// Returns the part of the workload that a hunt does not generate. Only jobs that run at ticks can violate `once`, so a
/// hunt for only that property has a schedule.
///
/// # Errors
/// Returns an error if its file is invalid, which a test excludes.
pub fn for_hunts(properties: &[Property]) -> Result<Scenario, ScenarioError> {
    if properties == [Property::Once] {
        return Scenario::parse(TICKS, "ticks");
    }
    Scenario::parse(include_str!("workloads/hunt.toml"), "hunt")
}

/// Returns a workload as it is run with this lock: a semaphore gets two permits, an additional client, and a stock that
/// several clients may change. A read/write lock gets an additional reader, and values that are overwritten.
#[must_use]
pub fn for_lock(mut scenario: Scenario, lock: &LockSpec) -> Scenario {
    let workload = &mut scenario.workload;
    match lock.kind {
        Some(kind) if kind == workload.kind.lock_kind() => {}
        None | Some(LockKind::Mutex) => {}
        Some(LockKind::Semaphore) => {
            workload.kind = WorkloadKind::Permits;
            workload.schedule = None;
            workload.capacity = 2;
            workload.workers += 1;
            workload.update = Update::Decrement;
        }
        Some(LockKind::Rwlock) => {
            workload.kind = WorkloadKind::ReadWrite;
            workload.schedule = None;
            workload.purchases = None;
            workload.workers += 1;
            workload.update = Update::Write;
        }
        Some(LockKind::Leader) => lead(workload),
    }
    scenario
}

/// Changes a workload so that each client leads for a term, with as many acts as fit into it.
fn lead(workload: &mut Workload) {
    workload.kind = WorkloadKind::Leader;
    workload.update = Update::Write;
    workload.act_every = Some(LeaseDuration::Ttl(0.2));
    let is_long = workload.section.resolve(Duration::from_secs(1)) >= Duration::from_millis(400);
    if !is_long {
        workload.section = LeaseDuration::Ttl(0.8);
    }
    // A term also ends when the stock is empty, so the stock must suffice for several terms.
    workload.stock = workload.stock.max(3) * 4;
    (workload.purchases, workload.extend) = (None, None);
}

/// Returns the servers and the workload of a scenario, without its faults and expectations.
#[must_use]
pub fn without_faults(scenario: Scenario) -> Scenario {
    Scenario {
        faults: Vec::new(),
        expect: std::collections::BTreeMap::new(),
        ..scenario
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_valid_and_has_no_fault() {
        for name in names() {
            let scenario = named(name).unwrap().unwrap();
            assert_eq!((scenario.name.as_str(), scenario.faults.len()), (name, 0));
        }
        assert_eq!(for_hunts(&[]).unwrap().faults.len(), 0);
        let jobs = for_hunts(&[Property::Once]).unwrap();
        assert_eq!(jobs.workload.kind, WorkloadKind::Ticks);
    }
}
