//! The turns of a simulation: after each step of virtual time, every task that has something to do is polled.
//!
//! tokio's clock moves while its driver is parked, and tasks that wait for that time are woken. If the future that
//! the runtime blocks on polled them, the runtime would have to be woken for it, and would park twice for each step:
//! it takes that for news from outside, and does not move its clock. So the tasks have their turn as soon as the
//! driver is unparked.

use std::cell::{Cell, RefCell};
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::task::{spawn_local, yield_now};
    use tokio::time::sleep;

    use super::*;
    use crate::clock::Clock;

    fn done<T: 'static>(work: impl Future<Output = T> + 'static) -> T {
        block_on(work).unwrap().unwrap()
    }

    #[test]
    fn tasks_that_give_way_or_are_many_are_polled_before_time_moves() {
        let at_ns = done(async {
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
    fn timers_of_one_time_go_off_in_the_order_in_which_they_were_set() {
        let order = done(async {
            let late = (0..3).map(|number| async move {
                sleep(Duration::from_secs(1)).await;
                number
            });
            let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
            for one in late {
                let tell = tell.clone();
                spawn_local(async move { tell.send(one.await) });
            }
            [told.recv().await, told.recv().await, told.recv().await]
        });
        assert_eq!(order, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn news_from_another_thread_are_heard() {
        let (tell, told) = oneshot::channel();
        let (ready, begun) = std::sync::mpsc::channel();
        let telling = std::thread::spawn(move || {
            begun.recv().unwrap();
            tell.send(7)
        });
        let heard = done(async move {
            ready.send(()).unwrap();
            told.await
        });
        assert_eq!(heard, Ok(7));
        telling.join().unwrap().unwrap();
    }

    #[test]
    fn work_that_panics_is_said_to_and_the_next_one_runs() {
        let work = async { panic!("on purpose") };
        assert!(block_on::<()>(work).unwrap().unwrap_err().is_panic());
        assert_eq!(done(async { 1 }), 1);
    }
}
