//! Runs trials on real servers, with this test binary as worker and as clean-up helper.
//!
//! The driver and a worker communicate over pipes, but the test harness of a test binary writes to standard output
//! before the first test runs. So the pipe for answers is passed as the file [`ANSWERS`], and standard output is
//! redirected to standard error, which is the worker's log.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::rc::Rc;

use tokio::net::unix::pipe;

use super::error::TrialError;
use super::outcome::TrialRun;
use super::worker_entry::{REAPER, ROLE, WORKER, WorkerEntry, WorkerError};
use crate::adapter::worker_command::WorkerCommand;
use crate::expectation::Expected;
use crate::lock_factory::LockFactory;
use crate::run::{BackendSetup, RunFailure, ServerSetup, run};
use crate::servers::{Binary, ReaperError, ServerKind, run_reaper};
use crate::spec::RunSpec;
use crate::worker::serve_lock;

/// The file to which a worker or the reaper writes its answers.
const ANSWERS: &str = "/proc/self/fd/3";

/// If this process is a worker that a trial on real servers started, serves the driver until the end of the trial, and
/// returns `true`. Returns `false` immediately in any other process.
///
/// Call this function at the place that [`WorkerEntry`] states, with every lock that trials of this binary run. If it
/// returns `true`, `main` should return:
///
/// ```
/// # use picklock_harness::lock_factory::LockFactory;
/// # use picklock_harness::trial::serve_worker;
/// # fn my_lock() -> LockFactory { LockFactory::built_in(picklock_impls::find("set-nx-px").unwrap()) }
/// # fn main() -> Result<(), picklock_harness::TrialError> {
/// if serve_worker(&[my_lock()])? {
///     return Ok(());
/// }
/// # Ok(())
/// # }
/// ```
///
/// In a test binary, call the function in a separate test, and pass that test's name to [`WorkerEntry::test`]:
///
/// ```text
/// #[test]
/// fn picklock_worker() {
///     serve_worker(&[my_lock()]).unwrap();
/// }
/// ```
///
/// # Errors
/// Returns an error if the trial runs a lock that is not in `locks`, or if the connection to the driver broke.
pub fn serve_worker(locks: &[LockFactory]) -> Result<bool, WorkerError> {
    let Ok(role) = std::env::var(ROLE) else {
        return Ok(false);
    };
    match role.strip_prefix(WORKER) {
        Some(name) => worker(name, locks)?,
        None => reaper()?,
    }
    Ok(true)
}

fn reaper() -> Result<(), WorkerError> {
    let answers = OpenOptions::new().write(true).open(ANSWERS);
    let answers = answers.map_err(WorkerError::Answers)?;
    run_reaper(io::stdin().lock(), answers).map_err(WorkerError::Answers)
}

fn worker(name: &str, locks: &[LockFactory]) -> Result<(), WorkerError> {
    let lock = locks.iter().find(|lock| lock.spec().name == name);
    let lock = lock.ok_or_else(|| WorkerError::Unknown {
        name: name.to_owned(),
        known: locks.iter().map(|lock| lock.spec().name.clone()).collect(),
    })?;
    on_new_thread(async || {
        let mut answers = pipe::OpenOptions::new()
            .open_sender(ANSWERS)
            .map_err(WorkerError::Answers)?;
        let mut requests = tokio::io::BufReader::new(tokio::io::stdin());
        // Only a defective driver sends a request without a number.
        serve_lock(lock, &mut requests, &mut answers, &mut |_| ()).await?;
        Ok(())
    })
}

/// Maximum number of reruns of a run for which the machine was too slow.
const MAX_RERUNS: usize = 3;

pub(super) fn run_all(
    specs: Vec<RunSpec>,
    entry: &WorkerEntry,
) -> Result<Vec<TrialRun>, TrialError> {
    check_no_role(std::env::var_os(ROLE).as_deref())?;
    on_new_thread(async || {
        let mut runs = Vec::new();
        for spec in &specs {
            let make = async || one_run(spec, entry).await;
            let is_spoiled = |run: &TrialRun| Expected::default().is_spoiled(&run.verdicts);
            runs.push(repeat_while(is_spoiled, make).await?);
        }
        Ok(runs)
    })
}

/// Returns an error in a process with a role. Such a process must serve the trial that started it. If it began a trial
/// itself, it would start further processes endlessly.
fn check_no_role(role: Option<&OsStr>) -> Result<(), WorkerError> {
    match role {
        None => Ok(()),
        Some(role) => Err(WorkerError::InRole(role.to_string_lossy().into_owned())),
    }
}

async fn one_run(spec: &RunSpec, entry: &WorkerEntry) -> Result<TrialRun, TrialError> {
    let servers = Binary::find(spec.servers.redis_server.as_deref())?;
    let mut reaper = entry.command(REAPER)?.into_iter();
    let backend = BackendSetup::Servers(ServerSetup {
        servers: ServerKind::Process(servers),
        worker: WorkerCommand::new(entry.command(&format!("{WORKER}{}", spec.lock.name))?),
        reaper: reaper.next().unwrap_or_default().into(),
        reaper_args: reaper.map(OsString::from).collect(),
        // This process is the user's program, which may start other processes.
        starts_only_runs: false,
    });
    let output = run(spec, backend, Rc::new(()), std::future::pending()).await;
    if let Err(RunFailure::Reaper(helper @ ReaperError::NotTheHelper { .. })) = output {
        let entry = entry.clone();
        return Err(WorkerError::NoEntry { entry, helper }.into());
    }
    TrialRun::new(spec.seed, output)
}

async fn repeat_while<T, E>(
    is_spoiled: impl Fn(&T) -> bool,
    mut make: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut result = make().await?;
    for _ in 0..MAX_RERUNS {
        if !is_spoiled(&result) {
            break;
        }
        result = make().await?;
    }
    Ok(result)
}

/// Runs the work on a new thread with its own runtime, and waits for it. The calling thread may already have a runtime.
fn on_new_thread<T: Send, E: From<WorkerError> + Send>(
    work: impl AsyncFnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(WorkerError::Runtime)?;
        let done = tokio::task::LocalSet::new().block_on(&runtime, work());
        // Do not wait for a blocked read of standard input, which would keep the process alive.
        runtime.shutdown_background();
        done
    };
    std::thread::scope(|scope| {
        let joined = scope.spawn(work).join();
        joined.unwrap_or_else(|_| Err(WorkerError::Panicked.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of the run that counts, and the total number of runs, if the first `spoiled` runs are
    /// spoiled.
    fn runs(spoiled: usize) -> (usize, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let mut result = 0;
        let make = async || {
            result += 1;
            Ok::<_, ()>(result)
        };
        let counts = runtime
            .unwrap()
            .block_on(repeat_while(|number| *number <= spoiled, make));
        (counts.unwrap(), result)
    }

    #[test]
    fn process_in_a_role_cannot_begin_a_trial() {
        assert!(check_no_role(None).is_ok());
        for role in [REAPER, "worker:my-lock"] {
            let error = check_no_role(Some(OsStr::new(role))).unwrap_err();
            assert!(error.to_string().contains(role), "{error}");
        }
    }

    #[test]
    fn spoiled_run_is_repeated_up_to_three_times() {
        assert_eq!(runs(0), (1, 1));
        assert_eq!(runs(2), (3, 3));
        assert_eq!(runs(9), (4, 4));
    }
}
