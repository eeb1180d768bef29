//! Examines many runs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use picklock_impls::{LOCKS, MUTANTS};
use picklock_scenarios::{BackendName, Scenario, catalog};
use picklock_verdicts::check::Cause;

use super::examine::{Examination, Outcome, Rule, examine};
use super::run::Case;
use crate::random_run::Dice;

/// The results of many examinations.
#[derive(Debug, Default)]
pub struct Study {
    /// Number of runs, violated or not.
    pub runs: u64,
    /// Number of runs with a violation.
    pub violated: u64,
    /// Number of violations by cause.
    pub causes: BTreeMap<Cause, u64>,
    /// Number of checks by cause, rule and outcome.
    pub checks: BTreeMap<(Cause, Rule, Outcome), u64>,
    /// For each cause and each kind of fault that it may need: in how many removals it was needed, and the number of
    /// removals.
    pub circumstances: BTreeMap<(Cause, &'static str), (u64, u64)>,
    /// Number of checks in which a lock's own mistake would have had the effect of the named fault, by lock, cause, and
    /// cause without the fault.
    pub preempted: BTreeMap<(&'static str, Cause, Cause), u64>,
    /// Descriptions of the disagreements, sorted.
    pub disagreements: Vec<String>,
    /// Number of removals that changed the run before their fault fired.
    pub too_early: u64,
}

/// Returns every lock and mutant in every scenario of the catalog that can be simulated, with seed 1.
///
/// # Panics
/// Panics if a scenario of the catalog cannot be read.
pub fn every_lock_in_the_catalog() -> impl Iterator<Item = Case> {
    let all = catalog::names()
        .map(|name| catalog::named(name).unwrap_or_else(|error| panic!("catalog/{name}: {error}")));
    let simulated: Vec<Scenario> = all
        .filter(|scenario| scenario.runs_in(BackendName::Sim))
        .collect();
    LOCKS.iter().chain(MUTANTS).flat_map(move |lock| {
        let scenarios = simulated.clone().into_iter();
        scenarios.map(move |scenario| Case::new(lock, scenario, 1))
    })
}

/// Returns an endless sequence of random cases.
pub fn drawn(seed: u64) -> impl Iterator<Item = Case> {
    let mut dice = Dice::new(seed);
    std::iter::repeat_with(move || {
        let (lock, scenario, seed) = dice.draw();
        Case::new(lock, scenario, seed)
    })
}

/// Examines cases on `threads` threads until there are no more, or until `max` runs had violations.
pub fn study(cases: impl Iterator<Item = Case> + Send, max: u64, threads: usize) -> Study {
    let cases = Mutex::new(cases);
    let study = Mutex::new(Study::default());
    let next = || {
        let is_done = study.lock().map_or(true, |study| study.violated >= max);
        let case = || cases.lock().ok()?.next();
        (!is_done).then(case).flatten()
    };
    let work = || {
        while let Some(case) = next() {
            if let (Some(examination), Ok(mut study)) = (examine(&case), study.lock()) {
                study.add(examination);
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut study = study.into_inner().unwrap_or_default();
    study.disagreements.sort();
    study
}

impl Study {
    fn add(&mut self, examination: Examination) {
        self.runs += 1;
        self.violated += u64::from(!examination.causes.is_empty());
        self.too_early += examination.too_early;
        for cause in examination.causes {
            *self.causes.entry(cause).or_default() += 1;
        }
        for check in examination.checks {
            let key = (check.cause, check.rule, check.outcome);
            *self.checks.entry(key).or_default() += 1;
            if check.outcome == Outcome::Disagreement {
                self.disagreements.push(check.text);
            }
        }
        for one in examination.preempted {
            *self.preempted.entry(one).or_default() += 1;
        }
        for one in examination.circumstances {
            let key = (one.cause, one.kind.as_str());
            let (needed, tried) = self.circumstances.entry(key).or_default();
            *needed += u64::from(one.was_needed);
            *tried += 1;
        }
    }

    /// Adds the results of another study.
    #[must_use]
    pub fn and(mut self, other: Study) -> Study {
        self.runs += other.runs;
        self.violated += other.violated;
        self.too_early += other.too_early;
        for (cause, count) in other.causes {
            *self.causes.entry(cause).or_default() += count;
        }
        for (key, count) in other.checks {
            *self.checks.entry(key).or_default() += count;
        }
        for (key, count) in other.preempted {
            *self.preempted.entry(key).or_default() += count;
        }
        for (key, (needed, tried)) in other.circumstances {
            let sum = self.circumstances.entry(key).or_default();
            *sum = (sum.0 + needed, sum.1 + tried);
        }
        self.disagreements.extend(other.disagreements);
        self
    }

    /// Returns how often a check of a cause had these outcomes, for any rule.
    pub fn count(&self, cause: Cause, outcome: Outcome) -> u64 {
        let all = self.checks.iter();
        let these = all.filter(|((it, _, out), _)| *it == cause && *out == outcome);
        these.map(|(_, count)| count).sum()
    }
}
