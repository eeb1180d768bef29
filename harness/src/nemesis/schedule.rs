//! When faults start, how long they last, and how they end.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{
    Action, Affects, FaultPlan, Lasts, LinkAction, NodeAction, Target, TaskScope, WorkerAction,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::active_faults::{ActiveFaults, Undo};
use super::clocks::ClockShifts;
use super::frozen_workers::FrozenWorkers;
use crate::backend::{Backend, Capabilities, Refusal};
use crate::clock::{millis, nanos};
use crate::context::{DueFault, Location, RunContext};
use crate::history::{ClockShift, EventKind, MissedBecause};
use crate::proxy::ImposedId;

/// How often to check whether a fault with a frame limit has affected all its frames. A fault stops affecting frames
/// without this check, which only decides when the history records its end.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Description of the trigger if it is unknown which command took the lock.
const ASSUMED_TRIGGER: &str =
    "the first command that names the key and could take it: its effect is unknown";

/// Reason for a fault that was active but counts as missed.
const NOTHING_PASSED: &str = "no message passed that the fault could affect";

/// The component of a run that makes faults happen.
pub struct Nemesis<B> {
    pub(super) context: Rc<RunContext<B>>,
    pub(super) active_faults: ActiveFaults,
    pub(super) clocks: ClockShifts,
    pub(super) frozen_workers: FrozenWorkers,
    next_id: Cell<u32>,
    /// The active faults with a frame limit, by fault id: their index in the plan, and the fault imposed on the links.
    frame_limited: RefCell<BTreeMap<u32, (usize, ImposedId)>>,
    /// The links that are affected by faults that never end.
    endless_links: RefCell<Vec<Target>>,
    /// Indices of faults that have started, or that the backend cannot apply.
    settled: RefCell<BTreeSet<usize>>,
}

impl<B: Backend> Nemesis<B> {
    /// Plans the faults of a run. Faults that the backend cannot apply are recorded and never start.
    pub fn new(context: &Rc<RunContext<B>>, capabilities: &Capabilities) -> Rc<Self> {
        let nemesis = Nemesis {
            context: Rc::clone(context),
            active_faults: ActiveFaults::default(),
            clocks: ClockShifts::default(),
            frozen_workers: FrozenWorkers::default(),
            next_id: Cell::new(0),
            frame_limited: RefCell::default(),
            endless_links: RefCell::default(),
            settled: RefCell::default(),
        };
        for (index, plan) in nemesis.plans().iter().enumerate() {
            if let Err(unable) = capabilities.offer(plan) {
                nemesis.refused(index, &unable);
                nemesis.context.triggers.forget(index);
                nemesis.settled.borrow_mut().insert(index);
            }
        }
        Rc::new(nemesis)
    }

    /// Starts each fault at its time or its event. The future never completes: dropping it prevents
    /// new faults, and [`Nemesis::undo_all`] ends the active ones. `ready` is notified when the
    /// faults that begin with the run have started.
    pub async fn run(
        self: Rc<Self>,
        mut due: mpsc::UnboundedReceiver<DueFault>,
        ready: oneshot::Sender<()>,
    ) {
        self.context.triggers.begin();
        let mut faults = JoinSet::new();
        for started in self.start_timed(&mut faults) {
            // If a fault's task is gone, the fault has failed, and the history records this.
            started.await.unwrap_or_default();
        }
        ready.send(()).unwrap_or_default();
        while let Some(due) = due.recv().await {
            let nemesis = Rc::clone(&self);
            faults.spawn_local(async move {
                // The component that waits for the start may be gone together with its connection.
                let started = || due.started.send(()).unwrap_or_default();
                nemesis.start(due.plan, due.location, started).await;
            });
        }
        std::future::pending::<()>().await;
    }

    /// Schedules the faults with a time. Returns a receiver for each start that the run must wait for before it begins.
    fn start_timed(self: &Rc<Self>, faults: &mut JoinSet<()>) -> Vec<oneshot::Receiver<()>> {
        let mut at_once = Vec::new();
        for (index, plan) in self.plans().iter().enumerate() {
            let Some(at) = plan.at else { continue };
            if self.settled.borrow().contains(&index) {
                continue;
            }
            let at = at.resolve(self.context.spec.ttl());
            let (started, has_started) = oneshot::channel();
            if at.is_zero() {
                at_once.push(has_started);
            }
            let nemesis = Rc::clone(self);
            faults.spawn_local(async move {
                if !at.is_zero() {
                    tokio::time::sleep(at).await;
                }
                nemesis.settled.borrow_mut().insert(index);
                // If the fault starts later, nothing waits for its start.
                let started = || started.send(()).unwrap_or_default();
                nemesis.start(index, Location::default(), started).await;
            });
        }
        at_once
    }

