//! Watches the workers' processes for stalls and for waits for a CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;

use super::liveness_monitor::{LivenessMonitor, Watched};
use crate::clock::Clock;
use crate::process_stat::{Motion, cpu_waits, families};

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
        for (worker, waits) in &waits {
            if let Some(last) = last_waits.get(worker) {
                let delay_ns = longest_wait_ns(last, waits).min(passed_ns);
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

/// How long each thread has waited for a CPU so far, in nanoseconds, by its ID.
type CpuWaits = BTreeMap<u32, u64>;

/// Returns the longest wait of a thread between two readings, in nanoseconds. The waits of several threads are not
/// added up, because the threads may have waited at the same time, and most of them do not do what the client waits
/// for.
fn longest_wait_ns(before: &CpuWaits, now: &CpuWaits) -> u64 {
    let wait_ns = |(thread, now_ns): (&u32, &u64)| {
        let before_ns = before.get(thread).copied().unwrap_or(0);
        now_ns.saturating_sub(before_ns)
    };
    now.iter().map(wait_ns).max().unwrap_or(0)
}

/// Returns how long the threads of each worker's processes have waited for a CPU. Runs on another thread.
async fn waits_of(families: Families) -> BTreeMap<usize, CpuWaits> {
    let waits_of_family = |(worker, processes): (usize, BTreeSet<u32>)| {
        let waits = processes.into_iter().flat_map(cpu_waits);
        (worker, waits.collect())
    };
    let look = move || families.into_iter().map(waits_of_family).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_several_threads_are_not_added_up() {
        let before = CpuWaits::from([(1, 100), (2, 50), (3, 900)]);
        // Thread 3 has ended, and thread 4 is new.
        let now = CpuWaits::from([(1, 140), (2, 120), (4, 60)]);
        assert_eq!(longest_wait_ns(&before, &now), 70);
        assert_eq!(longest_wait_ns(&before, &before), 0);
    }
}
