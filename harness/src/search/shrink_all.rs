//! Shrinks all counterexamples of a search.

use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::FaultPlan;

use super::attempt::{Keep, run_plan};
use super::plan::Target;
use super::robust::is_robust;
use super::share::share;
use super::shrink::{Demand, Shrunk, shrink};
use super::{CounterexampleGroup, Counterexamples};
use crate::counterexamples::{ViolationFilter, worth_shrinking};

/// Limits for the work of shrinking.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Maximum number of runs per counterexample.
    pub runs: u64,
    /// Number of signatures per violation that are shrunk, starting with the first. Robust signatures beyond this
    /// number are shrunk as well. The plans of all other signatures are added to the count of the first one.
    pub signatures: usize,
}

/// Shrinks the counterexamples within the limits of `effort`. If a robust counterexample to a violation was found,
/// which also occurs with other latencies, one of the results is robust. Counterexamples that shrink to the same plan
/// are merged. A counterexample that another counterexample explains is dropped. Once `stop` is set, the remaining
/// counterexamples stay unchanged.
pub fn shrink_all(
    target: &Target,
    mut counterexamples: Counterexamples,
    effort: Effort,
    threads: usize,
    stop: &AtomicBool,
) -> Vec<CounterexampleGroup> {
    counterexamples.mark_robust(|group| {
        !stop.load(Ordering::Relaxed) && is_robust(target, &group.plan, group.violation)
    });
    counterexamples.record_origins();
    let groups = worth_shrinking(counterexamples.simplest(), effort.signatures);
    let never = AtomicBool::new(false);
    let mut smaller = Counterexamples::default();
    let work = |same: Vec<CounterexampleGroup>| shrink_same(target, same, effort, stop);
    share(by_plan(groups).into_iter(), threads, &never, work, |part| {
        part.into_iter().for_each(|group| smaller.add(group));
    });
    smaller.simplest()
}

/// Puts together the counterexamples that have the same plan and the same cause.
fn by_plan(groups: Vec<CounterexampleGroup>) -> Vec<Vec<CounterexampleGroup>> {
    let mut together: Vec<Vec<CounterexampleGroup>> = Vec::new();
    for group in groups {
        let is_same = |same: &&mut Vec<CounterexampleGroup>| {
            let mut same = same.iter();
            same.any(|known| {
                known.violation.cause == group.violation.cause && known.place == group.place
            })
        };
        match together.iter_mut().find(is_same) {
            Some(same) => same.push(group),
            None => together.push(vec![group]),
        }
    }
    together
}

/// Shrinks counterexamples of the same plan. The result for an earlier counterexample is reused if it also shows the
/// violation of a later counterexample.
fn shrink_same(
    target: &Target,
    same: Vec<CounterexampleGroup>,
    effort: Effort,
    stop: &AtomicBool,
) -> Vec<CounterexampleGroup> {
    let everything = ViolationFilter {
        outlived_lease: true,
        ..ViolationFilter::default()
    };
    let mut done: Vec<CounterexampleGroup> = Vec::new();
    for group in same {
        let reusable = done.iter().find(|known| {
            let result = run_plan(target, &everything, &known.plan, Keep::Nothing);
            result.is_some_and(|result| result.violations.contains(&group.violation))
                && (!group.robust || is_robust(target, &known.plan, group.violation))
        });
        let (plan, not_needed) = match reusable {
            Some(other) => (other.plan.clone(), other.not_needed.clone()),
            None => {
                let demand = Demand {
                    violation: group.violation,
                    robust: group.robust,
                };
                let Shrunk { plan, removed } =
                    shrink(target, group.plan, demand, effort.runs, stop);
                (plan, removed.iter().map(FaultPlan::sentence).collect())
            }
        };
        done.push(CounterexampleGroup {
            signature: plan.signature(),
            plan,
            not_needed,
            ..group
        });
    }
    done
}
