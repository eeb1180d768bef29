//! A sweep: every placement of up to `depth` faults, in order.
//!
//! The plans form a tree. Its root is the run without faults. The children of a plan have one more fault, at an
//! injection point of that plan's own run. The [module](super) explains what is pruned, and why that is safe.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::{Property, Scenario};

use super::attempt::{Keep, PlanResult, run_plan, run_plans};
use super::fault_model::{FaultModel, Group};
use super::injection_points::{InjectionPoint, since_last_fired};
use super::plan::{Plan, Target};
use super::share::share;
use super::{CounterexampleGroup, Counterexamples};
use crate::counterexamples::{Place, Violation, ViolationFilter};

/// Number of plans that a thread runs in one batch. Starting a thread costs more than a small run.
const CHUNK: usize = 64;

/// The settings of a sweep.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The lock under test.
    pub target: Target,
    /// Servers and workload, without faults.
    pub base: Scenario,
    /// Seed of every run.
    pub seed: u64,
    /// Maximum number of faults in a plan.
    pub depth: usize,
    /// The groups of faults.
    pub groups: Vec<Group>,
    /// Which violations count as counterexamples.
    pub wanted: ViolationFilter,
    /// Number of the shard, starting at 1, and the total number of shards.
    pub shard: (u64, u64),
}

/// The progress of a search.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Number of runs so far.
    pub schedules: u64,
    /// Approximate fraction of the work that is done, from 0 to 1, or `None` if the total is unknown.
    pub done: Option<f64>,
    /// The counterexamples so far.
    pub counterexamples: &'a Counterexamples,
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchResult {
    /// Number of runs that were made and judged.
    pub schedules: u64,
    /// Number of runs with a counterexample.
    pub violations: u64,
    /// Number of injection points in the run without faults.
    pub injection_points: u64,
    /// Number of placements of the first fault.
    pub placements: u64,
    /// Number of plans that were not run because another plan has the same run.
    pub pruned: u64,
    /// Number of runs in which a fault did not fire.
    pub missed: u64,
    /// For each kind of fault at each kind of injection point, the number of runs, and the number of runs with a
    /// counterexample.
    pub placed: BTreeMap<(String, &'static str), (u64, u64)>,
    /// Number of runs in which each property was inconclusive.
    pub inconclusive: BTreeMap<Property, u64>,
    /// Number of runs with each violation that does not count because every lock on such servers shows it.
    pub unavoidable: BTreeMap<Violation, u64>,
    /// Number of plans whose simulation did not end.
    pub stuck: u64,
    /// Whether the whole search was completed.
    pub complete: bool,
    /// The counterexamples.
    pub counterexamples: Counterexamples,
}

impl SearchResult {
    /// Counts a run. `place` is the position of its plan in the order of the search. `result` is
    /// `None` if its simulation did not end.
    pub fn add(&mut self, plan: &Plan, place: &Place, result: Option<&PlanResult>) {
        let Some(result) = result else {
            self.stuck += 1;
            return;
        };
        self.schedules += 1;
        self.missed += u64::from(result.missed);
        for property in &result.inconclusive {
            *self.inconclusive.entry(*property).or_default() += 1;
        }
        for violation in &result.unavoidable {
            *self.unavoidable.entry(*violation).or_default() += 1;
        }
        let is_counterexample = !result.violations.is_empty();
        for (fault, trigger) in plan.affects() {
            let (schedules, counterexamples) = self.placed.entry((trigger, fault)).or_default();
            *schedules += 1;
            *counterexamples += u64::from(is_counterexample);
        }
        if is_counterexample {
            self.violations += 1;
            let signature = plan.signature();
            for violation in &result.violations {
                self.counterexamples.add(CounterexampleGroup {
                    violation: *violation,
                    signature: signature.clone(),
                    plan: plan.clone(),
                    place: place.clone(),
                    count: 1,
                    robust: false,
                    unshrunk: Vec::new(),
                    not_needed: Vec::new(),
                });
            }
        }
    }

    pub(super) fn append(&mut self, other: SearchResult) {
        self.schedules += other.schedules;
        self.violations += other.violations;
        self.pruned += other.pruned;
        self.missed += other.missed;
        self.stuck += other.stuck;
        self.complete &= other.complete;
        for (violation, count) in other.unavoidable {
            *self.unavoidable.entry(violation).or_default() += count;
        }
        for (property, count) in other.inconclusive {
            *self.inconclusive.entry(property).or_default() += count;
        }
        for (place, (schedules, counterexamples)) in other.placed {
            let sum = self.placed.entry(place).or_default();
            *sum = (sum.0 + schedules, sum.1 + counterexamples);
        }
        self.counterexamples.append(other.counterexamples);
    }
}

/// The reason why there is nothing to sweep.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The run without faults does not fit the lock, or its simulation produced no history.
    #[error("the run without faults cannot be simulated")]
    NoRun,
}

