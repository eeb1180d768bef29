//! Moments: the events that set faults off, looked for by the driver and by the wire.
//!
//! A fault with a `when` lies here until its event happens. Then the strike is handed to the
//! nemesis, and whoever saw the event waits at a gate until the fault has struck, so that the
//! fault is there *at* the event and not soon after it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_scenarios::{Direction, EventKind, FaultPlan, Trigger};
use tokio::sync::{mpsc, oneshot};

use crate::wire::{Gate, InterceptedFrame, Interceptor};

/// Where a moment happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// The worker at which it happened.
    pub worker: Option<usize>,
    /// The node at which it happened.
    pub node: Option<usize>,
    /// The connection on whose frame it happened, and which way the frame went.
    pub frame: Option<(u64, Direction)>,
}

/// A fault that is due.
pub struct Strike {
    /// Which fault of the plan.
    pub plan: usize,
    /// Where its moment happened.
    pub site: Site,
    /// To be told when it has struck, or turned out to be impossible.
    pub struck: oneshot::Sender<()>,
}

struct Waiting {
    plan: usize,
    trigger: Trigger,
    seen: u32,
}

/// The moments that have not come yet.
pub struct Moments {
    waiting: Mutex<Vec<Waiting>>,
    /// How many of them wait for something on the wire; read on the wire's fast path.
    on_the_wire: AtomicUsize,
    strikes: mpsc::UnboundedSender<Strike>,
}

/// An event as the driver sees it.
#[derive(Debug, Clone, Copy)]
pub struct Happening {
    /// What.
    pub kind: EventKind,
    /// At which worker.
    pub worker: usize,
    /// The stock that was read or is left.
    pub stock: Option<i64>,
}

impl Moments {
    /// The moments of a plan, and where the strikes come out.
    pub fn of(plans: &[FaultPlan]) -> (Self, mpsc::UnboundedReceiver<Strike>) {
        let waiting: Vec<Waiting> = plans
            .iter()
            .enumerate()
            .filter_map(|(plan, fault)| {
                Some(Waiting {
                    plan,
                    trigger: fault.when.clone()?,
                    seen: 0,
                })
            })
            .collect();
        let on_the_wire = waiting.iter().filter(|one| is_wire(&one.trigger)).count();
        let (strikes, due) = mpsc::unbounded_channel();
        let moments = Moments {
            waiting: Mutex::new(waiting),
            on_the_wire: AtomicUsize::new(on_the_wire),
            strikes,
        };
        (moments, due)
    }

    /// The driver saw an event. `Some`: wait at the gate before going on.
    pub fn happened(&self, happening: Happening) -> Option<Gate> {
        let site = Site {
            worker: Some(happening.worker),
            node: None,
            frame: None,
        };
        self.strike_where(site, |trigger| {
            trigger.on == happening.kind
                && trigger
                    .worker
                    .is_none_or(|worker| worker == happening.worker)
                && trigger
                    .stock
                    .is_none_or(|stock| Some(stock) == happening.stock)
        })
    }

    /// The plans whose moment never came.
    pub fn never_came(&self) -> Vec<usize> {
        let waiting = self.lock();
        waiting.iter().map(|one| one.plan).collect()
    }

    fn strike_where(&self, site: Site, matches: impl Fn(&Trigger) -> bool) -> Option<Gate> {
        let mut gates = Vec::new();
        self.lock().retain_mut(|one| {
            if !matches(&one.trigger) {
                return true;
            }
            one.seen += 1;
            if one.seen < one.trigger.nth {
                return true;
            }
            if is_wire(&one.trigger) {
                self.on_the_wire.fetch_sub(1, Ordering::Release);
            }
            let (struck, gate) = oneshot::channel();
            let plan = one.plan;
            // Without a nemesis (the run is ending) nothing strikes, and nobody must wait.
            if self.strikes.send(Strike { plan, site, struck }).is_ok() {
                gates.push(gate);
            }
            false
        });
        if gates.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for gate in gates {
                // A nemesis that went away opens the gate as well.
                gate.await.unwrap_or_default();
            }
        }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

fn is_wire(trigger: &Trigger) -> bool {
    matches!(trigger.on, EventKind::Request | EventKind::Reply)
}

impl Interceptor for Moments {
    fn is_armed(&self) -> bool {
        self.on_the_wire.load(Ordering::Acquire) > 0
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<Gate> {
        let kind = match frame.direction {
            Direction::Request => EventKind::Request,
            Direction::Reply => EventKind::Reply,
        };
        let site = Site {
            worker: Some(frame.link.worker),
            node: Some(frame.link.node),
            frame: Some((frame.conn, frame.direction)),
        };
        self.strike_where(site, |trigger| {
            trigger.on == kind
                && trigger
                    .worker
                    .is_none_or(|worker| worker == frame.link.worker)
                && trigger.node.is_none_or(|node| node == frame.link.node)
                && trigger
                    .command
                    .as_ref()
                    .is_none_or(|command| command.eq_ignore_ascii_case(frame.command))
                && !(trigger.success && frame.is_error)
                && (!trigger.names_key || frame.key.is_some())
                && trigger.during.is_none_or(|phase| phase == frame.phase)
        })
    }
}
