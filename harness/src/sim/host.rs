//! One simulated worker: its lock and every task that the lock starts, frozen or dropped whole.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use super::watchdog::Beat;
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

/// A handle on a host; dropping it drops the host.
pub(super) struct Host {
    switch: Rc<Switch>,
    task: JoinHandle<()>,
}

impl Host {
    /// Starts a worker that does `work`, and whatever that spawns with `spawn_local`. `heard`
    /// learns how it ended.
    pub(super) fn start(
        worker: usize,
        clock: Clock,
        beat: Beat,
        heard: mpsc::UnboundedSender<Heard>,
        work: impl Future<Output = String> + 'static,
    ) -> Self {
        let tasks = LocalSet::new();
        let last_words = heard.clone();
        tasks.spawn_local(async move {
            let ended = match AssertUnwindSafe(work).catch_unwind().await {
                Ok(how) => how,
                Err(panic) => format!("panicked: {}", words_of(panic.as_ref())),
            };
            // The driver may have gone first.
            last_words.send(Heard::Exited(ended)).ok();
            std::future::pending::<()>().await;
        });
        let switch = Rc::<Switch>::default();
        let turns = Turns {
            switch: Rc::clone(&switch),
            tasks,
            worker,
            clock,
            beat,
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

/// All tasks of a host as one future.
struct Turns {
    switch: Rc<Switch>,
    tasks: LocalSet,
    worker: usize,
    clock: Clock,
    beat: Beat,
    heard: mpsc::UnboundedSender<Heard>,
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
        let polled = Pin::new(&mut self.tasks).poll(context);
        if let Some(blocked) = running.end() {
            self.heard.send(Heard::Exited(blocked)).ok();
            return Poll::Ready(());
        }
        polled
    }
}
