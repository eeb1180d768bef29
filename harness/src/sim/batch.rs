//! Runs one or many simulations on a separate thread, while the caller's thread watches for a stuck simulation.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::runner::{SimError, Simulation, run_here};
use super::watchdog::Watchdog;
use crate::run_result::RunResult;

/// Maximum CPU time plus sleeping time of one turn. A turn that exceeds this maximum counts as stuck. Time spent
/// waiting for a CPU does not count.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many times the watchdog checks a turn before its patience ends.
const CHECKS: u32 = 10;

/// The simulations that have not run yet, and the function that inspects each result of a simulation.
struct Batch<L> {
    pending: Mutex<std::vec::IntoIter<Simulation>>,
    inspect: L,
}

/// Simulates one run. The same simulation always produces the same history, byte for byte.
///
/// The simulation runs on a separate thread, so that a lock that never yields causes an error and not a hang. A thread
/// in such a lock cannot be stopped, so it is abandoned.
///
/// # Errors
/// See [`SimError`]. A violated property is not an error.
pub fn run(simulation: Simulation) -> Result<RunResult, SimError> {
    run_with_patience(simulation, PATIENCE)
}

/// Simulates many runs one after the other, and calls `inspect` with each result on the simulation's thread.
///
/// Each result is the same as from [`run`](run()). The runs share a thread, because starting a thread takes longer than
/// a small run. A stuck thread is abandoned together with its current run, and a new thread continues with the rest.
///
/// # Errors
/// Returns one result per simulation, in order; see [`SimError`].
pub fn run_many<T: Send + 'static>(
    simulations: Vec<Simulation>,
    inspect: impl Fn(RunResult) -> T + Send + Sync + 'static,
) -> Vec<Result<T, SimError>> {
    batch(simulations, inspect, PATIENCE)
}

/// Simulates one run like [`run`](run()), but with a given `patience`: the CPU time plus sleeping time after which a
/// turn counts as stuck.
///
/// # Errors
/// See [`SimError`].
pub fn run_with_patience(
    simulation: Simulation,
    patience: Duration,
) -> Result<RunResult, SimError> {
    let results = batch(vec![simulation], |result| result, patience).pop();
    results.unwrap_or_else(|| Err(SimError::Internal("nothing was simulated".into())))
}

fn batch<T: Send + 'static>(
    simulations: Vec<Simulation>,
    inspect: impl Fn(RunResult) -> T + Send + Sync + 'static,
    patience: Duration,
) -> Vec<Result<T, SimError>> {
    let count = simulations.len();
    let batch = Arc::new(Batch {
        pending: Mutex::new(simulations.into_iter()),
        inspect,
    });
    let mut results = Vec::with_capacity(count);
    while results.len() < count {
        let (watchdog, done) = (Watchdog::default(), Done::new(Mutex::new(Some(Vec::new()))));
        match start(Arc::clone(&batch), watchdog.clone(), Arc::clone(&done)) {
            Ok(ended) => {
                let lost = wait(&ended, &watchdog, patience);
                // The abandoned thread may finish more runs later; their results are discarded.
                let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
                results.extend(done.unwrap_or_default());
                if results.len() < count {
                    results.push(Err(lost));
                }
            }
            Err(error) => {
                batch.next();
                results.push(Err(error));
            }
        }
    }
    results
}

/// The results of one thread, or `None` once its current run counts as stuck and its later results are discarded. A
/// single result does not wake the caller's thread, because waking it would take longer than a small run.
type Done<T> = Arc<Mutex<Option<Vec<Result<T, SimError>>>>>;

impl<L> Batch<L> {
    fn next(&self) -> Option<Simulation> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.next()
    }
}

/// Starts a thread that runs the pending simulations. The returned channel closes when the thread ends.
fn start<T, L>(
    batch: Arc<Batch<L>>,
    watchdog: Watchdog,
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
            watchdog.claim_thread();
            while let Some(simulation) = batch.next() {
                let result = run_here(simulation, watchdog.clone()).map(&batch.inspect);
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(done) = &mut *done else { return };
                done.push(result);
            }
        });
    match begun {
        Ok(_) => Ok(ended),
        Err(error) => Err(SimError::Internal(error.to_string())),
    }
}

/// Waits until the thread delivers no more results. If simulations are left, returns the reason why the thread's
/// current run produced no result.
fn wait(ended: &mpsc::Receiver<Infallible>, watchdog: &Watchdog, patience: Duration) -> SimError {
    let interval = (patience / CHECKS).max(Duration::from_millis(1));
    let (mut seen_mark, mut cpu_time_before, mut asleep) =
        (watchdog.current_turn().0, None, Duration::ZERO);
    loop {
        match ended.recv_timeout(interval) {
            Ok(never) => match never {},
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return SimError::Internal("its thread panicked".into());
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let (mark, worker) = watchdog.current_turn();
        if mark != seen_mark {
            // Reading the kernel's counters takes longer than many turns.
            (seen_mark, cpu_time_before, asleep) = (mark, None, Duration::ZERO);
            continue;
        }
        let cpu_time = watchdog.cpu_time();
        let cpu_time_before = *cpu_time_before.get_or_insert(cpu_time);
        // On a busy machine a turn takes longer, but does not use more CPU time.
        if watchdog.is_asleep() {
            asleep += interval;
        }
        let spent = cpu_time.saturating_sub(cpu_time_before) + asleep;
        let Some(worker) = worker.filter(|_| spent >= patience) else {
            continue;
        };
        return SimError::Stuck { worker, patience };
    }
}
