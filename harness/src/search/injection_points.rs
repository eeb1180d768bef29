//! The injection points of a run: all events at which a fault can fire.
//!
//! Each has a trigger, so that a fault with this trigger fires at exactly this event when the run
//! is repeated: until then, both runs are equal. A request or a reply is identified by its link,
//! its command, the worker's request, and its number among these.

use std::collections::HashMap;

use picklock_scenarios::{Trigger, TriggerEvent};

use crate::context::SeenEvent;
use crate::run_result::RunResult;

/// An event at which a fault can fire.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionPoint {
    /// The trigger that fires at this event.
    pub trigger: Trigger,
    /// Whether a fault of the run has fired there.
    pub fired: bool,
}

/// Returns all injection points of a run that logs its commands, in order. The client that inspects
/// the locks after the run does not count.
pub fn injection_points(result: &RunResult) -> Vec<InjectionPoint> {
    let workers = result.history.header.workers;
    let mut counts = HashMap::new();
    let seen = result.seen_events.iter();
    let seen = seen.filter(|event| event.worker < workers);
    seen.map(|event| {
        let (on, worker, node) = (event.on, event.worker, event.node);
        let kind = (on, worker, node, &event.command, event.during);
        let nth = counts.entry(kind).or_insert(0);
        *nth += 1;
        InjectionPoint {
            trigger: trigger(event, *nth),
            fired: event.fired,
        }
    })
    .collect()
}

/// Returns the injection points from the last one on at which a fault has fired. Another fault can fire there as well.
pub fn since_last_fired(injection_points: &[InjectionPoint]) -> &[InjectionPoint] {
    let last = injection_points.iter().rposition(|point| point.fired);
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

/// Creates the trigger for the first such event, at this worker or at any.
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
