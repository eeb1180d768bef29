//! Shrinking: the smallest plan that still has the same violation, by the same cause.
//!
//! Candidates are tried pass by pass, the most telling first; the first one that is smaller and has the violation takes
//! the place of the plan, and all begins anew. What is smaller is one order ([`Size`](super::size)), so it ends. Every candidate is a
//! valid scenario by itself, or is not tried.

use std::sync::atomic::{AtomicBool, Ordering};

use super::attempt::{Keep, show};
use super::candidates::{PASSES, Shrunken};
use super::plan::{Plan, Target};
use super::robust::is_robust;
use super::size::size_of;
use crate::counterexamples::{Violation, ViolationFilter};

/// So many candidates are run at a time: the first of them that is good ends the rest.
const CHUNK: usize = 24;

/// What a plan must show to be good.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// The violation.
    pub violation: Violation,
    /// With other latencies, too.
    pub robust: bool,
}

/// The smallest plan that is found to show what is demanded, from one that does. At most `budget` candidates are run,
/// and those that have to be steady a few times more.
pub fn shrink(target: &Target, plan: Plan, demand: Demand, budget: u64, stop: &AtomicBool) -> Plan {
    let mut shrinking = Shrinking {
        of: Shrunken {
            target,
            wanted: ViolationFilter {
                properties: vec![demand.violation.property],
                outlived_lease: true,
            },
        },
        demand,
        left: budget,
        stop,
    };
    let mut plan = plan;
    'again: loop {
        for pass in PASSES {
            let candidates = pass(&shrinking.of, &plan);
            if let Some(smaller) = shrinking.first_smaller(&plan, candidates) {
                plan = smaller;
                continue 'again;
            }
            if shrinking.is_over() {
                return plan;
            }
        }
        return plan;
    }
}

struct Shrinking<'a> {
    of: Shrunken<'a>,
    demand: Demand,
    left: u64,
    stop: &'a AtomicBool,
}

impl Shrinking<'_> {
    fn is_over(&self) -> bool {
        self.left == 0 || self.stop.load(Ordering::Relaxed)
    }

    /// The first candidate that is smaller than the plan and shows what is demanded.
    fn first_smaller(&mut self, plan: &Plan, candidates: Vec<Plan>) -> Option<Plan> {
        let target = self.of.target;
        let size = size_of(plan, target);
        let smaller = candidates.into_iter().filter(|one| {
            size_of(one, target) < size && one.scenario.check_for(target.spec.nodes).is_ok()
        });
        let smaller: Vec<Plan> = smaller.collect();
        for chunk in smaller.chunks(CHUNK) {
            if self.is_over() {
                return None;
            }
            let room = usize::try_from(self.left).unwrap_or(usize::MAX);
            let chunk = &chunk[..chunk.len().min(room)];
            self.left -= chunk.len() as u64;
            let shown = show(target, &self.of.wanted, chunk, Keep::Nothing);
            for (candidate, shown) in chunk.iter().zip(shown) {
                let has_it = shown
                    .is_some_and(|it| !it.missed && it.violations.contains(&self.demand.violation));
                let Demand { violation, robust } = self.demand;
                if has_it && (!robust || is_robust(target, candidate, violation)) {
                    return Some(candidate.clone());
                }
            }
        }
        None
    }
}
