//! The helper process that cleans up after this process has ended.
//!
//! This process registers the objects that it owns by writing to a pipe. When the pipe ends, however this process
//! ended, the helper kills the registered process groups and marked processes, removes the registered directories and
//! containers, and exits. After a run that ended normally, no objects are registered any more.

mod helper;
mod order;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::mem::ManuallyDrop;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use helper::run_reaper;
use order::{Belonging, Order};

use super::{ProcessIdentity, signals};
use crate::clock::Clock;
use crate::process_stat::ProcessStat;

/// Line that the helper writes when it is ready. From then on, signals from a terminal do not end it.
const READY: &str = "picklock-reaper/1 ready";

/// Pause between two checks whether the helper has exited, or has resumed reading.
const LOOK: Duration = Duration::from_millis(2);

/// How long to wait for the exit of the helper, which itself waits thirty seconds for a container engine.
const PATIENCE: Duration = Duration::from_secs(40);

/// The reason why the clean-up helper cannot be used. A run must not start without it.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the field names their contents"
)]
pub enum ReaperError {
    #[error("cannot start the clean-up helper {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("{} is not the clean-up helper: it answered {answer:?}", program.display())]
    NotTheHelper { program: PathBuf, answer: String },
    #[error("the clean-up helper is gone ({0}); processes started now might outlive the run")]
    Gone(io::Error),
    #[error(
        "the path {0:?} is not UTF-8 or contains a line break; choose another temporary directory"
    )]
    Path(PathBuf),
    #[error("cannot inspect process {pid}: {source}")]
    Process { pid: u32, source: io::Error },
}

/// Handle of the helper process. All clones refer to the same helper, which exits when the last clone and the last
/// [`Registration`] are dropped, or when this process ends.
#[derive(Debug, Clone)]
pub struct Reaper {
    process: Arc<ReaperProcess>,
    owner: ProcessIdentity,
}

#[derive(Debug)]
struct ReaperProcess {
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
    /// Whether the helper may outlive this process. If so, its exit is not awaited.
    is_left: AtomicBool,
}

/// An object that the helper cleans up. Dropping this removes the registration, so drop it only after the object has
/// ended or was removed.
#[derive(Debug)]
pub struct Registration {
    process: Arc<ReaperProcess>,
    belonging: Belonging,
}

/// Containers that the helper cleans up. Unlike for a [`Registration`], dropping this does not remove the registration:
/// a cancelled start leaves containers that only the helper can remove.
#[derive(Debug)]
pub(super) struct ContainerWatch {
    registration: ManuallyDrop<Registration>,
    run: String,
}

impl ContainerWatch {
    /// Returns the value of the containers' label.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Removes the registration, because the containers have been removed.
    pub(super) fn forget(self) {
        drop(ManuallyDrop::into_inner(self.registration));
    }
}

impl Reaper {
    /// Starts `program args` in a separate process group, and waits until it is ready. The program must call
    /// [`run_reaper`] with its standard input and output.
    ///
    /// # Errors
    /// Returns an error if the helper cannot be started, or does not answer.
    pub fn spawn(program: &Path, args: &[OsString]) -> Result<Reaper, ReaperError> {
        let start = |source| ReaperError::Start {
            program: program.to_owned(),
            source,
        };
        let owner = ProcessIdentity::this_process().map_err(start)?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // The helper must not keep the current directory in use.
            .current_dir("/")
            .process_group(0)
            .spawn()
            .map_err(start)?;
        let output = child.stdout.take().map(BufReader::new);
        let pipe = child.stdin.take();
        if let Some(pipe) = &pipe {
            // The pipe is non-blocking, because a stopped helper does not read, and a write must not block forever.
            rustix::io::ioctl_fionbio(pipe, true).map_err(|error| start(error.into()))?;
        }
        let process = Arc::new(ReaperProcess {
            pipe: Mutex::new(pipe),
            child: Mutex::new(child),
            is_left: AtomicBool::new(false),
        });
        // If the program is not the helper, it may have exited already. Its output is checked before the write error,
        // because the output explains more.
        let sent = process.send(&Order::Owner(owner.to_string()));
        let answer = output.map(read_greeting).unwrap_or_default();
        if answer != READY {
            return Err(ReaperError::NotTheHelper {
                program: program.to_owned(),
                answer,
            });
        }
        sent?;
        Ok(Reaper { process, owner })
    }