    /// Ends all active faults, and the watch of frozen workers.
    pub async fn undo_all(&self) {
        while let Some(id) = self.active_faults.last() {
            self.end(id).await;
        }
        self.frozen_workers.end_all(&self.context);
    }

    /// Records the planned faults that never started, and the endless faults that affected nothing. Must be called
    /// before the other faults end, because a `FaultMissed` event directly after the end of a fault means that this
    /// fault could not be applied.
    pub fn settle(&self) {
        for (id, (index, imposed)) in self.frame_limited.borrow().iter() {
            if self.active_faults.steps(*id).is_none()
                && self.context.backend.frames_affected(*imposed) == 0
            {
                self.missed(*index, NOTHING_PASSED.into(), None);
            }
        }
        let settled = self.settled.borrow().clone();
        let timed = self.plans().iter().enumerate();
        let too_late = timed.filter(|(index, plan)| plan.at.is_some() && !settled.contains(index));
        for (index, _) in too_late {
            self.missed(
                index,
                "the run ended before the time of the fault".into(),
                None,
            );
        }
        for unfired in self.context.triggers.unfired() {
            let passed = match unfired.passed.as_deref() {
                None => String::new(),
                Some([]) => ": no command passed there".to_owned(),
                Some(all) => format!(": the commands that passed there were {}", all.join(", ")),
            };
            let reason = format!("its trigger never fired{passed}");
            self.missed(unfired.plan, reason, None);
        }
    }

    /// Closes the connections on which a fault that never ends may hold frames back, so that the
    /// command log contains their fate. Called at the very end of the run.
    pub fn close_endless_links(&self) {
        for Target { workers, nodes } in self.endless_links.take() {
            self.context.backend.cut(Some(&workers), Some(&nodes));
        }
    }

    /// Runs one fault from its start to its end. Calls `started` when the fault has taken effect, or has failed to do
    /// so.
    async fn start(&self, index: usize, location: Location, started: impl FnOnce()) {
        let plan = self.plans()[index].clone();
        let target = self.target(&plan, location);
        let by_sentinels = Action::Node(NodeAction::FailOverBySentinels);
        if plan
            .actions()
            .is_some_and(|all| all.contains(&by_sentinels))
        {
            return self.sentinel_failover(index, target.nodes, started).await;
        }
        let ttl = self.context.spec.ttl();
        let clock = plan.clock_shift_ns(ttl).map(|by_ns| ClockShift {
            by_ns,
            for_good: plan.duration.is_none(),
        });
        let id = self.begin(EventKind::FaultBegan {
            id: self.next_id.get(),
            fault: plan.kind.as_str().to_owned(),
            detail: describe(&plan, &target, ttl, location),
            workers: target.workers.clone(),
            nodes: target.nodes.clone(),
            clock,
            delay_ms: longest_delay(&plan, ttl).map(millis),
        });
        let requested_at_ns = self.context.clock.now_ns();
        if let Err(refusal) = self.apply(id, &plan, &target, location).await {
            self.end(id).await;
            self.refused(index, &refusal);
            return started();
        }
        if let Some(imposed) = plan.frames.and_then(|_| self.imposed(id)) {
            self.frame_limited.borrow_mut().insert(id, (index, imposed));
        }
        let waiting = location
            .worker
            .filter(|worker| !target.workers.contains(worker));
        let since_ns = self.record_fired(id, &plan, waiting, requested_at_ns);
        let lasts = plan.lasts();
        match lasts {
            Lasts::AtOnce => self.make_permanent(id),
            Lasts::Forever => {
                if plan.kind.affects() == Affects::Links {
                    self.endless_links.borrow_mut().push(target.clone());
                }
                self.never_ends(id);
            }
            Lasts::For(span) if plan.kind.affects() == Affects::Nodes || freezes_workers(&plan) => {
                let due_ns = since_ns.saturating_add(nanos(span.resolve(ttl)));
                self.active_faults.set_due(id, due_ns);
            }
            Lasts::For(_) | Lasts::Frames(_) => {}
        }
        started();
        if plan.when.is_some() {
            self.context.start_gate.open();
        }
        self.last(id, &plan, &target.workers, since_ns).await;
    }

