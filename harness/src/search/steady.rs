//! Whether a violation hangs on the latencies of one run.
//!
//! In the simulation a message takes 50 to 250 µs, and nothing else takes any time. A find that needs just these
//! latencies, or a fault that ends in just that millisecond, does not come again on servers.

use picklock_scenarios::LeaseDuration;

use super::attempt::{Keep, show_one};
use super::finds::{Violation, Wanted};
use super::plan::{Plan, Target};

/// Other runs of a plan: how long its faults last, in hundredths, with a seed of its own each.
const OTHERS: [u32; 6] = [100, 100, 95, 95, 105, 105];

/// How many runs it takes at most to ask.
pub(super) const RUNS: u64 = OTHERS.len() as u64;

/// True if the plan has the violation with other latencies and choices, too, and with faults that are over a little
/// sooner or later.
pub(super) fn is_steady(target: &Target, plan: &Plan, violation: Violation) -> bool {
    let wanted = Wanted {
        properties: vec![violation.property],
        outlived_lease: true,
    };
    (1..).zip(OTHERS).all(|(seed, hundredths)| {
        let other = Plan {
            seed: plan.seed.wrapping_add(seed),
            ..stretched(plan, f64::from(hundredths) / 100.0)
        };
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