impl Sweep {
    /// Runs every plan of the shard on `threads` threads, until all are done or `stop` is set.
    /// Calls `on_progress` on this thread from time to time.
    ///
    /// # Errors
    /// Returns an error if the run without faults cannot be simulated.
    pub fn run(
        &self,
        threads: usize,
        stop: &AtomicBool,
        mut on_progress: impl FnMut(&Progress<'_>),
    ) -> Result<SearchResult, SweepError> {
        let root = Plan {
            scenario: self.base.clone(),
            seed: self.seed,
        };
        let result = run_plan(&self.target, &self.wanted, &root, Keep::InjectionPoints)
            .ok_or(SweepError::NoRun)?;
        let (shard, shards) = self.shard;
        let (first, _) = self.below(&root, &result.injection_points);
        let placements = first.len() as u64;
        let mut outcome = SearchResult {
            injection_points: result.injection_points.len() as u64,
            placements,
            complete: true,
            ..SearchResult::default()
        };
        if shard == 1 {
            outcome.add(&root, &(0, Vec::new()), Some(&result));
        }
        let own: Vec<(u64, Plan)> = (0..)
            .zip(first)
            .filter(|(number, _)| number % shards == shard - 1)
            .collect();
        let (own_plans, mut done) = (own.len(), 0);
        let work_of = |number: u64| self.work_below(placements - number);
        let all_work: f64 = own.iter().map(|(number, _)| work_of(*number)).sum();
        let mut work_done = 0.0;
        // At a depth above 1, each one-fault plan has thousands of plans below it, which is enough work for one batch.
        let size = if self.depth > 1 { 1 } else { CHUNK };
        let chunks: Vec<Vec<(u64, Plan)>> = own.chunks(size).map(<[_]>::to_vec).collect();
        let jobs = chunks.into_iter().filter(|_| self.depth > 0);
        let work = |chunk: Vec<(u64, Plan)>| {
            let numbers = chunk.iter().map(|(number, _)| *number);
            let (count, work) = (chunk.len(), numbers.map(work_of).sum::<f64>());
            let plans = chunk.into_iter();
            let plans = plans.map(|(number, plan)| (vec![number], plan));
            (count, work, self.explore(plans.collect(), 1, stop))
        };
        share(jobs, threads, stop, work, |(count, work, part)| {
            outcome.append(part);
            done += count;
            work_done += work;
            on_progress(&Progress {
                schedules: outcome.schedules,
                done: Some(work_done / all_work),
                counterexamples: &outcome.counterexamples,
            });
        });
        outcome.complete &= self.depth == 0 || done == own_plans;
        Ok(outcome)
    }

    /// Estimates the number of plans in the subtree of a one-fault plan, given the number of later injection points.
    fn work_below(&self, places: u64) -> f64 {
        let further = i32::try_from(self.depth.saturating_sub(1)).unwrap_or(i32::MAX);
        (places as f64).powi(further)
    }

    /// Runs plans with `depth` faults, and their subtrees.
    fn explore(
        &self,
        plans: Vec<(Vec<u64>, Plan)>,
        depth: usize,
        stop: &AtomicBool,
    ) -> SearchResult {
        let mut outcome = SearchResult {
            complete: true,
            ..SearchResult::default()
        };
        let is_last = depth == self.depth;
        let keep = if is_last {
            Keep::Nothing
        } else {
            Keep::InjectionPoints
        };
        for chunk in plans.chunks(CHUNK) {
            if stop.load(Ordering::Relaxed) {
                outcome.complete = false;
                return outcome;
            }
            let only: Vec<Plan> = chunk.iter().map(|(_, plan)| plan.clone()).collect();
            let results = run_plans(&self.target, &self.wanted, &only, keep);
            for ((path, plan), result) in chunk.iter().zip(results) {
                outcome.add(plan, &(depth, path.clone()), result.as_ref());
                // If the last fault did not fire, the run equals the run of the parent, and so do all plans below it.
                let Some(result) = result.filter(|result| !is_last && !result.missed) else {
                    continue;
                };
                let (below, pruned) = self.below(plan, &result.injection_points);
                outcome.pruned += pruned;
                let below = (0..).zip(below).map(|(number, plan)| {
                    let path = path.iter().copied().chain([number]).collect();
                    (path, plan)
                });
                outcome.append(self.explore(below.collect(), depth + 1, stop));
            }
        }
        outcome
    }

    /// Returns the plans with one more fault, at an injection point not before the last fired
    /// fault, and the number of pruned plans.
    fn below(&self, plan: &Plan, injection_points: &[InjectionPoint]) -> (Vec<Plan>, u64) {
        let fault_model = self.fault_model();
        let since = since_last_fired(injection_points);
        let (before, _) = injection_points.split_at(injection_points.len() - since.len());
        let at = |point: &InjectionPoint| fault_model.at(&point.trigger);
        let pruned = before.iter().map(|point| at(point).len() as u64).sum();
        let faults = since.iter().flat_map(at);
        (faults.map(|fault| plan.with(fault)).collect(), pruned)
    }

    /// Returns the faults that the sweep places.
    pub fn fault_model(&self) -> FaultModel {
        let nodes = self.target.nodes(&self.base);
        let replicas = self.target.spec.replicas.max(self.base.topology.replicas);
        let topology = picklock_scenarios::Topology {
            replicas,
            ..self.base.topology.clone()
        };
        FaultModel::new(&self.groups, nodes, &topology)
    }
}
