//! Shrinking: finds the smallest plan that still has the same violation with the same cause.
//!
//! Candidates are tried pass by pass, the most promising pass first. The first candidate that is smaller and has the
//! violation replaces the plan, and the passes restart. The [size](super::size) is a total order, so this terminates.
//! Only candidates that are valid scenarios are tried.

use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::FaultPlan;

use super::attempt::{Keep, run_plans};
use super::candidates::{PASSES, Shrunken};
use super::plan::{Plan, Target};
use super::robust::is_robust;
use super::size::size_of;
use crate::counterexamples::{Violation, ViolationFilter};

/// Number of candidates per batch. The first successful candidate ends its batch.
const CHUNK: usize = 24;

/// The property that a shrunk plan must keep.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// The violation.
    pub violation: Violation,
    /// Whether the violation must also occur with other latencies.
    pub robust: bool,
}

/// The result of shrinking.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest plan found.
    pub plan: Plan,
    /// The faults of the original plan that the violation does not need, because it also occurred without them.
    pub removed: Vec<FaultPlan>,
}

/// Returns the smallest plan found that meets the demand, starting from one that does. Tries at most `budget`
/// candidates. If the plan must be robust, a candidate takes several runs.
pub fn shrink(
    target: &Target,
    plan: Plan,
    demand: Demand,
    budget: u64,
    stop: &AtomicBool,
) -> Shrunk {
    let mut shrinking = Shrinking {
        context: Shrunken {
            target,
            wanted: ViolationFilter {
                properties: vec![demand.violation.property],
                outlived_lease: true,
                ..ViolationFilter::default()
            },
        },
        demand,
        remaining_runs: budget,
        stop,
    };
    // Only a pass that removes a fault changes the number of faults; the others keep number and order.
    let (mut kept, mut removed) = (plan.scenario.faults.clone(), Vec::new());
    let mut plan = plan;
    'again: loop {
        for pass in PASSES {
            let candidates = pass(&shrinking.context, &plan);
            if let Some(smaller) = shrinking.first_smaller(&plan, candidates) {
                if let Some(fault) = removed_fault(&plan, &smaller) {
                    removed.push(kept.remove(fault));
                }
                plan = smaller;
                continue 'again;
            }
            if shrinking.is_over() {
                break 'again;
            }
        }
        break;
    }
    Shrunk { plan, removed }
}

/// Returns the index of the fault that the smaller plan does not have, or `None` if it has as many faults.
fn removed_fault(plan: &Plan, smaller: &Plan) -> Option<usize> {
    let mut faults = 0..plan.scenario.faults.len();
    faults.find(|fault| plan.without(*fault).scenario.faults == smaller.scenario.faults)
}

struct Shrinking<'a> {
    context: Shrunken<'a>,
    demand: Demand,
    remaining_runs: u64,
    stop: &'a AtomicBool,
}

impl Shrinking<'_> {
    fn is_over(&self) -> bool {
        self.remaining_runs == 0 || self.stop.load(Ordering::Relaxed)
    }

    /// Returns the first candidate that is smaller than the plan and meets the demand.
    fn first_smaller(&mut self, plan: &Plan, candidates: Vec<Plan>) -> Option<Plan> {
        let target = self.context.target;
        let size = size_of(plan, target);
        let smaller = candidates.into_iter().filter(|candidate| {
            size_of(candidate, target) < size
                && candidate.scenario.check_for(target.spec.nodes).is_ok()
        });
        let smaller: Vec<Plan> = smaller.collect();
        for chunk in smaller.chunks(CHUNK) {
            if self.is_over() {
                return None;
            }
            let remaining = usize::try_from(self.remaining_runs).unwrap_or(usize::MAX);
            let chunk = &chunk[..chunk.len().min(remaining)];
            self.remaining_runs -= chunk.len() as u64;
            let results = run_plans(target, &self.context.wanted, chunk, Keep::Nothing);
            for (candidate, result) in chunk.iter().zip(results) {
                let has_violation = result.is_some_and(|result| {
                    !result.missed && result.violations.contains(&self.demand.violation)
                });
                let Demand { violation, robust } = self.demand;
                if has_violation && (!robust || is_robust(target, candidate, violation)) {
                    return Some(candidate.clone());
                }
            }
        }
        None
    }
}
