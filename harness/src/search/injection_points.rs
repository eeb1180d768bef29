//! The moments of a run: every event at which a fault can strike.
//!
//! Each is a trigger, so that a fault with it strikes in the very event when the same run is made again: until
//! then, the run is the same. A request or a reply is told by its link, its command, what the worker was asked
//! for, and its number among those.

use std::collections::HashMap;

use picklock_scenarios::{Trigger, TriggerEvent};

use crate::context::SeenEvent;
use crate::run_result::RunResult;

/// An event at which a fault can strike.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionPoint {
    /// What a fault waits for to strike there.
    pub trigger: Trigger,
    /// A fault of the run has struck there.
    pub struck: bool,
}

/// All moments of a run that logs its commands, in order. The client that looks at the locks after the run is not among
/// the workers.
pub fn injection_points(result: &RunResult) -> Vec<InjectionPoint> {
    let workers = result.history.header.workers;
    let mut counts = HashMap::new();
    let seen = result.seen_events.iter();
    let seen = seen.filter(|event| event.worker < workers);
    seen.map(|event| {
        let (on, worker, node) = (event.on, event.worker, event.node);
        let sort = (on, worker, node, &event.command, event.during);
        let nth = counts.entry(sort).or_insert(0);
        *nth += 1;
        InjectionPoint {
            trigger: trigger(event, *nth),
            struck: event.struck,
        }
    })
    .collect()
}

/// The moments from the last one on at which a fault has struck: at that one, another fault can strike as well.
pub fn since_last_fired(injection_points: &[InjectionPoint]) -> &[InjectionPoint] {
    let last = injection_points.iter().rposition(|moment| moment.struck);
    &injection_points[last.unwrap_or(0)..]
}

fn trigger(event: &SeenEvent, nth: u32) -> Trigger {
    Trigger {
        node: event.node,
        command: event.command.clone(),
        during: event.during,
        ..at_worker(event.on, event.worker, nth)
    }
}

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
        releases: false,
        during: None,
        nth: 1,
    }
}
