//! Generated histories.

use std::collections::VecDeque;

use picklock_scenarios::{LockKind, Update};
use picklock_verdicts::history::{EndReason, Event, EventKind, FORMAT, Header, History};
use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::StdRng;

const TTL_MS: u64 = 1000;

/// One lock, with its waiting clients and the progress of its holder.
struct Queue {
    waiting: VecDeque<(usize, u64)>,
    step: u8,
    stock: i64,
    fence: u64,
}

/// Returns a history without violations: `purchases` purchases by workers that always want a lock, on keys whose
/// holders take turns.
pub fn sold(purchases: usize, workers: usize, keys: usize) -> History {
    let mut rng = StdRng::seed_from_u64(1);
    let start = (purchases / keys) as i64;
    let mut events = Vec::with_capacity(purchases * 6 + workers + keys + 1);
    let (mut at_ns, mut op) = (0, 0);
    let mut queues: Vec<Queue> = (0..keys)
        .map(|_| Queue {
            waiting: VecDeque::new(),
            step: 0,
            stock: start,
            fence: 0,
        })
        .collect();
    for worker in 0..workers {
        op += 1;
        events.push(asked(at_ns, worker, op, worker % keys));
        queues[worker % keys].waiting.push_back((worker, op));
    }
    let mut open: Vec<usize> = (0..keys).collect();
    while !open.is_empty() {
        at_ns += rng.random_range(1_000..200_000);
        let pick = rng.random_range(0..open.len());
        let key = open[pick];
        let queue = &mut queues[key];
        let Some(&(worker, own_op)) = queue.waiting.front() else {
            unreachable!("every worker asks again");
        };
        let what = queue.next(worker, own_op, key as u32, at_ns);
        events.push(Event { at_ns, what });
        if queue.step == 0 {
            queue.waiting.pop_front();
            if queue.stock == 0 {
                open.swap_remove(pick);
            } else {
                op += 1;
                events.push(asked(at_ns, worker, op, key));
                queue.waiting.push_back((worker, op));
            }
        }
    }
    finish(&mut events, at_ns, keys, start);
    History {
        header: header(workers, keys, start),
        events,
    }
}

impl Queue {
    /// Returns the next event of the holder.
    fn next(&mut self, worker: usize, op: u64, key: u32, at_ns: u64) -> EventKind {
        self.step += 1;
        match self.step {
            1 => {
                self.fence += 1;
                EventKind::Granted {
                    worker,
                    op,
                    token: format!("{op:040x}"),
                    fence: Some(self.fence),
                    valid_ms: Some(TTL_MS - 12),
                    elapsed_ms: Some(1),
                }
            }
            2 => EventKind::StockRead {
                worker,
                op,
                key,
                stock: self.stock,
                as_of_ns: None,
            },
            3 => {
                self.stock -= 1;
                EventKind::StockChanged {
                    worker,
                    op,
                    key,
                    from: self.stock + 1,
                    to: self.stock,
                    belated: None,
                }
            }
            4 => EventKind::Release { worker, op },
            _ => {
                self.step = 0;
                EventKind::Released {
                    worker,
                    op,
                    released: Some(true),
                    last_command_ns: Some(at_ns - 500),
                }
            }
        }
    }
}

fn asked(at_ns: u64, worker: usize, op: u64, key: usize) -> Event {
    Event {
        at_ns,
        what: EventKind::Acquire {
            worker,
            op,
            key: key as u32,
            ttl_ms: TTL_MS,
            wait_ms: 3 * TTL_MS,
            intended_ns: None,
            weight: 1,
        },
    }
}

fn finish(events: &mut Vec<Event>, at_ns: u64, keys: usize, start: i64) {
    for key in 0..keys as u32 {
        let what = EventKind::Probe {
            key,
            granted: true,
            waited_ms: 1,
            permits: None,
        };
        events.push(Event { at_ns, what });
    }
    let what = EventKind::End {
        reason: EndReason::SoldOut,
        stock_left: vec![0; keys],
        sold: vec![start; keys],
    };
    events.push(Event { at_ns, what });
}

fn header(workers: usize, keys: usize, stock_start: i64) -> Header {
    Header {
        format: FORMAT.to_owned(),
        scenario: "bench".into(),
        lock: "bench".into(),
        backend: picklock_scenarios::BackendName::Sim,
        seed: 1,
        workers,
        nodes: 5,
        quorum: None,
        keys: (0..keys).map(|key| format!("stock:{key}")).collect(),
        capacity: 1,
        kind: LockKind::Mutex,
        ttl_ms: TTL_MS,
        stock_start,
        update: Update::Decrement,
        min_grants: 2,
        progress_within_ms: 3 * TTL_MS,
        max_overtakes: None,
        schedule: None,
        renews: false,
        declares: Default::default(),
        key_history: false,
        key_history_check: None,
    }
}

/// Returns the same history, except that one waiter in its middle is granted the lock too early.
pub fn with_an_overlap(mut history: History) -> History {
    let middle = history.events.len() / 2;
    let is_release = |event: &Event| matches!(event.what, EventKind::Release { .. });
    let release = (middle..).find(|index| is_release(&history.events[*index]));
    let release = release.expect("every hold is released");
    let EventKind::Release { worker, op } = history.events[release].what else {
        unreachable!("it was looked for");
    };
    // Moves the holder's release to after the next grant of the same key.
    let key_of = |what: &EventKind| match what {
        EventKind::StockRead { op: of, key, .. } if *of == op => Some(*key),
        _ => None,
    };
    let mut events = history.events.iter();
    let key = events
        .find_map(|event| key_of(&event.what))
        .expect("it read");
    let next_read = |event: &Event| matches!(event.what, EventKind::StockRead { op: of, key: k, .. } if of != op && k == key);
    let after = (release..).find(|index| next_read(&history.events[*index]));
    let after = after.expect("somebody buys after it");
    history
        .events
        .retain_mut(|event| !matches!(event.what, EventKind::Released { op: of, .. } if of == op));
    let late = Event {
        at_ns: history.events[after].at_ns,
        what: EventKind::Release { worker, op },
    };
    history.events.insert(after, late);
    history.events.remove(release);
    history
}
