//! Triggers: the events that start faults, as seen by the driver and by the proxy.
//!
//! A fault with a `when` waits here for its event. When the event happens, the fault is handed to
//! the nemesis, and the part that saw the event waits until the fault has struck. So the fault is
//! there *at* the event, not soon after it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use picklock_scenarios::{Direction, FaultPlan, Phase, Trigger, TriggerEvent};
use tokio::sync::{mpsc, oneshot};

use crate::model::is_greeting;
use crate::proxy::{
    Acquired, FrameBarrier, InterceptedFrame, Interceptor, LinkId, may_take, may_write,
};

/// Where an event happened; nowhere, for a fault that starts at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Location {
    /// The worker at which it happened.
    pub worker: Option<usize>,
    /// The node at which it happened.
    pub node: Option<usize>,
    /// The connection on whose frame it happened, and which way the frame went.
    pub frame: Option<(u64, Direction)>,
    /// True if nobody could say which command took the lock, and the first took its place that names
    /// the key and may take it.
    pub supposed: bool,
}

/// A fault that is due.
pub struct DueFault {
    /// Which fault of the plan.
    pub plan: usize,
    /// Where its event happened.
    pub location: Location,
    /// Receives a message when it has struck, or could not.
    pub started: oneshot::Sender<()>,
}

struct Waiting {
    /// Which fault of the plan.
    plan: usize,
    trigger: Trigger,
    seen: u32,
    /// The attempt that has taken the lock on some nodes, and those.
    taken: (u64, Vec<usize>),
    /// The commands that passed where it waits for one, each once.
    passed: Vec<String>,
}

/// So many commands are noted for a fault whose moment does not come.
const MAX_PASSED: usize = 12;

/// A fault whose event never happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverCame {
    /// Which fault of the plan.
    pub plan: usize,
    /// The commands that passed where it waited for one; `None`: it waited for none.
    pub passed: Option<Vec<String>>,
}

impl Waiting {
    /// Notes a command that passes where this one waits.
    fn note(&mut self, command: &str) {
        let is_known = self.passed.iter().any(|known| known == command);
        if !is_known && self.passed.len() < MAX_PASSED {
            self.passed.push(command.to_owned());
        }
    }

    /// True if the lock is taken now on as many nodes as it needs, or on the node that the trigger names.
    fn completes(&mut self, frame: &InterceptedFrame<'_>, quorum: usize) -> bool {
        let (op, nodes) = &mut self.taken;
        if *op != frame.op {
            (*op, *nodes) = (frame.op, Vec::new());
        }
        if !nodes.contains(&frame.link.node) {
            nodes.push(frame.link.node);
        }
        self.trigger.node.is_some() || nodes.len() >= quorum
    }
}

/// The triggers whose event has not happened yet.
pub struct Triggers {
    /// The run has begun. Nobody applies faults before, so a frame would wait for one in vain.
    begun: AtomicBool,
    waiting: Mutex<Vec<Waiting>>,
    /// The workers for whose requests or replies they wait: see [`watched`]. Read on the wire's fast path.
    watched: AtomicU64,
    /// On so many nodes the lock has to be taken.
    quorum: usize,
    due: mpsc::UnboundedSender<DueFault>,
    /// Every event so far, if they are listed.
    seen: Option<Mutex<Vec<SeenEvent>>>,
}

/// An event that a fault could have waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEvent {
    /// What happened.
    pub on: TriggerEvent,
    /// At which worker.
    pub worker: usize,
    /// Of a message: to or from which node.
    pub node: Option<usize>,
    /// Of a message: the command, or the one that it answers, in upper case.
    pub command: Option<String>,
    /// Of a message: what the worker had been asked for.
    pub during: Option<Phase>,
    /// A fault that had waited for it has struck.
    pub struck: bool,
}

impl Triggers {
    /// The triggers of these faults, and the channel on which faults are handed over when due. `quorum`: on how many
    /// nodes the lock has to be taken.
    pub fn for_plans(
        plans: &[FaultPlan],
        quorum: usize,
    ) -> (Self, mpsc::UnboundedReceiver<DueFault>) {
        let waiting: Vec<Waiting> = plans
            .iter()
            .enumerate()
            .filter_map(|(plan, fault)| {
                Some(Waiting {
                    plan,
                    trigger: fault.when.clone()?,
                    seen: 0,
                    taken: (0, Vec::new()),
                    passed: Vec::new(),
                })
            })
            .collect();
        let (sender, due) = mpsc::unbounded_channel();
        let triggers = Triggers {
            begun: AtomicBool::new(false),
            watched: AtomicU64::new(watched(&waiting)),
            waiting: Mutex::new(waiting),
            quorum,
            due: sender,
            seen: None,
        };
        (triggers, due)
    }

