//! Watches the workers' processes for stalls and for waits for a CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;

use super::liveness_monitor::{LivenessMonitor, Watched};
use crate::clock::Clock;
use crate::process_stat::{Motion, families, waited_ns};

/// Minimum pause between two observations of all workers.
const LOOK: Duration = Duration::from_millis(10);

/// Additional pause per worker, so that the cost of the observations stays bounded.
const LOOK_EACH: Duration = Duration::from_millis(2);

/// Minimum interval between two readings of the workers' CPU waits. Each reading has to read every thread.
const DELAY_LOOK: Duration = Duration::from_millis(250);

/// Number of observations after which the workers' descendants are determined again.
const FAMILY_LOOKS: u32 = 50;

/// The processes of each worker.
type Families = BTreeMap<usize, BTreeSet<u32>>;

/// Watches the workers while the future is polled. `leaders` returns the main process of each running worker.
pub(super) async fn watch(
    liveness: &LivenessMonitor,
    clock: &Clock,
    leaders: impl Fn() -> BTreeMap<usize, u32>,
) {
    let (mut known, mut families) = (BTreeMap::new(), Families::new());
    let (mut seen, mut before_ns) = (BTreeMap::new(), clock.now_ns());
    let (mut last_waits, mut waited_since_ns) = (BTreeMap::new(), clock.now_ns());
    for look in 0_u32.. {
        let leaders = leaders();
        if look % FAMILY_LOOKS == 0 || leaders != known {
            families = families_of(&leaders).await;
            known = leaders;
        }
        sleep(LOOK + LOOK_EACH * u32::try_from(known.len()).unwrap_or(u32::MAX)).await;
        let (motions, now_ns) = (look_at(&families), clock.now_ns());
        for (worker, processes) in &families {
            let target = Watched::Worker(*worker);
            let is_stalled = |pid: &u32| match (motions.get(pid), seen.get(pid)) {
                (Some(now), Some(before)) => now.is_stalled_since(*pid, *before),
                _ => false,
            };
            // The kernel's data are exact even if this observation is late, so the stall is certain for the whole
            // interval.
            if !liveness.is_stopped(target) && processes.iter().any(is_stalled) {
                liveness.record_stall(target, before_ns, now_ns, now_ns - before_ns);
            } else {
                liveness.end_stall(target);
            }
        }
        (seen, before_ns) = (motions, now_ns);
        let passed_ns = now_ns - waited_since_ns;
        if Duration::from_nanos(passed_ns) < DELAY_LOOK {
            continue;
        }
        let waits = waits_of(families.clone()).await;
        for (worker, wait_ns) in &waits {
            if let Some(before_ns) = last_waits.get(worker) {
                // Several threads may have waited at the same time.
                let delay_ns = wait_ns.saturating_sub(*before_ns).min(passed_ns);
                liveness.record_delay(*worker, waited_since_ns, delay_ns);
            }
        }
        (last_waits, waited_since_ns) = (waits, now_ns);
    }
}

fn look_at(families: &Families) -> BTreeMap<u32, Motion> {
    let processes = families.values().flatten();
    processes
        .filter_map(|pid| Some((*pid, Motion::read(*pid)?)))
        .collect()
}

/// Returns how long each worker's processes have waited for a CPU, in nanoseconds. Runs on another thread.
async fn waits_of(families: Families) -> BTreeMap<usize, u64> {
    let wait_of_family = |(worker, processes): (usize, BTreeSet<u32>)| {
        let waits = processes.into_iter().filter_map(waited_ns);
        (worker, waits.sum())
    };
    let look = move || families.into_iter().map(wait_of_family).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Returns the processes of each worker. Runs on another thread, because it takes a while on a machine with many
/// processes.
async fn families_of(leaders: &BTreeMap<usize, u32>) -> Families {
    let processes: Vec<u32> = leaders.values().copied().collect();
    let found = tokio::task::spawn_blocking(move || families(&processes)).await;
    let mut found = found.unwrap_or_default();
    let family = |(worker, leader): (&usize, &u32)| {
        let alone = || BTreeSet::from([*leader]);
        (*worker, found.remove(leader).unwrap_or_else(alone))
    };
    leaders.iter().map(family).collect()
}
