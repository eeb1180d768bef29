//! A hunt: random plans, guided by new patterns.
//!
//! Plans are generated and run in generations, and the results of a generation are evaluated in the order of the plans,
//! so that a hunt does not depend on the number of threads. If the run of a plan shows a [pattern](super::novelty) for
//! the first time, the plan is remembered. Half of the later plans are mutations of remembered plans.

use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::Scenario;

use super::attempt::{Keep, PlanResult, run_plans};
use super::fault_model::Group;
use super::generate::Draw;
use super::novelty::Memory;
use super::plan::{Plan, Target};
use super::share::share;
use super::sweep::{Progress, SearchResult};
use crate::counterexamples::ViolationFilter;

/// Number of plans in a generation.
const GENERATION: u64 = 128;
/// Number of plans that a thread runs in one batch.
const CHUNK: usize = 16;

/// The settings of a hunt.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// The lock under test.
    pub target: Target,
    /// The servers, and the part of the workload that is not generated.
    pub base: Scenario,
    /// Seed from which the plans are generated.
    pub seed: u64,
    /// The groups of faults.
    pub groups: Vec<Group>,
    /// Which violations count as counterexamples.
    pub wanted: ViolationFilter,
    /// Maximum number of plans, or `None` to continue until stopped.
    pub runs: Option<u64>,
    /// Whether to draw plans uniformly, without bias and memory, for comparison.
    pub uniform: bool,
    /// Number of the shard, starting at 1, and the total number of shards. Each shard has its own memory.
    pub shard: (u64, u64),
}

impl Hunt {
    /// Tries plans on `threads` threads, until the maximum is reached or `stop` is set. Calls
    /// `on_progress` after each generation. Returns the result and the number of distinct patterns.
    pub fn run(
        &self,
        threads: usize,
        stop: &AtomicBool,
        on_progress: impl FnMut(&Progress<'_>),
    ) -> (SearchResult, u64) {
        let (outcome, patterns, _) = self.run_from(0, threads, stop, on_progress);
        (outcome, patterns)
    }

    /// Like [`Hunt::run`], but continues a hunt that was stopped before the plan with number `from`. Also returns the
    /// number of the plan with which the hunt can be continued again. The memory of the earlier runs is lost.
    pub fn run_from(
        &self,
        first: u64,
        threads: usize,
        stop: &AtomicBool,
        mut on_progress: impl FnMut(&Progress<'_>),
    ) -> (SearchResult, u64, u64) {
        let (mut memory, mut next) = (Memory::default(), first);
        let mut outcome = SearchResult {
            complete: true,
            ..SearchResult::default()
        };
        let draw = Draw {
            lock: &self.target.spec,
            base: &self.base,
            groups: &self.groups,
            seed: self.seed,
            uniform: self.uniform,
            shard: self.shard,
        };
        let max = self.runs.map(|runs| self.own_part(runs));
        while max.is_none_or(|max| next < max) && !stop.load(Ordering::Relaxed) {
            let end = max.unwrap_or(u64::MAX).min(next + GENERATION);
            let plans: Vec<(u64, Plan)> = (next..end)
                .map(|number| (number, draw.plan(number, &memory)))
                .collect();
            let results = self.run_generation(&plans, threads, stop);
            for (number, plan, result) in results {
                let place = (plan.scenario.faults.len(), vec![number]);
                outcome.add(&plan, &place, result.as_ref());
                // If a fault did not fire, the run equals the run of a smaller plan, so the plan is not remembered.
                if let Some(result) = result.filter(|result| !result.missed) {
                    memory.add(plan, &result.features);
                }
            }
            next = end;
            on_progress(&Progress {
                schedules: outcome.schedules,
                done: max.map(|max| next as f64 / max as f64),
                counterexamples: &outcome.counterexamples,
            });
        }
        outcome.complete = max.is_some_and(|max| next >= max);
        (outcome, memory.patterns(), next)
    }

    /// Returns how many of `runs` plans belong to this shard.
    fn own_part(&self, runs: u64) -> u64 {
        let (shard, shards) = self.shard;
        runs / shards + u64::from(runs % shards >= shard)
    }

    fn run_generation(
        &self,
        plans: &[(u64, Plan)],
        threads: usize,
        stop: &AtomicBool,
    ) -> Vec<(u64, Plan, Option<PlanResult>)> {
        let mut results = Vec::new();
        let work = |chunk: &[(u64, Plan)]| {
            let only: Vec<Plan> = chunk.iter().map(|(_, plan)| plan.clone()).collect();
            let results = run_plans(&self.target, &self.wanted, &only, Keep::Features);
            let numbers = chunk.iter().map(|(number, _)| *number);
            numbers
                .zip(only)
                .zip(results)
                .map(|((number, plan), result)| (number, plan, result))
                .collect::<Vec<_>>()
        };
        share(plans.chunks(CHUNK), threads, stop, work, |part| {
            results.extend(part);
        });
        results.sort_by_key(|(number, ..)| *number);
        results
    }
}
