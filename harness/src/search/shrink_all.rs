//! All finds of a search, shrunk.

use std::sync::atomic::{AtomicBool, Ordering};

use super::attempt::{Keep, show_one};
use super::plan::Target;
use super::share::share;
use super::shrink::{Demand, shrink};
use super::steady::is_steady;
use super::{FindGroup, Finds};
use crate::finds::{Wanted, worth_shrinking};

/// How much work goes into shrinking.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The most runs for one find.
    pub runs: u64,
    /// The most shapes of one violation that are shrunk, the first ones. The others count as schedules of the first.
    pub shapes: usize,
}

/// The finds, each as small as it gets, and of each violation one that is steady, if that was found: it comes with other
/// latencies, too. What has become the same is one find, and what another one explains is left out.
/// Once `stop` is set, the rest stay as they are.
pub fn shrink_all(
    target: &Target,
    mut finds: Finds,
    effort: Effort,
    threads: usize,
    stop: &AtomicBool,
) -> Vec<FindGroup> {
    finds.mark_steady(|group| {
        !stop.load(Ordering::Relaxed) && is_steady(target, &group.plan, group.violation)
    });
    let groups = worth_shrinking(finds.simplest(), effort.shapes);
    let never = AtomicBool::new(false);
    let mut smaller = Finds::default();
    let work = |same: Vec<FindGroup>| shrink_same(target, same, effort, stop);
    share(by_plan(groups).into_iter(), threads, &never, work, |part| {
        part.into_iter().for_each(|group| smaller.add(group));
    });
    smaller.simplest()
}

/// Finds of one plan with one cause go together.
fn by_plan(groups: Vec<FindGroup>) -> Vec<Vec<FindGroup>> {
    let mut together: Vec<Vec<FindGroup>> = Vec::new();
    for group in groups {
        let is_same = |same: &&mut Vec<FindGroup>| {
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
    same: Vec<FindGroup>,
    effort: Effort,
    stop: &AtomicBool,
) -> Vec<FindGroup> {
    let everything = Wanted {
        outlived_lease: true,
        ..Wanted::default()
    };
    let mut done: Vec<FindGroup> = Vec::new();
    for mut group in same {
        group.unshrunk = vec![group.unshrunk()];
        let like = done.iter().find(|one| {
            let shown = show_one(target, &everything, &one.plan, Keep::Nothing);
            shown.is_some_and(|shown| shown.violations.contains(&group.violation))
                && (!group.steady || is_steady(target, &one.plan, group.violation))
        });
        let plan = match like {
            Some(like) => like.plan.clone(),
            None => {
                let demand = Demand {
                    violation: group.violation,
                    steady: group.steady,
                };
                shrink(target, group.plan, demand, effort.runs, stop)
            }
        };
        done.push(FindGroup {
            shape: plan.shape(),
            plan,
            ..group
        });
    }
    done
}
