//! Many runs on one thread, which is watched from the caller's.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::runner::{SimError, Simulation, run_here};
use super::watchdog::Beat;
use crate::history::History;

/// A turn that lasts longer than this in real time will not end. Generous: on a machine with more
/// threads than processors, a turn may have to wait for its own.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How often the watchdog looks.
const LOOK: Duration = Duration::from_secs(1);

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
            match wait(&told, &beat) {
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
) -> Result<Result<T, SimError>, SimError> {
    let (mut seen, mut looks) = (beat.look().0, 0);
    loop {
        match told.recv_timeout(LOOK) {
            Ok(ran) => return Ok(ran),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(SimError::Broken("its thread panicked".into()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let (mark, worker) = beat.look();
        if mark != seen {
            (seen, looks) = (mark, 0);
            continue;
        }
        looks += 1;
        if let Some(worker) = worker.filter(|_| LOOK * looks >= PATIENCE) {
            return Err(SimError::Stuck { worker });
        }
    }
}
