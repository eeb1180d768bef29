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
use super::freeze_monitor::FreezeMonitor;
use crate::backend::{Backend, Capabilities, Refusal};
use crate::clock::{millis, nanos};
use crate::context::{DueFault, Location, RunContext};
use crate::history::{ClockShift, EventKind, MissedBecause};
use crate::proxy::ImposedId;

/// How often it is checked whether a fault for so many frames has struck them all. The faults do
/// not wait for it: it only decides when the history says that they have ended.
const LOOK: Duration = Duration::from_millis(5);

/// What a moment was that meant the command that takes, where nobody could say it.
const SUPPOSED: &str =
    "the first command that names the key and may take it: what it did is not known";

/// Why a fault that was there counts as missed.
const NOTHING_PASSED: &str = "nothing passed that it could strike";

/// The part of a run that makes things go wrong.
pub struct Nemesis<B> {
    pub(super) context: Rc<RunContext<B>>,
    pub(super) active_faults: ActiveFaults,
    pub(super) clocks: ClockShifts,
    pub(super) freeze_monitor: FreezeMonitor,
    next_id: Cell<u32>,
    /// The faults that strike so many frames and have not ended: their places in the plan, and what was imposed.
    counted: RefCell<BTreeMap<u32, (usize, ImposedId)>>,
    /// The links whose faults never end.
    endless: RefCell<Vec<Target>>,
    /// Faults of the plan that have started, or that the backend cannot apply.
    settled: RefCell<BTreeSet<usize>>,
}

