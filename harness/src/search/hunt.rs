//! A hunt: random plans, steered by what is new.
//!
//! Plans are made and run in generations, and what a generation has shown is looked at in the order of its numbers, so
//! that a hunt does not depend on the number of threads. A plan whose run shows a [pattern](super::novelty) for the
//! first time is kept, and half of the later plans differ from a kept one in one thing.

use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::Scenario;

use super::attempt::{Keep, Shown, show};
use super::fault_model::Group;
use super::generate::Draw;
use super::novelty::Memory;
use super::plan::{Plan, Target};
use super::share::share;
use super::sweep::{Progress, Tried};
use crate::counterexamples::ViolationFilter;

/// Plans in a generation, and how many of them a thread runs at a time.
const GENERATION: u64 = 128;
const CHUNK: usize = 16;

/// What is hunted.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// The lock.
    pub target: Target,
    /// Servers, and what of the workload is not drawn.
    pub base: Scenario,
    /// What the plans are drawn from.
    pub seed: u64,
    /// The groups of faults.
    pub groups: Vec<Group>,
    /// What counts as a find.
    pub wanted: ViolationFilter,
    /// The most plans; `None`: until it is stopped.
    pub runs: Option<u64>,
    /// Without bias and memory, to compare with.
    pub uniform: bool,
    /// Which part of the plans, counted from 1, of how many. Each part has a memory of its own.
    pub shard: (u64, u64),
}

impl Hunt {
    /// Tries plans, so many at a time, until there were enough or `stop` is set. `tell` is called after each generation.
    /// Returns what was tried, and how many patterns that has shown.
    pub fn run(
        &self,
        threads: usize,
        stop: &AtomicBool,
        mut tell: impl FnMut(&Progress<'_>),
    ) -> (Tried, u64) {
        let (mut memory, mut next) = (Memory::default(), 0);
        let mut tried = Tried {
            complete: true,
            ..Tried::default()
        };
        let draw = Draw {
            lock: &self.target.spec,
            base: &self.base,
            groups: &self.groups,
            seed: self.seed,
            uniform: self.uniform,
            shard: self.shard,
        };
        let most = self.runs.map(|runs| self.own_part(runs));
        while most.is_none_or(|most| next < most) && !stop.load(Ordering::Relaxed) {
            let end = most.unwrap_or(u64::MAX).min(next + GENERATION);
            let plans: Vec<(u64, Plan)> = (next..end)
                .map(|number| (number, draw.plan(number, &memory)))
                .collect();
            let ran = self.run_generation(&plans, threads, stop);
            for (number, plan, shown) in ran {
                let place = (plan.scenario.faults.len(), vec![number]);
                tried.add(&plan, &place, shown.as_ref());
                // A plan whose fault did not strike is the run of a smaller one.
                if let Some(shown) = shown.filter(|shown| !shown.missed) {
                    memory.add(plan, &shown.features);
                }
            }
            next = end;
            tell(&Progress {
                schedules: tried.schedules,
                done: most.map(|most| next as f64 / most as f64),
                counterexamples: &tried.counterexamples,
            });
        }
        tried.complete = most.is_some_and(|most| next >= most);
        (tried, memory.patterns())
    }

    /// How many of so many plans are in this part.
    fn own_part(&self, runs: u64) -> u64 {
        let (shard, of) = self.shard;
        runs / of + u64::from(runs % of >= shard)
    }

    fn run_generation(
        &self,
        plans: &[(u64, Plan)],
        threads: usize,
        stop: &AtomicBool,
    ) -> Vec<(u64, Plan, Option<Shown>)> {
        let mut ran = Vec::new();
        let work = |chunk: &[(u64, Plan)]| {
            let only: Vec<Plan> = chunk.iter().map(|(_, plan)| plan.clone()).collect();
            let shown = show(&self.target, &self.wanted, &only, Keep::Features);
            let numbers = chunk.iter().map(|(number, _)| *number);
            numbers
                .zip(only)
                .zip(shown)
                .map(|((number, plan), shown)| (number, plan, shown))
                .collect::<Vec<_>>()
        };
        share(plans.chunks(CHUNK), threads, stop, work, |part| {
            ran.extend(part);
        });
        ran.sort_by_key(|(number, ..)| *number);
        ran
    }
}
