//! All finds of a search, shrunk.

use std::sync::atomic::{AtomicBool, Ordering};

use super::attempt::{Keep, show_one};
use super::plan::Target;
use super::robust::is_robust;
use super::share::share;
use super::shrink::{Demand, shrink};
use super::{CounterexampleGroup, Counterexamples};
use crate::counterexamples::{ViolationFilter, worth_shrinking};

/// How much work goes into shrinking.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The most runs for one find.
    pub runs: u64,
    /// The most shapes of one violation that are shrunk, the first ones. The others count as schedules of the first.
    pub signatures: usize,
}

/// The finds, each as small as it gets, and of each violation one that is steady, if that was found: it comes with other
/// latencies, too. What has become the same is one find, and what another one explains is left out.
/// Once `stop` is set, the rest stay as they are.
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
    let groups = worth_shrinking(counterexamples.simplest(), effort.signatures);
    let never = AtomicBool::new(false);
    let mut smaller = Counterexamples::default();
    let work = |same: Vec<CounterexampleGroup>| shrink_same(target, same, effort, stop);
    share(by_plan(groups).into_iter(), threads, &never, work, |part| {
        part.into_iter().for_each(|group| smaller.add(group));
    });
    smaller.simplest()
}

/// Finds of one plan with one cause go together.
fn by_plan(groups: Vec<CounterexampleGroup>) -> Vec<Vec<CounterexampleGroup>> {
    let mut together: Vec<Vec<CounterexampleGroup>> = Vec::new();
    for group in groups {
        let is_same = |same: &&mut Vec<CounterexampleGroup>| {
            let mut same = same.iter();
            same.any(|one| one.violation.cause == group.violation.cause && one.place == group.place)
        };
        match together.iter_mut().find(is_same) {
            Some(same) => same.push(group),
            None => together.push(vec![group]),
        }
    }
    together
}

/// What the first of them has become does for the others too, if it has their violation.
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
    for mut group in same {
        group.unshrunk = vec![group.unshrunk()];
        let like = done.iter().find(|one| {
            let shown = show_one(target, &everything, &one.plan, Keep::Nothing);
            shown.is_some_and(|shown| shown.violations.contains(&group.violation))
                && (!group.robust || is_robust(target, &one.plan, group.violation))
        });
        let plan = match like {
            Some(like) => like.plan.clone(),
            None => {
                let demand = Demand {
                    violation: group.violation,
                    robust: group.robust,
                };
                shrink(target, group.plan, demand, effort.runs, stop)
            }
        };
        done.push(CounterexampleGroup {
            signature: plan.signature(),
            plan,
            ..group
        });
    }
    done
}