    /// The same, and it lists every event.
    #[must_use]
    pub fn listing_events(self) -> Self {
        Triggers {
            seen: Some(Mutex::default()),
            ..self
        }
    }

    /// The run begins: from now on frames can be what faults wait for.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// Every event so far, in order, if they are listed.
    pub fn seen_events(&self) -> Vec<SeenEvent> {
        let seen = self.seen.as_ref().map(lock);
        seen.map(|seen| seen.clone()).unwrap_or_default()
    }

    /// Lists an event. `gate`: what a fault that waited for it has made of it.
    fn list(
        &self,
        gate: Option<FrameBarrier>,
        event: impl FnOnce() -> SeenEvent,
    ) -> Option<FrameBarrier> {
        if let Some(seen) = &self.seen {
            lock(seen).push(SeenEvent {
                struck: gate.is_some(),
                ..event()
            });
        }
        gate
    }

    /// The driver saw an event at this worker. `stock`: what was read or is left. `Some`: wait for it before going on.
    pub fn happened(
        &self,
        on: TriggerEvent,
        worker: usize,
        stock: Option<i64>,
    ) -> Option<FrameBarrier> {
        let location = Location {
            worker: Some(worker),
            ..Location::default()
        };
        let gate = self.start_where(location, |one| {
            let trigger = &one.trigger;
            trigger.on == on
                && trigger.worker.is_none_or(|only| only == worker)
                && trigger.stock.is_none_or(|only| Some(only) == stock)
        });
        self.list(gate, || SeenEvent {
            on,
            worker,
            node: None,
            command: None,
            during: None,
            struck: false,
        })
    }

    /// The faults whose event never happened.
    pub fn never_came(&self) -> Vec<NeverCame> {
        let waiting = lock(&self.waiting);
        let never = waiting.iter().map(|one| NeverCame {
            plan: one.plan,
            passed: is_wire(&one.trigger).then(|| one.passed.clone()),
        });
        never.collect()
    }

    /// The fault can no longer start.
    pub fn forget(&self, plan: usize) {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|one| one.plan != plan);
        self.watched.store(watched(&waiting), Ordering::Release);
    }

    fn start_where(
        &self,
        location: Location,
        matches: impl Fn(&mut Waiting) -> bool,
    ) -> Option<FrameBarrier> {
        let mut gates = Vec::new();
        let mut waiting = lock(&self.waiting);
        let before = waiting.len();
        waiting.retain_mut(|one| {
            if !matches(one) {
                return true;
            }
            one.seen += 1;
            if one.seen < one.trigger.nth {
                return true;
            }
            let (started, gate) = oneshot::channel();
            let fault = DueFault {
                plan: one.plan,
                location: Location {
                    supposed: location.supposed && (one.trigger.takes || one.trigger.releases),
                    ..location
                },
                started,
            };
            // Without a nemesis the run is ending: nothing starts, so there is nothing to wait for.
            if self.due.send(fault).is_ok() {
                gates.push(gate);
            }
            false
        });
        if waiting.len() < before {
            self.watched.store(watched(&waiting), Ordering::Release);
        }
        drop(waiting);
        if gates.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for gate in gates {
                // If the nemesis has ended, this opens the gate, too.
                gate.await.unwrap_or_default();
            }
        }))
    }
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_wire(trigger: &Trigger) -> bool {
    matches!(trigger.on, TriggerEvent::Request | TriggerEvent::Reply)
}

/// The workers whose frames can be what the triggers wait for, a bit each; those 64 further share theirs.
fn watched(waiting: &[Waiting]) -> u64 {
    let triggers = waiting.iter().map(|one| &one.trigger);
    let on_the_wire = triggers.filter(|trigger| is_wire(trigger));
    on_the_wire.fold(0, |bits, trigger| {
        bits | trigger.worker.map_or(u64::MAX, bit_of)
    })
}

fn bit_of(worker: usize) -> u64 {
    1 << (worker % 64)
}

/// True if a frame on this link may be the trigger's event.
fn is_of(trigger: &Trigger, link: LinkId) -> bool {
    trigger.worker.is_none_or(|worker| worker == link.worker)
        && trigger.node.is_none_or(|node| node == link.node)
}

