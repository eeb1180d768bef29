//! What a sweep folds is the same run as one that it makes: a sample of folded plans is run.

use picklock_harness::search::moments::since_last_struck;
use picklock_harness::search::vocabulary::Group;
use picklock_harness::search::{Plan, Target};
use picklock_scenarios::FaultPlan;

use super::{Moment, is_missed, listed, plan, ran, target, vocabulary};

/// A few of the faults that can strike at a moment, other ones at each.
fn some(target: &Target, moment: &Moment, at: usize) -> Vec<FaultPlan> {
    let all = vocabulary(target, &Group::ALL).at(&moment.trigger);
    all.into_iter().skip(at % 7).step_by(7).collect()
}

/// The pair is below the plan of the fault that strikes first, if both strike.
fn is_below(target: &Target, first: &Plan, second: &FaultPlan) -> bool {
    let moments = listed(target, first);
    let mut since = since_last_struck(&moments).iter();
    since.any(|moment| Some(&moment.trigger) == second.when.as_ref())
}

#[test]
fn pair_in_the_other_order_is_the_same_run_and_is_tried() {
    let mut compared = 0;
    for lock in ["set-nx-px", "watchdog", "pubsub", "redlock"] {
        let (target, base) = (target(lock), plan("short"));
        let moments = listed(&target, &base);
        let step = moments.len() / 5;
        for (at, late) in moments.iter().enumerate().skip(step).step_by(step) {
            let early = some(&target, &moments[at / 2], at + 3);
            for (a, b) in some(&target, late, at).into_iter().zip(early) {
                // This one is folded: below `a`, `b` is before `a` has struck.
                let folded = ran(&target, &base.with(a.clone()).with(b.clone())).history;
                if is_missed(&folded) {
                    continue;
                }
                let first = base.with(b.clone());
                let other = ran(&target, &first.with(a.clone())).history;
                assert_eq!(folded, other, "{lock}: {a:?} and {b:?}");
                assert!(is_below(&target, &first, &a), "{lock}: {a:?} below {b:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} pairs were compared");
}
