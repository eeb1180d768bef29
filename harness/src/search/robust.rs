//! Whether a violation hangs on the latencies of one run.
//!
//! In the simulation a message takes 50 to 250 µs, and nothing else takes any time. A find that needs just these
//! latencies, or a fault that ends in just that millisecond, does not come again on servers.

use picklock_scenarios::{FaultKind, FaultPlan, LeaseDuration, Selection};

use super::attempt::{Keep, show_one};
use super::plan::{Plan, Target};
use crate::counterexamples::{Violation, ViolationFilter};

#[derive(Clone, Copy)]
enum Fastest {
    /// None: all are alike.
    Nobody,
    First,
    Last,
}

/// Other runs of a plan: how long its faults last, in hundredths, and who is fast. Each has a seed of its own.
const OTHERS: [(u32, Fastest); 6] = [
    (100, Fastest::Nobody),
    (100, Fastest::First),
    (95, Fastest::Nobody),
    (95, Fastest::Last),
    (105, Fastest::Nobody),
    (105, Fastest::First),
];

/// True if the plan has the violation with other latencies and choices, too: also when clients differ in speed, and when
/// faults are over a little sooner or later.
pub(super) fn is_robust(target: &Target, plan: &Plan, violation: Violation) -> bool {
    let wanted = ViolationFilter {
        properties: vec![violation.property],
        outlived_lease: true,
    };
    let workers = plan.scenario.workload.workers;
    (1..).zip(OTHERS).all(|(seed, (hundredths, fastest))| {
        let mut other = Plan {
            seed: plan.seed.wrapping_add(seed),
            ..stretched(plan, f64::from(hundredths) / 100.0)
        };
        let slow = (1..workers).filter_map(|rank| match fastest {
            Fastest::Nobody => None,
            Fastest::First => Some(slowness(rank, rank)),
            Fastest::Last => Some(slowness(workers - 1 - rank, rank)),
        });
        other.scenario.faults.extend(slow);
        let shown = show_one(target, &wanted, &other, Keep::Nothing);
        shown.is_some_and(|shown| shown.violations.contains(&violation))
    })
}

/// The same with faults that last so much longer.
fn stretched(plan: &Plan, factor: f64) -> Plan {
    let mut plan = plan.clone();
    for fault in &mut plan.scenario.faults {
        let by = fault.by.as_mut().map(|by| &mut by.span);
        for span in fault.duration.iter_mut().chain(by) {
            if let LeaseDuration::Ttl(leases) = span {
                *leases *= factor;
            }
        }
    }
    plan
}

/// Each message of a client is late by so many hundredths of a lease, for as long as locks are taken for the first time.
fn slowness(worker: usize, hundredths: usize) -> FaultPlan {
    FaultPlan {
        at: Some(LeaseDuration::ZERO),
        duration: Some(LeaseDuration::Ttl(2.0)),
        workers: Some(Selection::List(vec![worker])),
        by: Some(LeaseDuration::Ttl(hundredths as f64 / 100.0).into()),
        ..FaultPlan::new(FaultKind::Delay)
    }
}
