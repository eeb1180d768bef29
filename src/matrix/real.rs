//! Cells on real servers: each run is a separate `picklock scenario` process.
//!
//! Each run is a process, not a task. In a shared process, the work of one run between its events
//! (judging, writing) would delay the drivers of other runs, and would look like latency of their
//! locks. A run that crashes takes no other run with it, and whatever is frozen, killed and cleaned
//! up belongs to one run alone. The main thread starts the children, and they die with it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;

use picklock_harness::check::machine_too_slow;
use picklock_harness::clock::Clock;
use picklock_harness::context::millis;
use picklock_harness::record::RunRecord;
use picklock_harness::servers::parent_death_signal;
use picklock_harness::spec::RunSpec;
use picklock_reports::run_document;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::cell_builder::RunResult;
use super::cell_latency::RunLatency;
use super::directory::MatrixDirectory;
use super::pieces::Pieces;
use super::progress::RunReport;
use super::selection::{MANY_WORKERS, Task};
use crate::interrupt::Interrupt;
use crate::reproduce_command::ReproduceCommand;
use crate::{exit, lock};

/// How often a run is made again in which the machine was too slow.
const REPEATS: u64 = 3;

/// After so many repeats in a row in which it was too slow once more, no run is made again: that is how this
/// machine is, and the table should end.
const FRUITLESS: u32 = 10;

/// The remaining work, and where results go.
struct Work {
    /// One permit for each run that may be in progress.
    permits: Semaphore,
    jobs: usize,
    runs: RefCell<Pieces>,
    directory: Option<MatrixDirectory>,
    interrupt: Interrupt,
    tell: UnboundedSender<RunReport>,
    /// Runs in which the machine was too slow.
    spoiled: RefCell<Vec<Rerun>>,
    /// Repeats in a row in which the machine was too slow again.
    fruitless: Cell<u32>,
}

/// A run in which the machine was too slow, and what came out.
struct Rerun {
    index: usize,
    spec: RunSpec,
    out: Option<PathBuf>,
    result: RunResult,
}

/// Starts the runs, `jobs` at a time; their results arrive as [`RunReport`]. On an interrupt,
/// running ones end in order and report nothing.
pub fn start(
    tasks: &[(usize, Arc<Task>)],
    seeds: u64,
    jobs: usize,
    directory: Option<&MatrixDirectory>,
    interrupt: &Interrupt,
    tell: UnboundedSender<RunReport>,
) {
    let work = Rc::new(Work {
        permits: Semaphore::new(jobs),
        jobs,
        runs: RefCell::new(Pieces::of(tasks, seeds, 1)),
        directory: directory.cloned(),
        interrupt: interrupt.clone(),
        tell,
        spoiled: RefCell::default(),
        fruitless: Cell::new(0),
    });
    tokio::task::spawn_local(async move {
        let mut takers = JoinSet::new();
        for _ in 0..jobs {
            takers.spawn_local(Rc::clone(&work).take_runs());
        }
        takers.join_all().await;
        work.repeat_spoiled().await;
    });
}

impl Work {
    async fn take_runs(self: Rc<Self>) {
        loop {
            let next = self.runs.borrow_mut().next();
            let Some((index, task, run)) = next else {
                return;
            };
            let seed = task.spec.seed + run.start;
            // The semaphore is never closed.
            let Ok(permits) = self.permits.acquire_many(self.needs(&task.spec)).await else {
                return;
            };
            if self.interrupt.is_wanted() || self.tell.send(RunReport::Begun(index)).is_err() {
                return;
            }
            let out = self.directory.as_ref().map(|it| it.run(&task, seed));
            let spec = task.spec.with_seed(seed);
            let ended = self.run(&spec, out.as_deref()).await;
            drop(permits);
            let report = match ended {
                Ok(Some(result)) if machine_too_slow(&result.verdicts) => {
                    self.spoiled.borrow_mut().push(Rerun {
                        index,
                        spec,
                        out,
                        result,
                    });
                    continue;
                }
                Ok(Some(result)) => RunReport::Ran(index, Box::new(result)),
                Ok(None) => return,
                Err(reason) => RunReport::Failed(index, seed, reason),
            };
            if self.tell.send(report).is_err() {
                return;
            }
        }
    }

    /// The number of permits that a run takes: all of them if it has many workers.
    fn needs(&self, spec: &RunSpec) -> u32 {
        let has_many = spec.scenario.workload.workers > MANY_WORKERS;
        let needs = if has_many { self.jobs } else { 1 };
        u32::try_from(needs).unwrap_or(u32::MAX)
    }

