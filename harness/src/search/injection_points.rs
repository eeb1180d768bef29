//! The injection points of a run: all events at which a fault can fire.
//!
//! Each injection point has a trigger. A fault with this trigger fires at exactly this event when the run is repeated,
//! because both runs are equal until then. A request or a reply is identified by its link, its command, the worker's
//! request, and its number among these.

use std::collections::HashMap;

use picklock_scenarios::{Trigger, TriggerEvent};

use crate::context::SeenEvent;
use crate::run_result::RunResult;

/// An event at which a fault can fire.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionPoint {
    /// The trigger that fires at this event.
    pub trigger: Trigger,
    /// Whether a fault of the run has fired at this event.
    pub fired: bool,
}

/// Returns all injection points of a run that logs its commands, in order. Events of the client that inspects the locks
/// after the run are left out.
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

/// Returns the last injection point at which a fault has fired, and all later ones. A further fault can fire at the
/// same point.
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

/// Creates the trigger for the first such event at this worker, or at any worker if `worker` is `None`.
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