    /// Lets the helper clean up all registered objects, none of which may still be in use, and waits at most `patience`
    /// for its exit. After that, the helper continues alone, and may outlive this process.
    ///
    /// Must be called inside a runtime with time.
    pub async fn finish_within(self, patience: Duration) {
        self.process.close_pipe();
        let ended = async {
            while self.process.is_running() {
                self.process.resume();
                tokio::time::sleep(LOOK).await;
            }
        };
        let in_time = tokio::time::timeout(patience, ended).await.is_ok();
        self.process.is_left.store(!in_time, Ordering::Relaxed);
    }

    /// Keeps all registrations from now on, and does not wait for the helper's exit. Objects that still exist at the
    /// end of this process are cleaned up afterwards.
    pub fn leave(&self) {
        self.process.is_left.store(true, Ordering::Relaxed);
    }

    /// Returns the PID of the helper, for callers that must recognise it in a list of processes.
    pub fn process_id(&self) -> u32 {
        let child = &self.process.child;
        child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Returns the identity of this process.
    pub fn owner(&self) -> &ProcessIdentity {
        &self.owner
    }

    /// Registers containers that do not exist yet. The value of their label is unique among all processes.
    ///
    /// # Errors
    /// Returns an error if the helper is gone.
    pub(super) fn register_containers(&self) -> Result<ContainerWatch, ReaperError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let owner = self.owner.to_string();
        let run = format!("{:016x}", crate::rng::derive(0, &owner, number));
        let registration = self.register(Belonging::Containers(run.clone()))?;
        Ok(ContainerWatch {
            registration: ManuallyDrop::new(registration),
            run,
        })
    }

    /// Registers the process group that `leader` leads. The leader must not have been reaped.
    ///
    /// # Errors
    /// Returns an error if there is no such process, or the helper is gone.
    pub fn group(&self, leader: u32) -> Result<Registration, ReaperError> {
        let stat = ProcessStat::for_process(leader).map_err(|source| ReaperError::Process {
            pid: leader,
            source,
        })?;
        self.register(Belonging::Group {
            leader,
            started_ticks: stat.started_ticks,
        })
    }

    /// Registers all processes with this mark; see
    /// [`WorkerControl::mark`](crate::adapter::control::WorkerControl::mark).
    ///
    /// # Errors
    /// Returns an error if the helper is gone.
    pub fn marked(&self, mark: &str) -> Result<Registration, ReaperError> {
        self.register(Belonging::Mark(mark.into()))
    }

    /// Registers a directory with a marker; see [`RunDir`](super::RunDir).
    pub(super) fn dir(&self, path: &Path) -> Result<Registration, ReaperError> {
        if path.to_str().is_none_or(|text| text.contains('\n')) {
            return Err(ReaperError::Path(path.to_owned()));
        }
        self.register(Belonging::Dir(path.into()))
    }

    fn register(&self, belonging: Belonging) -> Result<Registration, ReaperError> {
        self.process.send(&Order::Remember(belonging.clone()))?;
        Ok(Registration {
            process: Arc::clone(&self.process),
            belonging,
        })
    }
}

/// Reads output until the helper's greeting. Skips lines before the greeting, because the test harness of a re-executed
/// test binary prints some. Without a greeting, returns the last line for the error message.
fn read_greeting(output: impl BufRead) -> String {
    let mut last = String::new();
    for line in output.lines().map_while(Result::ok).take(8) {
        if line.ends_with(READY) {
            return READY.to_owned();
        }
        last = line;
    }
    last
}

