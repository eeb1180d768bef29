//! Runs on real servers: each is a separate `picklock scenario` process.
//!
//! Each run is a process, not a task. In a shared process, the work of one run between its events (judging, writing)
//! would delay the drivers of other runs, and would look like latency of their locks. A crash affects one run only, as
//! do freezes, kills and cleanup. The main thread starts the children, and they die with it.

use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use picklock_harness::clock::{Clock, millis};
use picklock_harness::record::RunRecord;
use picklock_harness::servers::parent_death_signal;
use picklock_harness::spec::{LockSpec, RunSpec};
use picklock_reports::documents::{self, Document};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::cell_builder::JudgedRun;
use super::cell_latency::RunLatency;
use super::directory::MatrixDirectory;
use super::selection::Task;
use crate::interrupt::{END_WITH_STDIN, Interrupt};
use crate::reproduce_command::ReproduceCommand;
use crate::{exit, lock};

/// Settings that all runs of a matrix share.
pub struct ChildRuns {
    pub directory: Option<MatrixDirectory>,
    pub interrupt: Interrupt,
    /// For each lock so far, `Ok` if its program started, or the reason why it did not. The first cell decides: a
    /// program that did not start there is not tried again in other cells. If a program that has started before does
    /// not start later, the machine was too slow.
    pub starts: Mutex<Vec<(LockSpec, Result<(), String>)>>,
}

impl ChildRuns {
    /// Runs the cell with this seed, with a second attempt if its program did not start. Returns `None` if the user
    /// interrupted the run.
    ///
    /// # Errors
    /// Returns the reason why the run left no record.
    pub async fn run(&self, task: &Task, seed: u64) -> Result<Option<JudgedRun>, String> {
        if let Some(reason) = self.reason_not_started(&task.spec.lock) {
            return Err(reason);
        }
        let mut result = self.attempt(task, seed).await;
        // On a busy machine the first start of a program may take too long.
        if matches!(&result, Err(failed) if failed.is_not_started) {
            result = self.attempt(task, seed).await;
        }
        let result = result.map_err(|failed| self.record_failure(&task.spec.lock, failed))?;
        self.record_start(&task.spec.lock, Ok(()));
        Ok(result)
    }

    /// Runs the cell with this seed once. Returns `None` if the user interrupted the run.
    async fn attempt(&self, task: &Task, seed: u64) -> Result<Option<JudgedRun>, FailedRun> {
        let clock = Clock::start();
        let mut command = command(&task.spec.with_seed(seed))?;
        // The directory must stay open until the run has ended.
        let mut handed = None;
        if let Some(directory) = &self.directory {
            // A rerun must start with an empty directory.
            directory.discard(task, seed);
            let run = handed.insert(directory.run(task, seed)?);
            command.arg("--out").arg(run.path());
        }
        let record = finish(command, &self.interrupt).await;
        let record = record.map_err(|mut failed| {
            // The child received a path to the directory that the user does not recognise.
            if let (Some(run), Some(directory)) = (&handed, &self.directory) {
                failed.reason = run.named(&failed.reason, directory.path());
            }
            failed
        })?;
        Ok(record.map(|record| result_of(record, millis(clock.elapsed()))))
    }

    /// Returns why the program of this lock did not start in an earlier run, or `None` if no start has failed.
    fn reason_not_started(&self, lock: &LockSpec) -> Option<String> {
        let starts = self.starts();
        let (_, start) = starts.iter().find(|(one, _)| one == lock)?;
        start.clone().err()
    }

    /// Records a run that failed. Returns the reason, or the reason of the first failure if the program did not start.
    fn record_failure(&self, lock: &LockSpec, failed: FailedRun) -> String {
        if failed.is_not_started {
            self.record_start(lock, Err(failed.reason.clone()));
        }
        let earlier = self.reason_not_started(lock);
        earlier
            .filter(|_| failed.is_not_started)
            .unwrap_or(failed.reason)
    }