    /// Waits for the end of a fault whose duration counts from `since_ns`, and ends it. Returns at once if the fault
    /// has no end.
    async fn last(&self, id: u32, plan: &FaultPlan, workers: &[usize], mut since_ns: u64) {
        let ttl = self.context.spec.ttl();
        if let Some(grace) = plan.grace() {
            self.end_terminated(id, workers, grace.resolve(ttl)).await;
            since_ns = self.context.clock.now_ns();
        }
        match plan.lasts() {
            Lasts::AtOnce => tokio::time::sleep(Duration::ZERO).await,
            Lasts::For(span) => {
                let past_ns = self.context.clock.now_ns().saturating_sub(since_ns);
                let past = Duration::from_nanos(past_ns);
                tokio::time::sleep(span.resolve(ttl).saturating_sub(past)).await;
            }
            Lasts::Frames(frames) => self.wait_for_frames(id, frames).await,
            Lasts::Forever => return,
        }
        self.end(id).await;
    }

    /// Records that a fault that was requested at `requested_at_ns` has fired. `waiting` is the client at the trigger,
    /// which had to wait for the fault, if the fault does not affect it. Returns the time from which the duration of
    /// the fault counts.
    fn record_fired(
        &self,
        id: u32,
        plan: &FaultPlan,
        waiting: Option<usize>,
        requested_at_ns: u64,
    ) -> u64 {
        // While a node does not answer, every client may wait.
        let is_of_nodes = plan.kind.affects() == Affects::Nodes;
        let waiting = waiting.filter(|_| !is_of_nodes);
        if (is_of_nodes || waiting.is_some())
            && let Some(took_ms) = self.delay_ms(requested_at_ns)
        {
            self.context.recorder.write(EventKind::FaultFired {
                id,
                took_ms,
                waiting,
            });
        }
        // A worker is frozen from the signal on. The confirmation that all its threads have stopped comes later; on a
        // busy machine it comes much later.
        if freezes_workers(plan) {
            return requested_at_ns;
        }
        self.context.clock.now_ns()
    }

    /// Waits until a fault of links has affected as many frames as its limit allows.
    async fn wait_for_frames(&self, id: u32, frames: u32) {
        let Some(imposed) = self.imposed(id) else {
            return;
        };
        while self.context.backend.frames_affected(imposed) < u64::from(frames) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Returns the fault that is imposed on the links, or `None` if there is none or it has ended.
    fn imposed(&self, id: u32) -> Option<ImposedId> {
        let steps = self.active_faults.steps(id)?;
        steps.into_iter().find_map(|step| match step {
            Undo::Lift(imposed) => Some(imposed),
            _ => None,
        })
    }

    /// Removes an ended fault with a frame limit. Returns its index in the plan if it has affected no frame.
    fn take_unfired(&self, id: u32) -> Option<usize> {
        let (index, imposed) = self.frame_limited.borrow_mut().remove(&id)?;
        (self.context.backend.frames_affected(imposed) == 0).then_some(index)
    }

    /// Records that a fault begins, lists it, and returns its id.
    pub(super) fn begin(&self, began: EventKind) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        self.context.recorder.write(began);
        self.active_faults.start(id);
        id
    }

