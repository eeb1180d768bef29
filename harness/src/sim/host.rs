//! One simulated worker: its lock and every task that the lock starts, frozen or dropped whole.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::FutureExt;
use tokio::task::{JoinHandle, LocalSet};

use super::port::Port;
use super::watchdog::Beat;
use crate::adapter::mailbox::{Reader, Writer, mailbox};
use crate::adapter::process::Heard;
use crate::clock::Clock;

/// So many turns without the clock moving are a subject that will never let it move.
const MOST_TURNS: u32 = 100_000;

/// The switch between running and frozen.
#[derive(Default)]
struct Switch {
    frozen: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// What a host finds around it.
pub(super) struct Around {
    pub(super) clock: Clock,
    pub(super) beat: Beat,
    pub(super) port: Port,
}

/// A handle on a host; dropping it drops the host.
pub(super) struct Host {
    switch: Rc<Switch>,
    task: JoinHandle<()>,
}

impl Host {
    /// Starts a worker that does `work`, and whatever that spawns with `spawn_local`. `heard`
    /// learns what it says, and how it ended.
    pub(super) fn start<W>(
        worker: usize,
        around: Around,
        heard: Writer<Heard>,
        work: impl FnOnce(Writer<Heard>) -> W,
    ) -> Self
    where
        W: Future<Output = String> + 'static,
    {
        let (mouth, said) = mailbox();
        let last_words = mouth.clone();
        let work = AssertUnwindSafe(work(mouth)).catch_unwind();
        let work = async move {
            let ended = match work.await {
                Ok(how) => how,
                Err(panic) => format!("panicked: {}", words_of(panic.as_ref())),
            };
            // Read at the end of this very turn.
            last_words.send(Heard::Exited(ended)).ok();
        };
        let Around { clock, beat, port } = around;
        let switch = Rc::<Switch>::default();
        let turns = Turns {
            switch: Rc::clone(&switch),
            work: Some(Box::pin(work)),
            tasks: LocalSet::new(),
            called: Called::at_first(),
            worker,
            clock,
            beat,
            port,
            said,
            heard,
            last_ns: 0,
            count: 0,
        };
        Host {
            switch,
            task: tokio::task::spawn_local(turns),
        }
    }

    /// From now on nothing of it is polled, while time goes on.
    pub(super) fn freeze(&self) {
        self.switch.frozen.set(true);
    }

    /// It goes on.
    pub(super) fn thaw(&self) {
        self.switch.frozen.set(false);
        if let Some(waker) = self.switch.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without words".to_owned())
}

/// Wakes a host, and says that it was for its background tasks.
struct Called {
    yes: AtomicBool,
    host: Mutex<Option<Waker>>,
}

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.yes.store(true, Ordering::Release);
        let host = self.host().clone();
        if let Some(host) = host {
            host.wake();
        }
    }
}

impl Called {
    /// From the beginning, so that the tasks learn whom to wake.
    fn at_first() -> Arc<Self> {
        Arc::new(Called {
            yes: AtomicBool::new(true),
            host: Mutex::default(),
        })
    }

    fn host(&self) -> MutexGuard<'_, Option<Waker>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_to(&self, host: &Waker) {
        self.host().replace(host.clone());
    }
}

/// All tasks of a host as one future.
struct Turns {
    switch: Rc<Switch>,
    /// What the host is there for. It is polled here and not as a task of its own, because most
    /// locks have no other, and every turn would pay for it.
    work: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// What the work has started in the background.
    tasks: LocalSet,
    called: Arc<Called>,
    worker: usize,
    clock: Clock,
    beat: Beat,
    port: Port,
    /// What the work has said in its turn. It is handed on when the turn is over, for the reason
    /// that [`Port::quietly`] gives.
    said: Reader<Heard>,
    heard: Writer<Heard>,
    last_ns: u64,
    count: u32,
}

impl Future for Turns {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.switch.frozen.get() {
            self.switch.waker.replace(Some(context.waker().clone()));
            return Poll::Pending;
        }
        let now_ns = self.clock.now_ns();
        if now_ns != self.last_ns {
            self.last_ns = now_ns;
            self.count = 0;
        }
        self.count += 1;
        if self.count > MOST_TURNS {
            let how = format!(
                "stuck: took {MOST_TURNS} turns at one instant; it waits for something without letting time pass"
            );
            self.heard.send(Heard::Exited(how)).ok();
            return Poll::Ready(());
        }
        let running = self.beat.begin(self.worker);
        let port = self.port;
        port.quietly(|| self.turn(context));
        while let Some(said) = self.said.take() {
            // The driver may have gone first.
            self.heard.send(said).ok();
        }
        if let Some(blocked) = self.beat.end(running) {
            self.heard.send(Heard::Exited(blocked)).ok();
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Turns {
    fn turn(&mut self, context: &mut Context<'_>) {
        self.background(context);
        if let Some(work) = &mut self.work {
            // What is spawned here goes to the tasks, and calls them.
            let _spawning = self.tasks.enter();
            if work.as_mut().poll(context).is_ready() {
                self.work = None;
            }
        }
        self.background(context);
    }

    /// Lets the background tasks go on, if they were called.
    fn background(&mut self, context: &Context<'_>) {
        if self.called.yes.load(Ordering::Acquire) {
            self.called.yes.store(false, Ordering::Release);
            self.called.answer_to(context.waker());
            let waker = Waker::from(Arc::clone(&self.called));
            // That there are none at the moment does not mean that there will be none.
            let _ = Pin::new(&mut self.tasks).poll(&mut Context::from_waker(&waker));
        }
    }
}