    /// Records the start of a lock's program, unless an earlier run has already decided it.
    fn record_start(&self, lock: &LockSpec, start: Result<(), String>) {
        let mut starts = self.starts();
        if starts.iter().all(|(one, _)| one != lock) {
            starts.push((lock.clone(), start));
        }
    }

    fn starts(&self) -> MutexGuard<'_, Vec<(LockSpec, Result<(), String>)>> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that left no record.
pub struct FailedRun {
    pub reason: String,
    /// Whether the program of the lock did not start.
    pub is_not_started: bool,
}

impl From<String> for FailedRun {
    fn from(reason: String) -> FailedRun {
        FailedRun {
            reason,
            is_not_started: false,
        }
    }
}

/// Runs the command to its end, and returns the record that it prints, or `None` if the user interrupted it.
///
/// # Errors
/// Returns the reason why the run left no record.
pub async fn finish(
    mut command: Command,
    interrupt: &Interrupt,
) -> Result<Option<RunRecord>, FailedRun> {
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start a run: {error}"))?;
    let output = tokio::select! {
        output = outputs(&mut child) => output,
        () = interrupt.clone().wanted() => {
            terminate(&child);
            outputs(&mut child).await.ok();
            return Ok(None);
        }
    };
    let (stdout, stderr, status) = output.map_err(|error| format!("lost a run: {error}"))?;
    let code = status.code();
    if code == Some(i32::from(exit::INTERRUPTED)) {
        return Err("something else interrupted it".to_owned().into());
    }
    match documents::read(&stdout) {
        Ok(Document::Run(record)) => Ok(Some(*record)),
        Ok(Document::Matrix(_) | Document::Search(_)) | Err(_) => Err(FailedRun {
            reason: why(code, &stderr),
            is_not_started: code == Some(i32::from(exit::NOT_STARTED)),
        }),
    }
}

/// Returns the command that the user would type for this run, with its output captured.
pub fn command(spec: &RunSpec) -> Result<Command, String> {
    let program = lock::this_program().map_err(|failure| failure.text().as_str().to_owned())?;
    let mut command = Command::new(program);
    command
        .args(ReproduceCommand::for_run(spec).arguments())
        .args(["--json", "--quiet", "--no-rerun"])
        .env_remove(END_WITH_STDIN)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(external) = &spec.servers.external {
        // The user agreed when starting the matrix.
        command.arg("--yes");
        let passwords = external.passwords();
        command.envs(passwords.map(|password| (password.variable(), password.expose())));
    }
    parent_death_signal::prepare(&mut command);
    Ok(command)
}

/// Waits for the child to exit while draining both pipes: a full pipe would block the run.
async fn outputs(child: &mut Child) -> std::io::Result<(String, String, ExitStatus)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    tokio::try_join!(text(stdout), text(stderr), child.wait())
}

/// Reads all output of a pipe.
async fn text(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Asks the run to end gracefully.
fn terminate(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // A child that has just exited needs no signal.
        kill_process(pid, Signal::TERM).ok();
    }
}

fn result_of(record: RunRecord, elapsed_ms: u64) -> JudgedRun {
    JudgedRun {
        seed: record.seed,
        verdicts: record.verdicts,
        counts: record.counts,
        warnings: record.warnings,
        latency: RunLatency::Summary(record.latency),
        redis: record.redis,
        version: Some(record.lock.version),
        elapsed_ms: Some(elapsed_ms),
        reruns: 0,
    }
}

/// Returns the error output of the run.
fn why(code: Option<i32>, stderr: &str) -> String {
    let text = stderr.trim().trim_start_matches("picklock: ");
    match (text.is_empty(), code) {
        (false, _) => text.to_owned(),
        (true, Some(code)) => format!("the run ended with exit code {code} and no message"),
        (true, None) => "the run was killed".to_owned(),
    }
}