impl ReaperProcess {
    fn send(&self, order: &Order) -> Result<(), ReaperError> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = pipe.as_mut() else {
            return Err(ReaperError::Gone(io::ErrorKind::BrokenPipe.into()));
        };
        let order =
            serde_json::to_string(order).map_err(|error| ReaperError::Gone(error.into()))?;
        // One write, so that the death of this process does not leave an incomplete line.
        let line = format!("{order}\n");
        let clock = Clock::start();
        loop {
            match pipe.write(line.as_bytes()) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_reader(),
                Err(error) => return Err(ReaperError::Gone(error)),
            }
            if clock.elapsed() > PATIENCE {
                return Err(ReaperError::Gone(io::ErrorKind::TimedOut.into()));
            }
        }
    }

    /// Waits briefly for the helper, which is not reading and may have been stopped.
    #[expect(
        clippy::disallowed_methods,
        reason = "there is no event to wait for: a stopped process sends none"
    )]
    fn wait_for_reader(&self) {
        self.resume();
        std::thread::sleep(LOOK);
    }

    /// Resumes the helper if it was stopped, so that a run does not wait for it.
    fn resume(&self) {
        let pid = (self.child.lock().unwrap_or_else(PoisonError::into_inner)).id();
        if ProcessStat::for_process(pid).is_ok_and(|stat| stat.state == 'T') {
            let _ = signals::thaw(pid);
        }
    }

    /// Closes the pipe, so that the helper cleans up and exits.
    fn close_pipe(&self) {
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_running(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(None))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.process.is_left.load(Ordering::Relaxed) {
            // If this fails, the helper is gone.
            let _ = self.process.send(&Order::Forget(self.belonging.clone()));
        }
    }
}

impl Drop for ReaperProcess {
    fn drop(&mut self) {
        self.close_pipe();
        if *self.is_left.get_mut() {
            return;
        }
        // The helper exits when the pipe closes. Wait until the helper has cleaned up, and reap it. If it is still
        // running after `PATIENCE`, leave it running.
        let clock = Clock::start();
        while self.is_running() && clock.elapsed() < PATIENCE {
            self.wait_for_reader();
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// Starts a shell script in place of the helper.
    fn helper_that(does: &str) -> Reaper {
        let script = format!("echo '{READY}'; {does}");
        Reaper::spawn(Path::new("sh"), &["-c".into(), script.into()]).unwrap()
    }

    /// The helper sleeps for hours, so the test ends only if the reaper does not wait for it.
    #[tokio::test]
    async fn slow_helper_is_left_running() {
        let reaper = helper_that("exec sleep 36000");
        let helper = reaper.process_id();
        reaper.finish_within(Duration::from_millis(20)).await;
        let stat = ProcessStat::for_process(helper).unwrap();
        assert!(!stat.has_ended());
        let pid = Pid::from_raw(helper.cast_signed()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// The helper stops itself, and does not read.
    #[test]
    fn stopped_helper_is_resumed() {
        let reaper = helper_that("kill -STOP $$; while read order; do :; done");
        let helper = reaper.process_id();
        while ProcessStat::for_process(helper).unwrap().state != 'T' {
            std::thread::yield_now();
        }
        // More orders than a pipe can hold.
        for number in 0..2000 {
            drop(reaper.marked(&format!("{number:0100}")).unwrap());
        }
        let pid = Pid::from_raw(helper.cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        drop(reaper);
        assert!(
            ProcessStat::for_process(helper).is_err(),
            "it was not reaped"
        );
    }

    #[tokio::test]
    async fn helper_that_has_cleaned_up_is_reaped() {
        let reaper = helper_that("while read order; do :; done");
        let helper = reaper.process_id();
        reaper.finish_within(Duration::from_secs(3600)).await;
        assert!(
            ProcessStat::for_process(helper).is_err(),
            "it was not reaped"
        );
    }

    /// The helper sleeps for hours, so the test ends only if the reaper does not wait for it.
    #[tokio::test]
    async fn helper_that_was_left_keeps_later_registrations() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display();
        let reaper = helper_that(&format!(
            "cat > {path}/part; mv {path}/part {path}/all; exec sleep 36000"
        ));
        let gone = reaper.marked("gone").unwrap();
        let there = reaper.marked("there").unwrap();
        let pid = Pid::from_raw(reaper.process_id().cast_signed()).unwrap();
        drop(gone);
        reaper.leave();
        drop(there);
        drop(reaper);
        let orders = loop {
            match std::fs::read_to_string(dir.path().join("all")) {
                Ok(orders) => break orders,
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        };
        kill_process(pid, Signal::KILL).unwrap();
        assert!(orders.contains(r#"{"forget":{"mark":"gone"}}"#), "{orders}");
        assert!(
            !orders.contains(r#"{"forget":{"mark":"there"}}"#),
            "{orders}"
        );
    }
}
