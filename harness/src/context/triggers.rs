//! Triggers: the events that start faults, as seen by the driver and by the proxy.
//!
//! A fault with a `when` waits here for its event. When the event happens, the fault is passed to the nemesis, and the
//! component that observed the event waits until the fault has fired. So the fault takes effect exactly at the event,
//! and not some time later.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use picklock_scenarios::{Direction, FaultPlan, Phase, Trigger, TriggerEvent};
use tokio::sync::{mpsc, oneshot};

use crate::model::is_greeting;
use crate::proxy::{
    FrameBarrier, InterceptedFrame, Interceptor, LinkId, LockEffect, may_take, may_write,
};

/// The location of an event. Empty for a fault that starts at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Location {
    /// The worker at which the event happened.
    pub worker: Option<usize>,
    /// The node at which the event happened.
    pub node: Option<usize>,
    /// The connection and direction of the frame that was the event.
    pub frame: Option<(u64, Direction)>,
    /// Whether it is unknown which command took the lock. In that case the first command that names the key and could
    /// take the lock is used.
    pub supposed: bool,
}

/// A fault whose trigger has fired.
pub struct DueFault {
    /// Index of the fault in the plan.
    pub plan: usize,
    /// Location of the event that was its trigger.
    pub location: Location,
    /// Receives a message when the fault has taken effect, or failed to do so.
    pub started: oneshot::Sender<()>,
}

/// A fault that waits for its event.
struct PendingFault {
    /// Index of the fault in the plan.
    plan: usize,
    trigger: Trigger,
    /// Number of matching events so far.
    seen: u32,
    /// The attempt that has taken the lock on some nodes, and these nodes.
    taken: (u64, Vec<usize>),
    /// The distinct commands that passed on the links on which the fault is waiting for a command.
    passed: Vec<String>,
}

/// Maximum number of commands recorded for a fault whose trigger does not fire.
const MAX_PASSED: usize = 12;

/// A fault whose trigger never fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfiredTrigger {
    /// Index of the fault in the plan.
    pub plan: usize,
    /// The commands that passed on the links on which the fault waited, or `None` if its trigger is not a message.
    pub passed: Option<Vec<String>>,
}

impl PendingFault {
    /// Records a command that passes on a link on which this fault is waiting.
    fn record_passed(&mut self, command: &str) {
        let is_recorded = self.passed.iter().any(|passed| passed == command);
        if !is_recorded && self.passed.len() < MAX_PASSED {
            self.passed.push(command.to_owned());
        }
    }

    /// Returns `true` if this frame completes an acquisition: with it, the lock is taken on `quorum` nodes, or on the
    /// node that the trigger names.
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

/// The triggers that have not fired yet.
pub struct Triggers {
    /// Whether the run has begun. Before that, the nemesis applies no faults, so a frame that waited for a fault would
    /// wait forever.
    begun: AtomicBool,
    pending: Mutex<Vec<PendingFault>>,
    /// The workers whose requests or replies are awaited by some trigger, see [`watched`]. Read on the proxy's fast
    /// path.
    watched: AtomicU64,
    /// Number of nodes on which the lock must be taken.
    quorum: usize,
    due: mpsc::UnboundedSender<DueFault>,
    /// Whether the lock renews its lease in the background. If so, faults that wait for an extension wait for such a
    /// renewal.
    renews: bool,
    /// Whether the lock has granted an extension on request. From then on, such requests also count as extensions,
    /// because they may make background renewals unnecessary.
    has_extended: AtomicBool,
    /// All events so far, or `None` if events are not listed.
    seen: Option<Mutex<Vec<SeenEvent>>>,
}

/// An event that a fault could have waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEvent {
    /// The kind of the event.
    pub on: TriggerEvent,
    /// The worker at which the event happened.
    pub worker: usize,
    /// For a message, the node to or from which it was sent.
    pub node: Option<usize>,
    /// For a message, the command in upper case. For a reply, the command that it answers.
    pub command: Option<String>,
    /// For a message, the worker's current request.
    pub during: Option<Phase>,
    /// Whether a fault that waited for the event has fired.
    pub fired: bool,
}

