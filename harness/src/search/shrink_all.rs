//! All finds of a search, shrunk.

use std::sync::atomic::AtomicBool;

use super::finds::{FindGroup, Finds};
use super::plan::Target;
use super::share::share;
use super::shrink::shrink;

/// How much work goes into shrinking.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The most runs for one find.
    pub runs: u64,
    /// The most shapes of one violation that are shrunk, the first ones. The others count as schedules of the first.
    pub shapes: usize,
}

/// The finds, each as small as it gets. What has become the same is one find, and what another one explains is left out.
/// Once `stop` is set, the rest stay as they are.
pub fn shrink_all(
    target: &Target,
    finds: Finds,
    effort: Effort,
    threads: usize,
    stop: &AtomicBool,
) -> Vec<FindGroup> {
    let groups = worth_shrinking(finds.simplest(), effort.shapes);
    let never = AtomicBool::new(false);
    let mut smaller = Finds::default();
    let work = |group: FindGroup| {
        let shrunk = shrink(target, group.plan, group.violation, effort.runs, stop);
        FindGroup {
            shape: shrunk.plan.shape(),
            plan: shrunk.plan,
            ..group
        }
    };
    share(groups.into_iter(), threads, &never, work, |group| {
        smaller.add_group(group);
    });
    smaller.simplest()
}

/// The first shapes of each violation. The first one counts what the rest have.
fn worth_shrinking(groups: Vec<FindGroup>, most: usize) -> Vec<FindGroup> {
    let mut worth: Vec<FindGroup> = Vec::new();
    for group in groups {
        let like = worth.iter().filter(|one| one.violation == group.violation);
        if like.count() < most {
            worth.push(group);
            continue;
        }
        let mut like = worth.iter_mut();
        if let Some(first) = like.find(|one| one.violation == group.violation) {
            first.count += group.count;
        }
    }
    worth
}