    /// Makes the runs again in which the machine was too slow: nothing could be judged, so the lock was not put
    /// to the test. At the end, one by one: nothing runs beside them then.
    async fn repeat_spoiled(&self) {
        let spoiled = std::mem::take(&mut *self.spoiled.borrow_mut());
        for run in spoiled {
            let (index, seed) = (run.index, run.spec.seed);
            let report = match self.repeated(run).await {
                Ok(Some(result)) => RunReport::Ran(index, Box::new(result)),
                Ok(None) => return,
                Err(reason) => RunReport::Failed(index, seed, reason),
            };
            if self.tell.send(report).is_err() {
                return;
            }
        }
    }

    /// Makes one run again as long as the machine was too slow; `None` if the user interrupted it.
    async fn repeated(&self, run: Rerun) -> Result<Option<RunResult>, String> {
        let mut result = run.result;
        for repeats in 1..=REPEATS {
            if !machine_too_slow(&result.verdicts) || self.fruitless.get() >= FRUITLESS {
                break;
            }
            if self.interrupt.is_wanted() {
                return Ok(None);
            }
            if let Some(path) = &run.out {
                std::fs::remove_dir_all(path)
                    .map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
            }
            match self.run(&run.spec, run.out.as_deref()).await? {
                Some(again) => result = again,
                None => return Ok(None),
            }
            result.repeats = repeats;
            match machine_too_slow(&result.verdicts) {
                true => self.fruitless.set(self.fruitless.get() + 1),
                false => self.fruitless.set(0),
            }
        }
        Ok(Some(result))
    }

    /// One run; `None` if the user interrupted it.
    async fn run(&self, spec: &RunSpec, out: Option<&Path>) -> Result<Option<RunResult>, String> {
        let clock = Clock::start();
        let mut command = command(spec)?;
        if let Some(path) = out {
            command.arg("--out").arg(path);
        }
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot start a run: {error}"))?;
        let output = tokio::select! {
            output = outputs(&mut child) => output,
            () = self.interrupt.clone().wanted() => {
                terminate(&child);
                outputs(&mut child).await.ok();
                return Ok(None);
            }
        };
        let (code, stdout, stderr) = output.map_err(|error| format!("lost a run: {error}"))?;
        if code == Some(i32::from(exit::INTERRUPTED)) {
            return Err("something else interrupted it".into());
        }
        match run_document::parse(&stdout) {
            Ok(record) => Ok(Some(result_of(record, millis(clock.elapsed())))),
            Err(_) => Err(why(code, &stderr)),
        }
    }
}

/// The command that the user would type for this run, with its output captured.
fn command(spec: &RunSpec) -> Result<Command, String> {
    let program = lock::this_program().map_err(|failure| failure.to_string())?;
    let mut command = Command::new(program);
    command
        .args(ReproduceCommand::of_run(spec).arguments())
        .args(["--json", "--quiet", "--once"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    parent_death_signal::prepare(&mut command);
    Ok(command)
}

/// Waits for the end while emptying both pipes: a full pipe would block the run.
async fn outputs(child: &mut Child) -> std::io::Result<(Option<i32>, String, String)> {
    use tokio::io::AsyncReadExt;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let read_out = async {
        match &mut stdout {
            Some(pipe) => pipe.read_to_end(&mut said).await.map(drop),
            None => Ok(()),
        }
    };
    let read_err = async {
        match &mut stderr {
            Some(pipe) => pipe.read_to_end(&mut complained).await.map(drop),
            None => Ok(()),
        }
    };
    let (read_out, read_err, status) = tokio::join!(read_out, read_err, child.wait());
    read_out.and(read_err)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status?.code(), text(said), text(complained)))
}

/// Asks the run to end in order.
fn terminate(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // One that has just ended by itself needs no signal.
        kill_process(pid, Signal::TERM).ok();
    }
}

fn result_of(record: RunRecord, elapsed_ms: u64) -> RunResult {
    RunResult {
        seed: record.seed,
        verdicts: record.verdicts,
        counts: record.counts,
        latency: RunLatency::Summary(record.latency),
        redis: record.redis,
        version: Some(record.lock.version),
        elapsed_ms: Some(elapsed_ms),
        repeats: 0,
    }
}

/// What the run wrote about its end, without the line about its backend.
fn why(code: Option<i32>, stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("backend "));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let text = text.trim().trim_start_matches("picklock: ");
    match (text.is_empty(), code) {
        (false, _) => text.to_owned(),
        (true, Some(code)) => format!("the run ended with exit code {code} and no message"),
        (true, None) => "the run was killed".to_owned(),
    }
}
