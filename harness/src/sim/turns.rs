//! Polls the tasks of a simulation: after each step of virtual time, every ready task gets its turn.
//!
//! While its driver is parked, tokio advances its clock and wakes the tasks that wait for the new time. If the future
//! passed to the runtime's `block_on` polled these tasks, the runtime would have to be woken for it and would park
//! twice per step: it treats such a wake-up as an external event, and then does not advance its clock. So the tasks get
//! their turn as soon as the driver is unparked.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Builder;
use tokio::task::{JoinError, LocalSet};

use crate::clock;

thread_local! {
    /// The tasks of the simulation that this thread is running, and their waker. `None` during a turn.
    static TASKS: RefCell<Option<(LocalSet, Waker)>> = const { RefCell::new(None) };

    /// Whether the runtime's driver is parked, so that a turn follows.
    static PARKED: Cell<bool> = const { Cell::new(false) };
}

/// A waker for the future passed to `block_on`. It does nothing if a turn follows anyway.
struct TurnWaker(Waker);

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // On every thread other than the simulation's, `PARKED` is `false`.
        if !PARKED.get() {
            self.0.wake_by_ref();
        }
    }
}

/// Runs `work` and all tasks that it spawns with `spawn_local` on this thread, in virtual time.
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
    // `work` runs as a task, because a future passed to `block_on` is polled whenever any task is woken.
    let mut working = tasks.spawn_local(work);
    let mut tasks = Some(tasks);
    let turns = std::future::poll_fn(|context| {
        if let Some(tasks) = tasks.take() {
            let waker = Arc::new(TurnWaker(context.waker().clone()));
            TASKS.set(Some((tasks, Waker::from(waker))));
        }
        let result = Pin::new(&mut working).poll(context);
        if result.is_pending() {
            turn();
        }
        result
    });
    let result = runtime.block_on(turns);
    drop(TASKS.take());
    Ok(result)
}

/// Polls all ready tasks. Time advances only between two turns.
fn turn() {
    if let Some((mut tasks, waker)) = TASKS.take() {
        let mut context = Context::from_waker(&waker);
        // The simulation ends with `work`, not when all tasks have ended.
        let _: Poll<()> = clock::holding(|| Pin::new(&mut tasks).poll(&mut context));
        TASKS.set(Some((tasks, waker)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::task::{spawn_local, yield_now};
    use tokio::time::sleep;

    use super::*;
    use crate::clock::Clock;

    fn run<T: 'static>(work: impl Future<Output = T> + 'static) -> T {
        block_on(work).unwrap().unwrap()
    }

    #[test]
    fn all_ready_tasks_are_polled_before_time_advances() {
        let at_ns = run(async {
            let clock = Clock::start();
            let passing = spawn_local(sleep(Duration::from_millis(1)));
            let many = (0..200).map(|_| spawn_local(yield_now()));
            for one in many.collect::<Vec<_>>() {
                yield_now().await;
                one.await.unwrap();
            }
            let at_ns = clock.now_ns();
            passing.await.unwrap();
            (at_ns, clock.now_ns())
        });
        assert_eq!(at_ns, (0, 1_000_000));
    }

    #[test]
    fn simultaneous_timers_fire_in_the_order_in_which_they_were_set() {
        let order = run(async {
            let late = (0..3).map(|number| async move {
                sleep(Duration::from_secs(1)).await;
                number
            });
            let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
            for one in late {
                let sender = sender.clone();
                spawn_local(async move { sender.send(one.await) });
            }
            [
                receiver.recv().await,
                receiver.recv().await,
                receiver.recv().await,
            ]
        });
        assert_eq!(order, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn wake_up_from_another_thread_is_received() {
        let (sender, receiver) = oneshot::channel();
        let (ready, begun) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            begun.recv().unwrap();
            sender.send(7)
        });
        let received = run(async move {
            ready.send(()).unwrap();
            receiver.await
        });
        assert_eq!(received, Ok(7));
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn panic_is_returned_and_the_next_work_runs() {
        let work = async { panic!("on purpose") };
        assert!(block_on::<()>(work).unwrap().unwrap_err().is_panic());
        assert_eq!(run(async { 1 }), 1);
    }
}
