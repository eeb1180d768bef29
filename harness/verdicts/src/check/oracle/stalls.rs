//! Stalls, found by examining every moment from the beginning of the history.
//!
//! Only for complete histories: no unknown outcomes, no killed workers, no faults. There a lock is
//! free from the answer to a release until the next grant.

use std::collections::HashSet;

use crate::history::{Event, History, What};

/// How many times a free lock was wanted for longer than the bound, and not granted.
pub(super) fn stalls(history: &History) -> u64 {
    let bound_ns = history.header.progress_within_ms * 1_000_000;
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut found: HashSet<(u32, usize)> = HashSet::new();
    for now in 0..=history.events.len() {
        let past = &history.events[..now];
        let next = history.events.get(now);
        let at_ns = next.map_or(end_ns, |event| event.at_ns);
        for key in 0..history.header.keys.len() as u32 {
            let Some(free_since_ns) = free_since(past, key) else {
                continue;
            };
            for worker in 0..history.header.workers {
                if let Some(since_ns) = asking_since(past, key, worker, bound_ns / 4)
                    && at_ns > since_ns.max(free_since_ns) + bound_ns
                {
                    found.insert((key, grants(past, key)));
                }
            }
        }
    }
    found.len() as u64
}

fn ops(past: &[Event], of_key: u32) -> Vec<u64> {
    let asked = past.iter().filter_map(|event| match event.what {
        What::Acquire { op, key, .. } if key == of_key => Some(op),
        _ => None,
    });
    asked.collect()
}

fn grants(past: &[Event], key: u32) -> usize {
    let ops = ops(past, key);
    let granted =
        |event: &&Event| matches!(event.what, What::Granted { op, .. } if ops.contains(&op));
    past.iter().filter(granted).count()
}

/// `None`: a worker holds it.
fn free_since(past: &[Event], key: u32) -> Option<u64> {
    let ops = ops(past, key);
    let mut holding = 0;
    let mut since_ns = 0;
    for event in past {
        match event.what {
            What::Granted { op, .. } if ops.contains(&op) => holding += 1,
            What::Released { op, .. } if ops.contains(&op) => {
                holding -= 1;
                since_ns = event.at_ns;
            }
            _ => {}
        }
    }
    (holding == 0).then_some(since_ns)
}

/// Since when a worker that is asking for the key has wanted it without a long break.
fn asking_since(past: &[Event], of_key: u32, of_worker: usize, patience_ns: u64) -> Option<u64> {
    let mut since_ns = None;
    let mut asking = false;
    let mut denied_ns = None;
    let mut buyer = None;
    for event in past {
        match event.what {
            What::Acquire {
                worker,
                key,
                intended_ns,
                ..
            } if worker == of_worker => {
                // In an open loop this may be another buyer than before.
                let soon = denied_ns.is_some_and(|denied| event.at_ns - denied <= patience_ns)
                    && buyer == intended_ns;
                buyer = intended_ns;
                asking = key == of_key;
                since_ns = match (asking, since_ns, soon) {
                    (false, _, _) => None,
                    (true, Some(since), true) => Some(since),
                    (true, _, _) => Some(event.at_ns),
                };
                denied_ns = None;
            }
            What::Refused { worker, .. } if worker == of_worker => {
                asking = false;
                denied_ns = Some(event.at_ns);
            }
            What::Granted { worker, .. } if worker == of_worker => {
                asking = false;
                denied_ns = None;
                since_ns = None;
            }
            _ => {}
        }
    }
    since_ns.filter(|_| asking)
}
