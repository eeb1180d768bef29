//! Checks whether a violation depends on the latencies of one run.
//!
//! In the simulation a message takes 50 to 250 µs, and nothing else takes any time. A counterexample that requires
//! exactly these latencies, or a fault that ends in a certain millisecond, does not recur on servers.

use picklock_scenarios::{FaultKind, FaultPlan, LeaseDuration, Selection};

use super::attempt::{Keep, run_plan};
use super::plan::{Plan, Target};
use crate::counterexamples::{Violation, ViolationFilter};

#[derive(Clone, Copy)]
enum Fastest {
    /// All clients are equally fast.
    Neither,
    First,
    Last,
}

/// Variations of a plan: the duration of its faults in per cent, and the fastest client. Each variation has its own
/// seed.
const VARIATIONS: [(u32, Fastest); 6] = [
    (100, Fastest::Neither),
    (100, Fastest::First),
    (95, Fastest::Neither),
    (95, Fastest::Last),
    (105, Fastest::Neither),
    (105, Fastest::First),
];

/// Returns `true` if the plan also has the violation with other latencies and choices, with clients
/// of different speed, and with slightly shorter or longer faults.
pub(super) fn is_robust(target: &Target, plan: &Plan, violation: Violation) -> bool {
    let wanted = ViolationFilter {
        properties: vec![violation.property],
        outlived_lease: true,
        ..ViolationFilter::default()
    };
    let workers = plan.scenario.workload.workers;
    (1..).zip(VARIATIONS).all(|(seed, (hundredths, fastest))| {
        let mut other = Plan {
            seed: plan.seed.wrapping_add(seed),
            ..stretched(plan, f64::from(hundredths) / 100.0)
        };
        let slow = (1..workers).filter_map(|rank| match fastest {
            Fastest::Neither => None,
            Fastest::First => Some(slowness(rank, rank)),
            Fastest::Last => Some(slowness(workers - 1 - rank, rank)),
        });
        other.scenario.faults.extend(slow);
        let result = run_plan(target, &wanted, &other, Keep::Nothing);
        result.is_some_and(|result| result.violations.contains(&violation))
    })
}

/// Returns a copy of `plan` with all fault durations multiplied by `factor`.
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

/// Returns a fault that delays each message of a client by `hundredths` of a lease, in the first part of the run, when
/// clients take their first locks.
fn slowness(worker: usize, hundredths: usize) -> FaultPlan {
    FaultPlan {
        at: Some(LeaseDuration::ZERO),
        duration: Some(LeaseDuration::Ttl(2.0)),
        workers: Some(Selection::List(vec![worker])),
        by: Some(LeaseDuration::Ttl(hundredths as f64 / 100.0).into()),
        ..FaultPlan::new(FaultKind::Delay)
    }
}
