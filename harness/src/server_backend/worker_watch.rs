//! The workers' processes: whether one was stopped, or does not get the processor.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;

use super::liveness_monitor::{LivenessMonitor, Watched};
use crate::clock::Clock;
use crate::process_stat::{Motion, families, waited_ns};

/// Shortest pause between two looks at all workers.
const LOOK: Duration = Duration::from_millis(10);

/// With many workers the pause grows by this much for each, so that looking costs no more.
const LOOK_EACH: Duration = Duration::from_millis(2);

/// How long they waited for a processor is looked at no more often than this: all their threads are asked.
const DELAY_LOOK: Duration = Duration::from_millis(250);

/// What the workers have started is looked for again after so many looks.
const FAMILY_LOOKS: u32 = 50;

/// The processes of each worker.
type Families = BTreeMap<usize, BTreeSet<u32>>;

/// Watches the workers for as long as it is polled. `leaders`: the process of each worker that runs.
pub(super) async fn watch(
    life: &LivenessMonitor,
    clock: &Clock,
    leaders: impl Fn() -> BTreeMap<usize, u32>,
) {
    let (mut known, mut families) = (BTreeMap::new(), Families::new());
    let (mut seen, mut before_ns) = (BTreeMap::new(), clock.now_ns());
    let (mut waited, mut waited_since_ns) = (BTreeMap::new(), clock.now_ns());
    for look in 0_u32.. {
        let leaders = leaders();
        if look % FAMILY_LOOKS == 0 || leaders != known {
            families = families_of(&leaders).await;
            known = leaders;
        }
        sleep(LOOK + LOOK_EACH * u32::try_from(known.len()).unwrap_or(u32::MAX)).await;
        let (looked, now_ns) = (look_at(&families), clock.now_ns());
        for (worker, processes) in &families {
            let who = Watched::Worker(*worker);
            let stood_still = |pid: &u32| match (looked.get(pid), seen.get(pid)) {
                (Some(now), Some(before)) => Motion::stood_still_since(*now, *pid, *before),
                _ => false,
            };
            // What the kernel shows is so, however late it is looked at.
            match !life.is_stopped(who) && processes.iter().any(stood_still) {
                true => life.stands_still(who, before_ns, now_ns, now_ns - before_ns),
                false => life.moves(who),
            }
        }
        (seen, before_ns) = (looked, now_ns);
        let passed_ns = now_ns - waited_since_ns;
        if Duration::from_nanos(passed_ns) < DELAY_LOOK {
            continue;
        }
        let now = waits_of(families.clone()).await;
        for (worker, now_ns) in &now {
            if let Some(before_ns) = waited.get(worker) {
                // Several threads can have waited at the same time.
                let delay_ns = now_ns.saturating_sub(*before_ns).min(passed_ns);
                life.waited(*worker, waited_since_ns, delay_ns);
            }
        }
        (waited, waited_since_ns) = (now, now_ns);
    }
}

fn look_at(families: &Families) -> BTreeMap<u32, Motion> {
    let processes = families.values().flatten();
    processes
        .filter_map(|pid| Some((*pid, Motion::look(*pid)?)))
        .collect()
}

/// For how long the processes of each worker have waited for a processor. Looks on a thread of its own.
async fn waits_of(families: Families) -> BTreeMap<usize, u64> {
    let of_family = |(worker, processes): (usize, BTreeSet<u32>)| {
        let waited = processes.into_iter().filter_map(waited_ns);
        (worker, waited.sum())
    };
    let look = move || families.into_iter().map(of_family).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Looks on a thread of its own: with many processes on the machine it takes a while.
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