impl Triggers {
    /// Creates the triggers of these faults, and the channel that receives the faults whose trigger
    /// has fired. `quorum` is the number of nodes on which the lock must be taken.
    pub fn for_plans(
        plans: &[FaultPlan],
        quorum: usize,
    ) -> (Self, mpsc::UnboundedReceiver<DueFault>) {
        let pending: Vec<PendingFault> = plans
            .iter()
            .enumerate()
            .filter_map(|(plan, fault)| {
                Some(PendingFault {
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
            watched: AtomicU64::new(watched(&pending, false)),
            pending: Mutex::new(pending),
            quorum,
            due: sender,
            renews: false,
            has_extended: AtomicBool::new(false),
            seen: None,
        };
        (triggers, due)
    }

    /// Returns the same triggers for a lock that does or does not renew its lease in the background, according to
    /// `renews`.
    #[must_use]
    pub fn for_renewals(mut self, renews: bool) -> Self {
        self.watched = AtomicU64::new(watched(&lock(&self.pending), renews));
        self.renews = renews;
        self
    }

    /// Returns the same triggers, which then list every event.
    #[must_use]
    pub fn listing_events(self) -> Self {
        Triggers {
            seen: Some(Mutex::default()),
            ..self
        }
    }

    /// Begins the run: from now on, frames can fire faults.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// Returns all events so far in order, or an empty list if events are not listed.
    pub fn seen_events(&self) -> Vec<SeenEvent> {
        let seen = self.seen.as_ref().map(lock);
        seen.map(|seen| seen.clone()).unwrap_or_default()
    }

    /// Adds an event to the list, if events are listed. `barrier` is present if a fault has fired at the event.
    fn list(
        &self,
        barrier: Option<FrameBarrier>,
        event: impl FnOnce() -> SeenEvent,
    ) -> Option<FrameBarrier> {
        if let Some(seen) = &self.seen {
            lock(seen).push(SeenEvent {
                fired: barrier.is_some(),
                ..event()
            });
        }
        barrier
    }

    /// Records that the lock has granted an extension on request.
    pub fn record_extended(&self) {
        self.has_extended.store(true, Ordering::Relaxed);
    }

    /// Reports an event of this worker that the driver has observed, with the stock that was read or remains. The
    /// caller must wait for the returned barrier before it continues.
    pub fn happened(
        &self,
        on: TriggerEvent,
        worker: usize,
        stock: Option<i64>,
    ) -> Option<FrameBarrier> {
        let has_extended = self.has_extended.load(Ordering::Relaxed);
        if self.renews && !has_extended && is_extension(on) {
            return None;
        }
        let location = Location {
            worker: Some(worker),
            ..Location::default()
        };
        let barrier = self.start_where(location, |fault| {
            let trigger = &fault.trigger;
            trigger.on == on
                && trigger.worker.is_none_or(|only| only == worker)
                && trigger.stock.is_none_or(|only| Some(only) == stock)
        });
        self.list(barrier, || SeenEvent {
            on,
            worker,
            node: None,
            command: None,
            during: None,
            fired: false,
        })
    }

    /// Returns the faults whose trigger never fired.
    pub fn unfired(&self) -> Vec<UnfiredTrigger> {
        let pending = lock(&self.pending);
        let unfired = pending.iter().map(|fault| UnfiredTrigger {
            plan: fault.plan,
            passed: is_message_trigger(&fault.trigger).then(|| fault.passed.clone()),
        });
        unfired.collect()
    }

    /// Removes a fault that can no longer start.
    pub fn forget(&self, plan: usize) {
        let mut pending = lock(&self.pending);
        pending.retain(|fault| fault.plan != plan);
        self.watched
            .store(watched(&pending, self.renews), Ordering::Release);
    }

    fn start_where(
        &self,
        location: Location,
        matches: impl Fn(&mut PendingFault) -> bool,
    ) -> Option<FrameBarrier> {
        let mut barriers = Vec::new();
        let mut pending = lock(&self.pending);
        let before = pending.len();
        pending.retain_mut(|fault| {
            if !matches(fault) {
                return true;
            }
            fault.seen += 1;
            if fault.seen < fault.trigger.nth {
                return true;
            }
            let (started, barrier) = oneshot::channel();
            let fault = DueFault {
                plan: fault.plan,
                location: Location {
                    supposed: location.supposed && (fault.trigger.takes || fault.trigger.releases),
                    ..location
                },
                started,
            };
            // If the nemesis is gone, the run is ending. The fault then does not start, and no barrier is needed.
            if self.due.send(fault).is_ok() {
                barriers.push(barrier);
            }
            false
        });
        if pending.len() < before {
            self.watched
                .store(watched(&pending, self.renews), Ordering::Release);
        }
        drop(pending);
        if barriers.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for barrier in barriers {
                // The barrier also opens if the nemesis has ended, which is an error here.
                barrier.await.unwrap_or_default();
            }
        }))
    }
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_extension(on: TriggerEvent) -> bool {
    matches!(on, TriggerEvent::Extend | TriggerEvent::Extended)
}

/// If this frame belongs to a background renewal, returns the trigger event: the request for an extension, or its
/// successful reply. A lock on several nodes renews its lease on all of them; only node 0 counts.
fn renewal(frame: &InterceptedFrame<'_>) -> Option<TriggerEvent> {
    let is_renewal = frame.phase == Phase::Idle && frame.key.is_some() && frame.link.node == 0;
    match frame.direction {
        _ if !is_renewal => None,
        Direction::Request => Some(TriggerEvent::Extend),
        Direction::Reply => (!frame.is_error).then_some(TriggerEvent::Extended),
    }
}

fn is_message_trigger(trigger: &Trigger) -> bool {
    matches!(trigger.on, TriggerEvent::Request | TriggerEvent::Reply)
}

/// Returns the workers whose frames are awaited by some trigger, with one bit per worker. Workers whose numbers differ
/// by a multiple of 64 share a bit.
fn watched(pending: &[PendingFault], renews: bool) -> u64 {
    let triggers = pending.iter().map(|fault| &fault.trigger);
    let message_triggers = triggers
        .filter(|trigger| is_message_trigger(trigger) || renews && is_extension(trigger.on));
    message_triggers.fold(0, |bits, trigger| {
        bits | trigger.worker.map_or(u64::MAX, bit_of)
    })
}

fn bit_of(worker: usize) -> u64 {
    1 << (worker % 64)
}

/// Returns `true` if a frame on this link may be the trigger's event.
fn may_happen_on(trigger: &Trigger, link: LinkId) -> bool {
    trigger.worker.is_none_or(|worker| worker == link.worker)
        && trigger.node.is_none_or(|node| node == link.node)
}

/// Returns `true` for the reply to the command with this effect on the lock. If the effect is unknown, returns `true`
/// for a successful reply to a command that names the key and could have this effect, according to `may`.
fn has_effect(frame: &InterceptedFrame<'_>, done: LockEffect, may: fn(&str) -> bool) -> bool {
    match frame.lock_effect {
        LockEffect::Unknown => frame.key.is_some() && !frame.is_error && may(frame.command),
        effect => effect == done,
    }
}

impl Interceptor for Triggers {
    fn is_armed(&self, worker: usize) -> bool {
        self.begun.load(Ordering::Acquire)
            && (self.watched.load(Ordering::Acquire) & bit_of(worker) != 0 || self.seen.is_some())
    }

