//! Many runs on one thread, which is watched from the caller's.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::runner::{SimError, Simulation, run_here};
use super::watchdog::Beat;
use crate::history::History;

/// A turn that lasts longer than this in real time will not end. Time in which other threads kept
/// ours from running does not count.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The watchdog looks so often while its patience lasts.
const LOOKS: u32 = 10;

/// What is still to be done, and what to do with each history.
struct Batch<T, L> {
    left: Mutex<std::vec::IntoIter<Simulation>>,
    look: L,
    tell: std::marker::PhantomData<fn() -> T>,
}

/// Simulates many runs one after the other, and looks at each history where it was made.
///
/// Each is what [`run`](fn@super::run) gives for it; what they share is the thread, which is
/// dearer than a small run, so that a search should come this way. A thread that is stuck is left
/// behind with the run that it is stuck in, and the next one goes on with the rest.
///
/// # Errors
/// One result for each simulation, in order; see [`SimError`].
pub fn run_many<T, L>(simulations: Vec<Simulation>, look: L) -> Vec<Result<T, SimError>>
where
    T: Send + 'static,
    L: Fn(History) -> T + Send + Sync + 'static,
{
    batch(simulations, look, PATIENCE)
}

/// One run, like [`run`](fn@super::run); a subject counts as stuck when one of its turns has
/// lasted for `patience` of real time. Time that the thread spent waiting for a processor does
/// not count.
///
/// # Errors
/// See [`SimError`].
pub fn run_with_patience(simulation: Simulation, patience: Duration) -> Result<History, SimError> {
    let nothing = || Err(SimError::Broken("nothing was simulated".into()));
    let ran = batch(vec![simulation], |history| history, patience).pop();
    ran.unwrap_or_else(nothing)
}

fn batch<T, L>(
    simulations: Vec<Simulation>,
    look: L,
    patience: Duration,
) -> Vec<Result<T, SimError>>
where
    T: Send + 'static,
    L: Fn(History) -> T + Send + Sync + 'static,
{
    let count = simulations.len();
    let batch = Arc::new(Batch {
        left: Mutex::new(simulations.into_iter()),
        look,
        tell: std::marker::PhantomData,
    });
    let mut ran = Vec::with_capacity(count);
    while ran.len() < count {
        let beat = Beat::default();
        let told = match start(Arc::clone(&batch), beat.clone()) {
            Ok(told) => told,
            Err(error) => {
                batch.next();
                ran.push(Err(error));
                continue;
            }
        };
        while ran.len() < count {
            match wait(&told, &beat, patience) {
                Ok(one) => ran.push(one),
                Err(lost) => {
                    ran.push(Err(lost));
                    break;
                }
            }
        }
    }
    ran
}

impl<T, L> Batch<T, L> {
    fn next(&self) -> Option<Simulation> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.next()
    }
}

/// Starts a thread that does what is left, and where it tells of each run.
fn start<T, L>(
    batch: Arc<Batch<T, L>>,
    beat: Beat,
) -> Result<mpsc::Receiver<Result<T, SimError>>, SimError>
where
    T: Send + 'static,
    L: Fn(History) -> T + Send + Sync + 'static,
{
    let (tell, told) = mpsc::channel();
    let begun = std::thread::Builder::new()
        .name("picklock-sim".into())
        .spawn(move || {
            beat.claim_thread();
            while let Some(simulation) = batch.next() {
                let ran = run_here(simulation, beat.clone()).map(&batch.look);
                // Nobody listens any more once a run of this thread counts as stuck.
                if tell.send(ran).is_err() {
                    return;
                }
            }
        });
    match begun {
        Ok(_) => Ok(told),
        Err(error) => Err(SimError::Broken(error.to_string())),
    }
}

/// The next result of the thread; an error where there will be no more from it.
fn wait<T>(
    told: &mpsc::Receiver<Result<T, SimError>>,
    beat: &Beat,
    patience: Duration,
) -> Result<Result<T, SimError>, SimError> {
    let look = (patience / LOOKS).max(Duration::from_millis(1));
    let (mut seen, mut looks, mut kept_waiting) = (beat.look().0, 0, Duration::ZERO);
    loop {
        match told.recv_timeout(look) {
            Ok(ran) => return Ok(ran),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(SimError::Broken("its thread panicked".into()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let (mark, worker) = beat.look();
        if mark != seen {
            (seen, looks, kept_waiting) = (mark, 0, beat.kept_waiting());
            continue;
        }
        looks += 1;
        let excused = beat.kept_waiting().saturating_sub(kept_waiting);
        let Some(worker) = worker.filter(|_| (look * looks).saturating_sub(excused) >= patience)
        else {
            continue;
        };
        return Err(SimError::Stuck { worker, patience });
    }
}
