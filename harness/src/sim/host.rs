//! A simulated worker: its lock and all tasks that the lock starts. They are frozen or dropped together.

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::FutureExt;
use tokio::task::{JoinHandle, LocalSet};

use super::client_endpoint::ClientEndpoint;
use super::run_budget::RunBudget;
use super::watchdog::Watchdog;
use crate::adapter::local_channel::{Receiver, Sender, local_channel};
use crate::adapter::process::WorkerOutput;
use crate::adapter::termination::Termination;
use crate::clock::Clock;

/// Maximum number of turns at one instant. A lock that needs more turns counts as stuck, because it never lets the
/// clock advance.
const MAX_TURNS: u32 = 100_000;

/// Selects which of the host's tasks a turn polls first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum First {
    /// The lock's background tasks, such as a renewal.
    #[default]
    Background,
    /// The worker's own task, which reads requests.
    Work,
}

/// Switches a host between running and frozen.
#[derive(Default)]
struct FreezeSwitch {
    frozen: Cell<bool>,
    /// Whether the host is in a call that does not yield.
    blocked: Cell<bool>,
    /// The tasks that the next turn polls first.
    first: Cell<First>,
    waker: RefCell<Option<Waker>>,
}

impl FreezeSwitch {
    fn is_off(&self) -> bool {
        self.frozen.get() || self.blocked.get()
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The parts of the simulation that a host uses.
pub(super) struct HostContext {
    pub(super) clock: Clock,
    pub(super) watchdog: Watchdog,
    pub(super) endpoint: ClientEndpoint,
    pub(super) budget: Rc<RunBudget>,
}

/// A handle on a host. Dropping it drops the host.
pub(super) struct Host {
    switch: Rc<FreezeSwitch>,
    task: JoinHandle<()>,
    termination: Termination,
}

impl Host {
    /// Starts a worker that runs `work` and all tasks that `work` spawns with `spawn_local`. `output` receives the
    /// worker's messages and the reason for its exit.
    pub(super) fn start<B>(
        worker: usize,
        host_context: HostContext,
        output: Sender<WorkerOutput>,
        work: impl FnOnce(Sender<WorkerOutput>, Termination) -> B,
    ) -> Self
    where
        B: Future<Output = String> + 'static,
    {
        let (sender, outbox) = local_channel();
        let exit = sender.clone();
        let termination = Termination::default();
        let work = AssertUnwindSafe(work(sender, termination.clone())).catch_unwind();
        let work = async move {
            let ended = match work.await {
                Ok(how) => how,
                Err(panic) => format!("panicked: {}", panic_message(panic.as_ref())),
            };
            // The host forwards this message at the end of the same turn.
            exit.send(WorkerOutput::Exited(ended)).ok();
        };
        let switch = Rc::<FreezeSwitch>::default();
        let future = HostFuture {
            switch: Rc::clone(&switch),
            work: Some(Box::pin(work)),
            tasks: LocalSet::new(),
            background: Arc::new(BackgroundWaker {
                // Initially `true`, so that the first turn polls the tasks and gives them their waker.
                woken: AtomicBool::new(true),
                host: Mutex::default(),
            }),
            worker,
            host_context,
            outbox,
            output,
            last_ns: 0,
            count: 0,
        };
        Host {
            switch,
            task: tokio::task::spawn_local(future),
            termination,
        }
    }

    /// Returns the handle that requests the end of the worker.
    pub(super) fn termination(&self) -> Termination {
        self.termination.clone()
    }

    /// Stops polling the host's tasks. Virtual time continues.
    pub(super) fn freeze(&self) {
        self.switch.frozen.set(true);
    }

    /// Continues polling. `first` selects the tasks that run first, because after a freeze of a real process any ready
    /// thread may run first.
    pub(super) fn thaw(&self, first: First) {
        self.switch.frozen.set(false);
        self.switch.first.set(first);
        self.switch.wake();
    }

    /// Simulates the start or the end of a call that does not yield. None of the host's tasks is polled during the
    /// call.
    pub(super) fn block(&self, blocked: bool) {
        self.switch.blocked.set(blocked);
        self.switch.wake();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without words".to_owned())
}

/// A waker that wakes a host, and records that its background tasks must be polled.
struct BackgroundWaker {
    woken: AtomicBool,
    host: Mutex<Option<Waker>>,
}

impl Wake for BackgroundWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        let host = self.host().clone();
        if let Some(host) = host {
            host.wake();
        }
    }
}

impl BackgroundWaker {
    fn host(&self) -> MutexGuard<'_, Option<Waker>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All tasks of a host as one future.
struct HostFuture {
    switch: Rc<FreezeSwitch>,
    /// The worker's own future. It is not part of `tasks`, because polling a set in every turn would be slower, and
    /// most locks have no other task.
    work: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// The background tasks that the worker has spawned.
    tasks: LocalSet,
    background: Arc<BackgroundWaker>,
    worker: usize,
    host_context: HostContext,
    /// The worker's messages in the current turn. They are forwarded after the turn; see
    /// [`ClientEndpoint::deferring_wakeups`] for the reason.
    outbox: Receiver<WorkerOutput>,
    output: Sender<WorkerOutput>,
    last_ns: u64,
    count: u32,
}

impl Future for HostFuture {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.switch.is_off() {
            self.switch.waker.replace(Some(context.waker().clone()));
            return Poll::Pending;
        }
        let now_ns = self.host_context.clock.now_ns();
        if now_ns != self.last_ns {
            self.last_ns = now_ns;
            self.count = 0;
        }
        self.count += 1;
        if self.count > MAX_TURNS {
            let how = format!(
                "stuck: took {MAX_TURNS} turns at one instant; it waits without letting time pass"
            );
            self.output.send(WorkerOutput::Exited(how)).ok();
            return Poll::Ready(());
        }
        self.host_context.budget.count_turn();
        let turn = self.host_context.watchdog.begin(self.worker);
        let endpoint = self.host_context.endpoint;
        endpoint.deferring_wakeups(|| self.turn(context));
        while let Some(message) = self.outbox.take() {
            // Fails if the driver has already ended, which is not an error.
            self.output.send(message).ok();
        }
        if let Some(blocked) = self.host_context.watchdog.end(turn) {
            self.output.send(WorkerOutput::Exited(blocked)).ok();
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl HostFuture {
    fn turn(&mut self, context: &mut Context<'_>) {
        if self.switch.first.take() == First::Background {
            self.poll_background(context);
        }
        if let Some(work) = &mut self.work {
            // While this guard exists, spawned tasks are added to the set and wake it.
            let _spawning = self.tasks.enter();
            if work.as_mut().poll(context).is_ready() {
                self.work = None;
            }
        }
        self.poll_background(context);
    }

    fn poll_background(&mut self, context: &Context<'_>) {
        if self.background.woken.load(Ordering::Acquire) {
            self.background.woken.store(false, Ordering::Release);
            self.background.host().replace(context.waker().clone());
            let waker = Waker::from(Arc::clone(&self.background));
            // Even if all tasks have ended, more tasks may be spawned later.
            let _ = Pin::new(&mut self.tasks).poll(&mut Context::from_waker(&waker));
        }
    }
}
