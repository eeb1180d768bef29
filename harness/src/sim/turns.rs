//! The turns of a simulation: after each step of virtual time, every task that has something to do is polled.
//!
//! tokio's clock moves while its driver is parked, and tasks that wait for that time are woken. If the future that
//! the runtime blocks on polled them, the runtime would have to be woken for it, and would park twice for each step:
//! it takes that for news from outside, and does not move its clock. So the tasks have their turn as soon as the
//! driver is unparked.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Builder;
use tokio::task::{JoinError, LocalSet};

use crate::clock;

thread_local! {
    /// The tasks of the simulation that this thread runs, and what wakes them. `None` in their turn.
    static TASKS: RefCell<Option<(LocalSet, Waker)>> = const { RefCell::new(None) };

    /// The driver is parked: a turn follows.
    static PARKED: Cell<bool> = const { Cell::new(false) };
}

/// Wakes the future that the runtime blocks on, unless a turn follows anyway.
struct TurnWaker(Waker);

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // On another thread nothing is parked.
        if !PARKED.get() {
            self.0.wake_by_ref();
        }
    }
}

/// Does the work on this thread, with all tasks that it spawns with `spawn_local`, in virtual time.
pub(super) fn block_on<T: 'static>(
    work: impl Future<Output = T> + 'static,
) -> std::io::Result<Result<T, JoinError>> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_park(|| PARKED.set(true))
        .on_thread_unpark(|| {
            PARKED.set(false);
            turn();
        })
        .build()?;
    let tasks = LocalSet::new();
    // As a task: what a runtime blocks on is polled whenever any of them is woken.
    let mut working = tasks.spawn_local(work);
    let mut tasks = Some(tasks);
    let turns = std::future::poll_fn(|context| {
        if let Some(tasks) = tasks.take() {
            let waker = Arc::new(TurnWaker(context.waker().clone()));
            TASKS.set(Some((tasks, Waker::from(waker))));
        }
        let worked = Pin::new(&mut working).poll(context);
        if worked.is_pending() {
            turn();
        }
        worked
    });
    let worked = runtime.block_on(turns);
    drop(TASKS.take());
    Ok(worked)
}

/// Time moves between two turns, and at no other moment.
fn turn() {
    if let Some((mut tasks, waker)) = TASKS.take() {
        let mut context = Context::from_waker(&waker);
        // Whether any are left does not matter: the work says when it is over.
        let _: Poll<()> = clock::holding(|| Pin::new(&mut tasks).poll(&mut context));
        TASKS.set(Some((tasks, waker)));
    }
}