    fn waits_for_effect(&self, link: LinkId, phase: Phase) -> bool {
        let pending = lock(&self.pending);
        let mut triggers = pending.iter().map(|fault| &fault.trigger);
        triggers.any(|trigger| {
            let wants = match phase {
                Phase::Acquire => trigger.takes,
                Phase::Release => trigger.releases,
                Phase::Extend | Phase::Idle => false,
            };
            wants && may_happen_on(trigger, link)
        })
    }

    fn waits_for_key(&self, link: LinkId, phase: Phase) -> bool {
        let pending = lock(&self.pending);
        let mut triggers = pending.iter().map(|fault| &fault.trigger);
        triggers.any(|trigger| {
            let is_renewal = self.renews && is_extension(trigger.on) && phase == Phase::Idle;
            may_happen_on(trigger, link)
                && (is_renewal
                    || trigger.names_key && trigger.during.is_none_or(|during| during == phase))
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
            supposed: frame.lock_effect == LockEffect::Unknown,
        };
        let renewal = renewal(frame).filter(|_| self.renews);
        let barrier = self.start_where(location, |fault| {
            let trigger = &fault.trigger;
            if renewal == Some(trigger.on) {
                return trigger
                    .worker
                    .is_none_or(|worker| worker == frame.link.worker);
            }
            let passes = trigger.on == kind
                && may_happen_on(trigger, frame.link)
                && trigger.during.is_none_or(|phase| phase == frame.phase);
            if !passes {
                return false;
            }
            fault.record_passed(frame.command);
            let trigger = &fault.trigger;
            let is_command = match &trigger.command {
                Some(command) => command.eq_ignore_ascii_case(frame.command),
                // Connection setup commands are not part of the requested operation.
                None => !is_greeting(frame.command),
            };
            is_command
                && !(trigger.success && frame.is_error)
                && (!trigger.releases || has_effect(frame, LockEffect::Released, may_write))
                && (!trigger.names_key || frame.key.is_some())
                && (!trigger.takes
                    || has_effect(frame, LockEffect::Took, may_take)
                        && fault.completes(frame, self.quorum))
        });
        self.list(barrier, || SeenEvent {
            on: kind,
            worker: frame.link.worker,
            node: Some(frame.link.node),
            command: Some(frame.command.to_owned()),
            during: Some(frame.phase),
            fired: false,
        })
    }
}

#[cfg(test)]
mod tests;