/// True for the reply to the command that did this to the lock. Where nobody could say what it did, for the first that
/// names the key and `may` have done so.
fn did(frame: &InterceptedFrame<'_>, done: Acquired, may: fn(&str) -> bool) -> bool {
    match frame.acquired {
        Acquired::Unknown => frame.key.is_some() && !frame.is_error && may(frame.command),
        known => known == done,
    }
}

impl Interceptor for Triggers {
    fn is_armed(&self, worker: usize) -> bool {
        self.begun.load(Ordering::Acquire)
            && (self.watched.load(Ordering::Acquire) & bit_of(worker) != 0 || self.seen.is_some())
    }

    fn waits_for_effect(&self, link: LinkId, phase: Phase) -> bool {
        let waiting = lock(&self.waiting);
        let mut triggers = waiting.iter().map(|one| &one.trigger);
        triggers.any(|trigger| {
            let wants = match phase {
                Phase::Acquire => trigger.takes,
                Phase::Release => trigger.releases,
                Phase::Extend | Phase::Idle => false,
            };
            wants && is_of(trigger, link)
        })
    }

    fn waits_for_key(&self, link: LinkId, phase: Phase) -> bool {
        let waiting = lock(&self.waiting);
        let mut triggers = waiting.iter().map(|one| &one.trigger);
        triggers.any(|trigger| {
            trigger.names_key
                && is_of(trigger, link)
                && trigger.during.is_none_or(|during| during == phase)
        })
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        let kind = match frame.direction {
            Direction::Request => TriggerEvent::Request,
            Direction::Reply => TriggerEvent::Reply,
        };
        let location = Location {
            worker: Some(frame.link.worker),
            node: Some(frame.link.node),
            frame: Some((frame.conn, frame.direction)),
            supposed: frame.acquired == Acquired::Unknown,
        };
        let gate = self.start_where(location, |one| {
            let trigger = &one.trigger;
            let passes = trigger.on == kind
                && is_of(trigger, frame.link)
                && trigger.during.is_none_or(|phase| phase == frame.phase);
            if !passes {
                return false;
            }
            one.note(frame.command);
            let trigger = &one.trigger;
            let is_command = match &trigger.command {
                Some(command) => command.eq_ignore_ascii_case(frame.command),
                // Who greets a server does nothing of what it was asked for.
                None => !is_greeting(frame.command),
            };
            is_command
                && !(trigger.success && frame.is_error)
                && (!trigger.releases || did(frame, Acquired::Released, may_write))
                && (!trigger.names_key || frame.key.is_some())
                && (!trigger.takes
                    || did(frame, Acquired::Lock, may_take) && one.completes(frame, self.quorum))
        });
        self.list(gate, || SeenEvent {
            on: kind,
            worker: frame.link.worker,
            node: Some(frame.link.node),
            command: Some(frame.command.to_owned()),
            during: Some(frame.phase),
            struck: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::catalog;

    use super::*;

    fn waiting_for(worker: Option<usize>) -> Triggers {
        let mut faults = catalog::named("lost-reply").unwrap().faults;
        faults[0].when.as_mut().unwrap().worker = worker;
        let triggers = Triggers::for_plans(&faults, 1).0;
        triggers.begin();
        triggers
    }

    /// An adapter may send commands before it is ready.
    #[test]
    fn no_frame_is_shown_before_the_run_begins() {
        let faults = catalog::named("lost-reply").unwrap().faults;
        let triggers = Triggers::for_plans(&faults, 1).0.listing_events();
        assert!(!triggers.is_armed(0));
        triggers.begin();
        assert!(triggers.is_armed(0));
    }

    #[test]
    fn frames_are_shown_of_workers_for_which_a_fault_waits_until_it_is_forgotten() {
        let of_one = waiting_for(Some(1));
        assert_eq!(
            [0, 1, 2].map(|it| of_one.is_armed(it)),
            [false, true, false]
        );
        // Beyond 64 workers some frames are shown for nothing, and none is missed.
        let of_a_late_one = waiting_for(Some(100));
        assert!(of_a_late_one.is_armed(100));
        let of_anybody = waiting_for(None);
        assert!((0..200).all(|worker| of_anybody.is_armed(worker)));
        of_anybody.forget(0);
        assert!((0..200).all(|worker| !of_anybody.is_armed(worker)));
    }
}
