//! Cells of the real worlds: each run is a `picklock scenario` of its own.
//!
//! A process for each run, and not a task: what a run does between its events (judging, writing)
//! would else keep the drivers of other runs from their own, and show as latency of their locks;
//! a run that breaks down takes no other with it; and the frozen, killed and cleaned-up things of
//! one run belong to it alone. The children are started from the main thread, with which they die.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::context::millis;
use picklock_harness::real::guard;
use picklock_harness::record::RunRecord;
use picklock_reports::json;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use super::gathering::{Looked, Measured};
use super::keeping::Keeping;
use super::progress::News;
use super::selection::Task;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::order::Order;

/// More workers than this are a crowd: two crowds on a small machine are in each other's way, until
/// no node answers in time and nobody gets a lock.
const CROWD: usize = 100;

/// What is left to do, and who wants to know.
struct Work {
    /// Room for as many runs as may go on at a time.
    room: Semaphore,
    jobs: usize,
    runs: RefCell<VecDeque<(usize, Arc<Task>, u64)>>,
    keeping: Option<Keeping>,
    interrupt: Interrupt,
    tell: UnboundedSender<News>,
}

/// Starts the runs, `jobs` at a time; their results come as [`News`]. Interrupted, the runs that go
/// on are ended in order, and tell nothing.
pub fn start(
    tasks: &[(usize, Arc<Task>)],
    seeds: u64,
    jobs: usize,
    keeping: Option<&Keeping>,
    interrupt: &Interrupt,
    tell: UnboundedSender<News>,
) {
    let mut runs = VecDeque::new();
    for (index, task) in tasks {
        for run in 0..seeds {
            runs.push_back((*index, Arc::clone(task), task.order.seed + run));
        }
    }
    let work = Rc::new(Work {
        room: Semaphore::new(jobs),
        jobs,
        runs: RefCell::new(runs),
        keeping: keeping.cloned(),
        interrupt: interrupt.clone(),
        tell,
    });
    for _ in 0..jobs {
        tokio::task::spawn_local(Rc::clone(&work).take_runs());
    }
}

impl Work {
    async fn take_runs(self: Rc<Self>) {
        loop {
            let next = self.runs.borrow_mut().pop_front();
            let Some((index, task, seed)) = next else {
                return;
            };
            // The room is never closed.
            let Ok(_room) = self.room.acquire_many(self.needs(&task.order)).await else {
                return;
            };
            if self.interrupt.is_wanted() || self.tell.send(News::Begun(index)).is_err() {
                return;
            }
            let keep_in = self.keeping.as_ref().map(|keep| keep.run(&task, seed));
            let news = match self.run(&task.order.with_seed(seed), keep_in).await {
                Ok(Some(looked)) => News::Ran(index, Box::new(looked)),
                Ok(None) => return,
                Err(reason) => News::Failed(index, seed, reason),
            };
            if self.tell.send(news).is_err() {
                return;
            }
        }
    }

    /// How much of the room a run takes: a crowd wants it for itself.
    fn needs(&self, order: &Order) -> u32 {
        let crowd = order.scenario.workload.workers > CROWD;
        let needs = if crowd { self.jobs } else { 1 };
        u32::try_from(needs).unwrap_or(u32::MAX)
    }

    /// One run; nothing, if the user ended it.
    async fn run(&self, order: &Order, keep_in: Option<PathBuf>) -> Result<Option<Looked>, String> {
        let clock = Clock::start();
        let mut command = command(order);
        if let Some(path) = keep_in {
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
            return Err("somebody else interrupted it".into());
        }
        match json::parse(&stdout) {
            Ok(record) => Ok(Some(looked(record, millis(clock.elapsed())))),
            Err(_) => Err(why(code, &stderr)),
        }
    }
}

/// Exactly what the user would type for this run, and where its document goes.
fn command(order: &Order) -> Command {
    let args = &order.args;
    let mut command = Command::new(&order.program);
    command
        .args(["scenario", &args.scenario, "--impl", &args.subject])
        .args(["--seed", &order.seed.to_string(), "--json", "--quiet"]);
    for (key, value) in &args.options {
        command.arg("--impl-option").arg(format!("{key}={value}"));
    }
    if let Some(world) = clap::ValueEnum::to_possible_value(&args.backend) {
        command.args(["--backend", world.get_name()]);
    }
    if let Some(image) = &args.servers.image {
        command.args(["--image", image]);
    }
    if let Some(path) = &args.servers.redis_server {
        command.arg("--redis-server").arg(path);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    guard::prepare(&mut command);
    command
}

/// Waits for the end. Both pipes are emptied meanwhile: a full one would stop the run.
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

/// Asks it to end in order.
fn terminate(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // One that has just ended by itself needs no signal.
        kill_process(pid, Signal::TERM).ok();
    }
}

fn looked(record: RunRecord, elapsed_ms: u64) -> Looked {
    Looked {
        seed: record.seed,
        verdicts: record.verdicts,
        counts: record.counts,
        latency: Measured::Summary(record.latency),
        version: Some(record.subject.version),
        elapsed_ms: Some(elapsed_ms),
    }
}

/// What the run said about its end, without the line that says where it ran.
fn why(code: Option<i32>, stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("backend "));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let text = text.trim().trim_start_matches("picklock: ");
    match (text.is_empty(), code) {
        (false, _) => text.to_owned(),
        (true, Some(code)) => format!("the run ended with exit code {code} and said nothing"),
        (true, None) => "the run was killed".to_owned(),
    }
}