    /// Returns the id of the next fault.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id.get()
    }

    /// Makes the effects of the fault permanent: its end will not undo them.
    fn make_permanent(&self, id: u32) {
        for step in self.active_faults.take_steps(id) {
            if let Undo::RestartWorker(worker) = step {
                self.context.live_workers.forbid_restart(worker);
            }
        }
    }

    /// Removes a fault that never ends from the list, without recording an end.
    pub(super) fn never_ends(&self, id: u32) {
        self.make_permanent(id);
        self.active_faults.remove(id);
    }

    /// Undoes a fault and records its end, unless the fault has already ended.
    pub(super) async fn end(&self, id: u32) {
        let steps = self.active_faults.steps(id).unwrap_or_default();
        // A server whose clock is set forward can remove keys before it has answered.
        let catches_up = |step: &Undo| matches!(step, Undo::ResetClock(clock) if self.clocks.catches_up(*clock, id));
        if steps.iter().any(catches_up) {
            self.write_end(id);
        }
        for step in steps {
            self.undo(id, step).await;
        }
        self.write_end(id);
        // The fault is removed only now. If the run ends during the undo steps, `undo_all` executes
        // them again instead of not at all.
        if self.active_faults.remove(id)
            && let Some(index) = self.take_unfired(id)
        {
            self.missed(index, NOTHING_PASSED.into(), None);
        }
    }

    /// Records the end of a fault, unless it has been recorded.
    fn write_end(&self, id: u32) {
        let due_ns = self.active_faults.due_ns(id);
        if !self.active_faults.record_end(id) {
            return;
        }
        if let Some(late_ms) = due_ns.and_then(|due_ns| self.delay_ms(due_ns)) {
            let overran = EventKind::FaultOverran { id, late_ms };
            self.context.recorder.write(overran);
        }
        self.context.recorder.write(EventKind::FaultEnded { id });
    }

    /// Returns the time since `then_ns`, or `None` if it is too short to matter to a lease.
    fn delay_ms(&self, then_ns: u64) -> Option<u64> {
        let late_ns = self.context.clock.now_ns().saturating_sub(then_ns);
        let late = Duration::from_nanos(late_ns);
        (late >= self.context.spec.shortest_delay()).then(|| millis(late))
    }

    /// Records that a fault was missed because the backend refused it.
    pub(super) fn refused(&self, index: usize, refusal: &Refusal) {
        let because = match refusal {
            Refusal::NoFailover(_) => Some(MissedBecause::NoFailover),
            Refusal::Unable { .. } => Some(MissedBecause::Unable),
            Refusal::Failed(_) | Refusal::NoSentinels(_) => None,
        };
        self.missed(index, refusal.to_string(), because);
    }

    fn missed(&self, index: usize, reason: String, because: Option<MissedBecause>) {
        let plan = &self.plans()[index];
        self.context.recorder.write(EventKind::FaultMissed {
            fault: plan.kind.as_str().to_owned(),
            reason,
            optional: plan.optional,
            because,
        });
    }

    fn target(&self, plan: &FaultPlan, location: Location) -> Target {
        let workers = self.context.spec.scenario.workload.workers;
        let nodes = self.context.spec.nodes();
        let mut target = plan.target(location.worker, location.node, workers, nodes);
        if affects_processes(plan) {
            let affected = std::mem::take(&mut target.workers).into_iter();
            let affected: BTreeSet<usize> = affected
                .flat_map(|worker| self.process_peers(worker))
                .collect();
            target.workers = affected.into_iter().collect();
        }
        target
    }

    pub(super) fn plans(&self) -> &[FaultPlan] {
        &self.context.spec.scenario.faults
    }
}

fn freezes_workers(plan: &FaultPlan) -> bool {
    use WorkerAction::{Block, Freeze};
    let freezes = |action: &Action| matches!(action, Action::Worker(Freeze | Block(_)));
    plan.actions().is_some_and(|all| all.iter().any(freezes))
}

/// Returns `true` if the fault always affects whole processes.
fn affects_processes(plan: &FaultPlan) -> bool {
    use WorkerAction::{Block, Freeze, Kill, Terminate};
    let whole = |action: &Action| {
        matches!(
            action,
            Action::Worker(Freeze | Kill | Terminate | Block(TaskScope::Loop))
        )
    };
    plan.actions().is_some_and(|all| all.iter().any(whole))
}

/// Describes the fault, and its trigger if that had to be assumed.
fn describe(plan: &FaultPlan, target: &Target, ttl: Duration, location: Location) -> String {
    let text = plan.describe(target, ttl);
    if location.supposed {
        format!("{text}, at {ASSUMED_TRIGGER}")
    } else {
        text
    }
}

/// Returns the maximum delay of a fault, or `None` if it does not delay frames.
fn longest_delay(plan: &FaultPlan, ttl: Duration) -> Option<Duration> {
    plan.actions()?.iter().find_map(|action| match action {
        Action::Link(LinkAction::Delay { by, jitter }) => {
            Some(by.resolve(ttl) + jitter.resolve(ttl))
        }
        _ => None,
    })
}