impl<B: Backend> Nemesis<B> {
    /// Plans the faults of a run. What the backend cannot apply is written into the history, and
    /// never starts.
    pub fn new(context: &Rc<RunContext<B>>, capabilities: &Capabilities) -> Rc<Self> {
        let nemesis = Nemesis {
            context: Rc::clone(context),
            active_faults: ActiveFaults::default(),
            clocks: ClockShifts::default(),
            freeze_monitor: FreezeMonitor::default(),
            next_id: Cell::new(0),
            counted: RefCell::default(),
            endless: RefCell::default(),
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

    /// Starts each fault at its time or its event. Never ends by itself: dropping the future stops
    /// new faults, and [`Nemesis::undo_all`] ends those that last. `ready` is told when the faults
    /// that begin with the run have started.
    pub async fn run(
        self: Rc<Self>,
        mut due: mpsc::UnboundedReceiver<DueFault>,
        ready: oneshot::Sender<()>,
    ) {
        self.context.triggers.begin();
        let mut faults = JoinSet::new();
        for started in self.start_timed(&mut faults) {
            // A fault whose task is gone has failed, and that is in the history.
            started.await.unwrap_or_default();
        }
        ready.send(()).unwrap_or_default();
        while let Some(due) = due.recv().await {
            let nemesis = Rc::clone(&self);
            faults.spawn_local(async move {
                // The receiver may be gone with its connection.
                let started = || due.started.send(()).unwrap_or_default();
                nemesis.start(due.plan, due.location, started).await;
            });
        }
        std::future::pending::<()>().await;
    }

    /// Sets the faults with a time going. Returns what to wait for before the run begins.
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
                // Nothing waits for a fault that starts later.
                let started = || started.send(()).unwrap_or_default();
                nemesis.start(index, Location::default(), started).await;
            });
        }
        at_once
    }

    /// Ends every fault that has an end, and what the others are watched for.
    pub async fn undo_all(&self) {
        while let Some(id) = self.active_faults.last() {
            self.end(id).await;
        }
        self.freeze_monitor.end_all(&self.context);
    }

    /// Writes down the planned faults that never started, and those that never end and struck nothing. For the time before
    /// the others end: a fault that is told as missed right after its end could not be applied.
    pub fn settle(&self) {
        for (id, (index, imposed)) in self.counted.borrow().iter() {
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
            self.missed(index, "the run ended before its time came".into(), None);
        }
        for never in self.context.triggers.never_came() {
            let passed = match never.passed.as_deref() {
                None => String::new(),
                Some([]) => ": no command passed where it waited for one".to_owned(),
                Some(all) => format!(": the commands that passed there were {}", all.join(", ")),
            };
            let reason = format!("its moment never came{passed}");
            self.missed(never.plan, reason, None);
        }
    }

    /// Closes the connections on which a fault that never ends may keep something back. So the
    /// command log says what became of it. For the very end of the run.
    pub fn close_endless_links(&self) {
        for Target { workers, nodes } in self.endless.take() {
            self.context.backend.cut(Some(&workers), Some(&nodes));
        }
    }

    /// Runs one fault from its start to its end. `started` is called when it has struck, or has
    /// turned out to be impossible.
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
            detail: described(&plan, &target, ttl, location),
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
            self.counted.borrow_mut().insert(id, (index, imposed));
        }
        let since_ns = self.struck(id, &plan, requested_at_ns);
        let lasts = plan.lasts();
        match lasts {
            Lasts::AtOnce => self.keep(id),
            Lasts::Forever => {
                if plan.kind.affects() == Affects::Links {
                    self.endless.borrow_mut().push(target);
                }
                self.never_ends(id);
            }
            Lasts::For(span) if plan.kind.affects() == Affects::Nodes => {
                let due_ns = since_ns.saturating_add(nanos(span.resolve(ttl)));
                self.active_faults.is_due(id, due_ns);
            }
            Lasts::For(_) | Lasts::Frames(_) => {}
        }
        started();
        if plan.when.is_some() {
            self.context.start_gate.open();
        }
        match lasts {
            Lasts::AtOnce => tokio::time::sleep(Duration::ZERO).await,
            Lasts::For(span) => {
                let past_ns = self.context.clock.now_ns().saturating_sub(since_ns);
                let past = Duration::from_nanos(past_ns);
                tokio::time::sleep(span.resolve(ttl).saturating_sub(past)).await;
            }
            Lasts::Frames(frames) => self.all_fired(id, frames).await,
            Lasts::Forever => return,
        }
        self.end(id).await;
    }

    /// A fault that was asked for at this time has struck. Returns since when it counts.
    fn struck(&self, id: u32, plan: &FaultPlan, requested_at_ns: u64) -> u64 {
        // A worker is frozen from the signal on. That everything below it has stopped shows later, much
        // later on a busy machine.
        if freezes_workers(plan) {
            return requested_at_ns;
        }
        if plan.kind.affects() == Affects::Nodes
            && let Some(took_ms) = self.since_ms(requested_at_ns)
        {
            let struck = EventKind::FaultFired { id, took_ms };
            self.context.recorder.write(struck);
        }
        self.context.clock.now_ns()
    }

    /// Waits until a fault of links has struck as many frames as it was meant for.
    async fn all_fired(&self, id: u32, frames: u32) {
        let Some(imposed) = self.imposed(id) else {
            return;
        };
        while self.context.backend.frames_affected(imposed) < u64::from(frames) {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What a fault has imposed on links; `None`: nothing, or it has ended.
    fn imposed(&self, id: u32) -> Option<ImposedId> {
        let steps = self.active_faults.steps(id)?;
        steps.into_iter().find_map(|step| match step {
            Undo::Lift(imposed) => Some(imposed),
            _ => None,
        })
    }

    /// The place in the plan of a fault that strikes so many frames and ends now, if it has struck none.
    fn unfired(&self, id: u32) -> Option<usize> {
        let (index, imposed) = self.counted.borrow_mut().remove(&id)?;
        (self.context.backend.frames_affected(imposed) == 0).then_some(index)
    }

    /// Writes that a fault begins, and lists it. Returns its number.
    pub(super) fn begin(&self, began: EventKind) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        self.context.recorder.write(began);
        self.active_faults.start(id);
        id
    }

    /// The number that the next fault gets.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id.get()
    }

    /// What the fault has done stays, whenever the fault ends.
    fn keep(&self, id: u32) {
        for step in self.active_faults.keep(id) {
            if let Undo::ReviveWorker(worker) = step {
                self.context.live_workers.lose(worker);
            }
        }
    }

    /// The fault stays, and the history tells of no end.
    pub(super) fn never_ends(&self, id: u32) {
        self.keep(id);
        self.active_faults.remove(id);
    }

    /// Undoes a fault, unless it has ended, and writes that it has.
    pub(super) async fn end(&self, id: u32) {
        for step in self.active_faults.steps(id).unwrap_or_default() {
            self.undo(id, step).await;
        }
        // It leaves the list only now. Should the run end while it is undone, `undo_all` does it
        // again rather than not at all.
        let due_ns = self.active_faults.due_ns(id);
        if self.active_faults.remove(id) {
            let unfired = self.unfired(id);
            if let Some(late_ms) = due_ns.and_then(|due_ns| self.since_ms(due_ns)) {
                let overran = EventKind::FaultOverran { id, late_ms };
                self.context.recorder.write(overran);
            }
            self.context.recorder.write(EventKind::FaultEnded { id });
            if let Some(index) = unfired {
                self.missed(index, NOTHING_PASSED.into(), None);
            }
        }
    }

    /// How long ago this was; `None`: less than what matters to a lease.
    fn since_ms(&self, then_ns: u64) -> Option<u64> {
        let late_ns = self.context.clock.now_ns().saturating_sub(then_ns);
        let late = Duration::from_nanos(late_ns);
        (late >= self.context.spec.shortest_delay()).then(|| millis(late))
    }

    /// A fault did not strike, because the backend refused.
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
            let struck = std::mem::take(&mut target.workers).into_iter();
            let struck: BTreeSet<usize> = struck.flat_map(|one| self.process_peers(one)).collect();
            target.workers = struck.into_iter().collect();
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

/// True if whoever is struck is struck with the whole process.
fn affects_processes(plan: &FaultPlan) -> bool {
    use WorkerAction::{Block, Freeze, Kill};
    let whole = |action: &Action| {
        matches!(
            action,
            Action::Worker(Freeze | Kill | Block(TaskScope::Loop))
        )
    };
    plan.actions().is_some_and(|all| all.iter().any(whole))
}

/// The fault in words, with what its moment was where that had to be supposed.
fn described(plan: &FaultPlan, target: &Target, ttl: Duration, location: Location) -> String {
    let text = plan.describe(target, ttl);
    match location.supposed {
        false => text,
        true => format!("{text}, at {SUPPOSED}"),
    }
}

/// By how much a fault delays what passes, at most; `None`: it delays nothing.
fn longest_delay(plan: &FaultPlan, ttl: Duration) -> Option<Duration> {
    plan.actions()?.iter().find_map(|action| match action {
        Action::Link(LinkAction::Delay { by, jitter }) => {
            Some(by.resolve(ttl) + jitter.resolve(ttl))
        }
        _ => None,
    })
}
