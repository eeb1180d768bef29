//! Searches from a test, for faults that break your own lock.

use std::sync::atomic::AtomicBool;

use picklock_scenarios::Scenario;

use super::error::TrialError;
use super::outcome::TrialRun;
use crate::check::{Cause, Property};
use crate::run::RunFailure;
use crate::search::{
    CounterexampleGroup, Effort, Hunt, Plan, SearchResult, Sweep, SweepError, Target,
    ViolationFilter, fault_model, shrink_all, workload,
};
use crate::sim::run as simulate;

const EFFORT: Effort = Effort {
    runs: 1_000,
    signatures: 3,
};

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Searched {
    lock: String,
    /// Number of runs that were made and judged.
    pub schedules: u64,
    /// Whether a sweep has tried every placement.
    pub exhaustive: bool,
    /// The shrunk counterexamples, the simplest first.
    pub counterexamples: Vec<Found>,
}

/// A counterexample.
#[derive(Debug, Clone)]
pub struct Found {
    /// The violated property.
    pub property: Property,
    /// The cause of the violation.
    pub cause: Cause,
    /// The smallest scenario that shows the violation.
    pub scenario: Scenario,
    /// The run of that scenario.
    pub run: TrialRun,
}

impl Searched {
    /// Asserts that the search found no counterexample to the property.
    ///
    /// # Panics
    /// Panics if it found one. The message contains the story and the faults.
    #[track_caller]
    pub fn assert_nothing_against(&self, property: Property) {
        let mut matching = self
            .counterexamples
            .iter()
            .filter(|violation| violation.property == property);
        if let Some(found) = matching.next() {
            let faults = found.scenario.faults.iter();
            let faults: Vec<String> = faults.map(|fault| fault.sentence()).collect();
            panic!(
                "`{}`: {property} is violated ({}), found in {} schedules\n  {}\n\n{}",
                self.lock,
                found.cause,
                self.schedules,
                faults.join("\n  "),
                found.run.verdicts[&property].story.join("\n")
            );
        }
    }
}

/// Sweeps the workload of `base`. See [`Trial::sweep`](super::Trial::sweep).
pub(super) fn sweep(
    target: Target,
    base: Scenario,
    seed: u64,
    depth: usize,
) -> Result<Searched, TrialError> {
    let sweep = Sweep {
        target,
        base: workload::without_faults(base),
        seed,
        depth,
        groups: fault_model::Group::ALL.to_vec(),
        wanted: ViolationFilter::default(),
        shard: (1, 1),
    };
    let never = AtomicBool::new(false);
    let outcome = sweep.run(threads(), &never, |_| ())?;
    searched(&sweep.target, outcome, true)
}

/// Hunts on the servers of `base`. See [`Trial::hunt`](super::Trial::hunt).
pub(super) fn hunt(
    target: Target,
    base: Scenario,
    seed: u64,
    runs: u64,
) -> Result<Searched, TrialError> {
    let topology = base.topology.clone();
    let base = if base.workload.schedule.is_some() {
        workload::without_faults(base)
    } else {
        workload::for_lock(workload::for_hunts(&[])?, &target.spec)
    };
    let hunt = Hunt {
        base: Scenario { topology, ..base },
        target,
        seed,
        groups: fault_model::Group::ALL.to_vec(),
        wanted: ViolationFilter::default(),
        runs: Some(runs),
        uniform: false,
        shard: (1, 1),
    };
    let never = AtomicBool::new(false);
    let (outcome, _) = hunt.run(threads(), &never, |_| ());
    searched(&hunt.target, outcome, false)
}

fn searched(
    target: &Target,
    outcome: SearchResult,
    can_be_exhaustive: bool,
) -> Result<Searched, TrialError> {
    let never = AtomicBool::new(false);
    let groups = shrink_all(target, outcome.counterexamples, EFFORT, threads(), &never);
    Ok(Searched {
        lock: target.lock.spec().name.clone(),
        schedules: outcome.schedules,
        exhaustive: can_be_exhaustive && outcome.complete && outcome.stuck == 0,
        counterexamples: found(target, groups)?,
    })
}

fn found(target: &Target, groups: Vec<CounterexampleGroup>) -> Result<Vec<Found>, TrialError> {
    let found = groups.into_iter().map(|group| {
        let Plan { scenario, seed } = group.plan.clone();
        let lost = || TrialError::Sweep(SweepError::NoRun);
        let simulation = target.simulation(&group.plan, false).ok_or_else(lost)?;
        let result = simulate(simulation).map_err(RunFailure::from);
        Ok(Found {
            property: group.violation.property,
            cause: group.violation.cause,
            scenario,
            run: TrialRun::new(seed, result)?,
        })
    });
    found.collect()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
