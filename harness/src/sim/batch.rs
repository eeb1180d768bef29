//! One run or many on a thread, which is watched from the caller's.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::runner::{SimError, Simulation, run_here};
use super::watchdog::Watchdog;
use crate::run_result::RunResult;

/// A turn that takes more of the processor than this, or sleeps for longer, will not end. Time in which other
/// threads kept ours from running does not count.
const PATIENCE: Duration = Duration::from_secs(20);

/// The watchdog looks so often while its patience lasts.
const LOOKS: u32 = 10;

/// What is still to be done, and what to do with each result.
struct Batch<L> {
    left: Mutex<std::vec::IntoIter<Simulation>>,
    look: L,
}

/// Simulates one run. The same simulation gives the same history, byte for byte.
///
/// It runs on a thread of its own, so that a lock that never gives way is an error and not a
/// hang; such a thread cannot be ended and is left behind.
///
/// # Errors
/// See [`SimError`]. A violated property is no error.
pub fn run(simulation: Simulation) -> Result<RunResult, SimError> {
    run_with_patience(simulation, PATIENCE)
}

/// Simulates many runs one after the other, and looks at each result where it was made.
///
/// Each is what [`run`](run()) gives for it; what they share is the thread, which is
/// dearer than a small run, so that a search should come this way. A thread that is stuck is left
/// behind with the run that it is stuck in, and the next one goes on with the rest.
///
/// # Errors
/// One result for each simulation, in order; see [`SimError`].
pub fn run_many<T: Send + 'static>(
    simulations: Vec<Simulation>,
    look: impl Fn(RunResult) -> T + Send + Sync + 'static,
) -> Vec<Result<T, SimError>> {
    batch(simulations, look, PATIENCE)
}

/// One run, like [`run`](run()); a lock counts as stuck when one of its turns has run or slept for
/// `patience`. Time that the thread spent waiting for a processor does not count.
///
/// # Errors
/// See [`SimError`].
pub fn run_with_patience(
    simulation: Simulation,
    patience: Duration,
) -> Result<RunResult, SimError> {
    let nothing = || Err(SimError::RequestAborted("nothing was simulated".into()));
    let ran = batch(vec![simulation], |result| result, patience).pop();
    ran.unwrap_or_else(nothing)
}

fn batch<T: Send + 'static>(
    simulations: Vec<Simulation>,
    look: impl Fn(RunResult) -> T + Send + Sync + 'static,
    patience: Duration,
) -> Vec<Result<T, SimError>> {
    let count = simulations.len();
    let batch = Arc::new(Batch {
        left: Mutex::new(simulations.into_iter()),
        look,
    });
    let mut ran = Vec::with_capacity(count);
    while ran.len() < count {
        let (monitor, done) = (Watchdog::default(), Done::new(Mutex::new(Some(Vec::new()))));
        match start(Arc::clone(&batch), monitor.clone(), Arc::clone(&done)) {
            Ok(ended) => {
                let lost = wait(&ended, &monitor, patience);
                // What is done later is not wanted.
                let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
                ran.extend(done.unwrap_or_default());
                if ran.len() < count {
                    ran.push(Err(lost));
                }
            }
            Err(error) => {
                batch.next();
                ran.push(Err(error));
            }
        }
    }
    ran
}

/// What a thread has done; `None`: nobody wants it any more, because a run of this thread counts as stuck. It tells
/// nobody of a single run: to wake another thread takes longer than a small run does.
type Done<T> = Arc<Mutex<Option<Vec<Result<T, SimError>>>>>;

impl<L> Batch<L> {
    fn next(&self) -> Option<Simulation> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.next()
    }
}

/// Starts a thread that does what is left, and what closes when it ends.
fn start<T, L>(
    batch: Arc<Batch<L>>,
    monitor: Watchdog,
    done: Done<T>,
) -> Result<mpsc::Receiver<Infallible>, SimError>
where
    T: Send + 'static,
    L: Fn(RunResult) -> T + Send + Sync + 'static,
{
    let (alive, ended) = mpsc::channel();
    let begun = std::thread::Builder::new()
        .name("picklock-sim".into())
        .spawn(move || {
            let _alive = alive;
            monitor.claim_thread();
            while let Some(simulation) = batch.next() {
                let ran = run_here(simulation, monitor.clone()).map(&batch.look);
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(done) = &mut *done else { return };
                done.push(ran);
            }
        });
    match begun {
        Ok(_) => Ok(ended),
        Err(error) => Err(SimError::RequestAborted(error.to_string())),
    }
}

/// Waits until there will be no more from the thread: why the run was lost that it was at, if it
/// has not done everything.
fn wait(ended: &mpsc::Receiver<Infallible>, monitor: &Watchdog, patience: Duration) -> SimError {
    let look = (patience / LOOKS).max(Duration::from_millis(1));
    let (mut seen, mut ran_before, mut asleep) = (monitor.current_turn().0, None, Duration::ZERO);
    loop {
        match ended.recv_timeout(look) {
            Ok(never) => match never {},
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return SimError::RequestAborted("its thread panicked".into());
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let (mark, worker) = monitor.current_turn();
        if mark != seen {
            // To ask the kernel takes longer than many turns do.
            (seen, ran_before, asleep) = (mark, None, Duration::ZERO);
            continue;
        }
        let ran = monitor.ran();
        let ran_before = *ran_before.get_or_insert(ran);
        // On a busy machine its turn takes longer, but no more of the processor.
        if monitor.is_asleep() {
            asleep += look;
        }
        let spent = ran.saturating_sub(ran_before) + asleep;
        let Some(worker) = worker.filter(|_| spent >= patience) else {
            continue;
        };
        return SimError::Stuck { worker, patience };
    }
}
