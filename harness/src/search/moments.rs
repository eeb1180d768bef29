//! The moments of a run: every event at which a fault can strike.
//!
//! Each is a trigger, so that a fault with it strikes in the very event when the same run is made again: until
//! then, the run is the same. A request or a reply is told by its link, its command, what the worker was asked
//! for, and its number among those.

use std::collections::HashMap;

use picklock_scenarios::{Direction, Trigger, TriggerEvent};

use crate::history::{EventKind, History};
use crate::run_result::RunResult;
use crate::wire::LogEntry;

/// An event at which a fault can strike.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// When it was, in nanoseconds since the run began.
    pub at_ns: u64,
    /// What a fault waits for to strike there.
    pub trigger: Trigger,
}

/// All moments of a run, in the order of their times. `None`: the run has no command log, or a part of it was
/// replaced. The client that looks at the locks after the run is not among the workers.
pub fn moments(result: &RunResult) -> Option<Vec<Moment>> {
    let log = result.wire_log.as_ref().filter(|log| log.left_out() == 0)?;
    let workers = result.history.header.workers;
    let entries = log.entries();
    let mut moments = of_driver(&result.history);
    let mut seen = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.worker < workers) {
        let nth = seen.entry(sort_of(entry)).or_insert(0);
        *nth += 1;
        moments.push(of_frame(entry, *nth));
    }
    moments.sort_by_key(|moment| moment.at_ns);
    Some(moments)
}

/// What a trigger tells requests and replies apart by, besides their number.
fn sort_of(entry: &LogEntry) -> impl Eq + std::hash::Hash + use<> {
    (
        entry.worker,
        entry.node,
        entry.direction,
        entry.command.clone(),
        entry.phase,
    )
}

fn of_frame(entry: &LogEntry, nth: u32) -> Moment {
    let on = match entry.direction {
        Direction::Request => TriggerEvent::Request,
        Direction::Reply => TriggerEvent::Reply,
    };
    Moment {
        at_ns: entry.at_ns,
        trigger: Trigger {
            node: Some(entry.node),
            command: Some(entry.command.clone()),
            during: Some(entry.phase),
            ..at_worker(on, entry.worker, nth)
        },
    }
}

/// The steps of the driver, each with its number among those of its worker.
fn of_driver(history: &History) -> Vec<Moment> {
    let mut seen = HashMap::new();
    let steps = history.events.iter().filter_map(|event| {
        let (on, worker) = step(&event.what)?;
        let nth = seen.entry((on, worker)).or_insert(0);
        *nth += 1;
        Some(Moment {
            at_ns: event.at_ns,
            trigger: at_worker(on, worker, *nth),
        })
    });
    steps.collect()
}

fn step(what: &EventKind) -> Option<(TriggerEvent, usize)> {
    Some(match *what {
        EventKind::Acquire { worker, .. } => (TriggerEvent::Acquire, worker),
        EventKind::Granted { worker, .. } => (TriggerEvent::Granted, worker),
        EventKind::Extend { worker, .. } => (TriggerEvent::Extend, worker),
        EventKind::ExtendGranted { worker, .. } => (TriggerEvent::Extended, worker),
        EventKind::StockRead { worker, .. } => (TriggerEvent::StockRead, worker),
        EventKind::StockChanged { worker, .. } => (TriggerEvent::StockChanged, worker),
        EventKind::Release { worker, .. } => (TriggerEvent::Release, worker),
        _ => return None,
    })
}

/// The n-th such event at this worker.
pub(super) fn at_worker(on: TriggerEvent, worker: usize, nth: u32) -> Trigger {
    Trigger {
        nth,
        ..event(on, Some(worker))
    }
}

/// The first such event, at this worker or at any.
pub(super) fn event(on: TriggerEvent, worker: Option<usize>) -> Trigger {
    Trigger {
        on,
        worker,
        stock: None,
        node: None,
        command: None,
        names_key: false,
        success: false,
        takes: false,
        during: None,
        nth: 1,
    }
}
