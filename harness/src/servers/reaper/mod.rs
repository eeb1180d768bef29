//! The helper process that cleans up after this process has ended.
//!
//! It reads from a pipe what belongs to this process. When the pipe ends, however this process
//! ended, the helper kills the process groups and the marked processes, and removes the directories and containers that it
//! was not told to forget. Then it ends. After a run that ended normally there is nothing to do.

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

/// What the helper writes when it is ready. From then on, no signal from a terminal ends it.
const READY: &str = "picklock-reaper/1 ready";

/// Pause between two looks whether the helper has ended, or reads again.
const LOOK: Duration = Duration::from_millis(2);

/// The helper is waited for no longer than this. It gives a container engine thirty seconds.
const PATIENCE: Duration = Duration::from_secs(40);

/// Why the clean-up helper cannot be used. A run should not start without it.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages say what each is, and the names what is in it"
)]
pub enum ReaperError {
    #[error("cannot start the clean-up helper {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("{} does not answer as the clean-up helper: {answer:?}", program.display())]
    Stranger { program: PathBuf, answer: String },
    #[error("the clean-up helper is gone ({0}); what the run starts now might outlive it")]
    Gone(io::Error),
    #[error(
        "the path {0:?} is not UTF-8 or holds a line break; choose another temporary directory"
    )]
    Path(PathBuf),
    #[error("cannot look at process {pid}: {source}")]
    Process { pid: u32, source: io::Error },
}

/// The handle of the helper process. Clones are the same helper; it ends when the last clone and
/// the last [`Registration`] are dropped, or when this process ends.
#[derive(Debug, Clone)]
pub struct Reaper {
    process: Arc<ReaperProcess>,
    owner: ProcessIdentity,
}

#[derive(Debug)]
struct ReaperProcess {
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
    /// The helper outlives this process if need be: nobody waits for its end.
    is_left: AtomicBool,
}

/// Something that the helper cleans up. Dropping this makes the helper forget it, so drop it after
/// the thing has ended or was removed.
#[derive(Debug)]
pub struct Registration {
    process: Arc<ReaperProcess>,
    belonging: Belonging,
}

/// Containers that the helper cleans up. Unlike a [`Registration`], dropping this does not make the
/// helper forget them: a start that is cancelled leaves containers that only the helper can remove.
#[derive(Debug)]
pub(super) struct ContainerWatch {
    registration: ManuallyDrop<Registration>,
    run: String,
}

impl ContainerWatch {
    /// The value of their label.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// They are removed; the helper need not look for them.
    pub(super) fn settle(self) {
        drop(ManuallyDrop::into_inner(self.registration));
    }
}

impl Reaper {
    /// Starts `program args`, which must call [`run_reaper`] on its standard input and output,
    /// in a process group of its own, and waits until it is ready.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
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
            // It must not keep the current directory in use.
            .current_dir("/")
            .process_group(0)
            .spawn()
            .map_err(start)?;
        let output = child.stdout.take().map(BufReader::new);
        let pipe = child.stdin.take();
        if let Some(pipe) = &pipe {
            // A helper that somebody has stopped reads nothing, and nobody may wait for it for ever.
            rustix::io::ioctl_fionbio(pipe, true).map_err(|error| start(error.into()))?;
        }
        let process = Arc::new(ReaperProcess {
            pipe: Mutex::new(pipe),
            child: Mutex::new(child),
            is_left: AtomicBool::new(false),
        });
        // A stranger may have ended by now. What it has said tells more than that.
        let told = process.tell(&Order::Owner(owner.to_string()));
        let answer = output.map(first_line_of_interest).unwrap_or_default();
        if answer != READY {
            return Err(ReaperError::Stranger {
                program: program.to_owned(),
                answer,
            });
        }
        told?;
        Ok(Reaper { process, owner })
    }

    /// Lets the helper clean up everything that it knows of, and waits for that, but no longer than
    /// `patience`. It then goes on by itself, and outlives this process if need be. Nothing may be in use.
    ///
    /// Must be called inside a runtime with time.
    pub async fn finish_within(self, patience: Duration) {
        self.process.end();
        let ended = async {
            while self.process.is_running() {
                self.process.go_on();
                tokio::time::sleep(LOOK).await;
            }
        };
        let in_time = tokio::time::timeout(patience, ended).await.is_ok();
        self.process.is_left.store(!in_time, Ordering::Relaxed);
    }

    /// From now on the helper forgets nothing, and nobody waits for its end: what is not gone when this
    /// process ends is cleaned up after it.
    pub fn leave(&self) {
        self.process.is_left.store(true, Ordering::Relaxed);
    }

    /// Process id of the helper, for those who look for it in a list of processes.
    pub fn process_id(&self) -> u32 {
        let child = &self.process.child;
        child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// This process, as the reaper knows it.
    pub fn owner(&self) -> &ProcessIdentity {
        &self.owner
    }

    /// Registers containers that do not exist yet. The value of their label is one that no other
    /// containers of any process have.
    /// `Err`: the helper is gone.
    pub(super) fn fresh_containers(&self) -> Result<ContainerWatch, ReaperError> {
        static GIVEN: AtomicU64 = AtomicU64::new(0);
        let number = GIVEN.fetch_add(1, Ordering::Relaxed);
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
    /// There is no such process, or the helper is gone.
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

    /// Registers all processes that carry this mark; see
    /// [`WorkerControl::mark`](crate::adapter::control::WorkerControl::mark).
    ///
    /// # Errors
    /// The helper is gone.
    pub fn marked(&self, mark: &str) -> Result<Registration, ReaperError> {
        self.register(Belonging::Mark(mark.into()))
    }

    /// Registers a marked directory; see [`RunDir`](super::RunDir).
    pub(super) fn dir(&self, path: &Path) -> Result<Registration, ReaperError> {
        if path.to_str().is_none_or(|text| text.contains('\n')) {
            return Err(ReaperError::Path(path.to_owned()));
        }
        self.register(Belonging::Dir(path.into()))
    }

    fn register(&self, belonging: Belonging) -> Result<Registration, ReaperError> {
        self.process.tell(&Order::Remember(belonging.clone()))?;
        Ok(Registration {
            process: Arc::clone(&self.process),
            belonging,
        })
    }
}

/// Test harnesses that re-execute themselves print lines of their own first, which are skipped. Any
/// other line is returned for the error message.
fn first_line_of_interest(output: impl BufRead) -> String {
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
    fn tell(&self, order: &Order) -> Result<(), ReaperError> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = pipe.as_mut() else {
            return Err(ReaperError::Gone(io::ErrorKind::BrokenPipe.into()));
        };
        let line = serde_json::to_string(order).map_err(|error| ReaperError::Gone(error.into()))?;
        // One write, so that the death of this process does not leave an incomplete line.
        let line = format!("{line}\n");
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

    /// The helper reads nothing: perhaps somebody has stopped it.
    #[expect(
        clippy::disallowed_methods,
        reason = "there is no event: a process that is stopped tells nobody"
    )]
    fn wait_for_reader(&self) {
        self.go_on();
        std::thread::sleep(LOOK);
    }

    /// Lets the helper continue, where somebody has stopped it. It must not be what a run waits for.
    fn go_on(&self) {
        let pid = (self.child.lock().unwrap_or_else(PoisonError::into_inner)).id();
        if ProcessStat::for_process(pid).is_ok_and(|stat| stat.state == 'T') {
            let _ = signals::thaw(pid);
        }
    }

    /// Ends the pipe, and with it the helper's wait.
    fn end(&self) {
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
            // Where the helper is gone it has nothing to forget.
            let _ = self.process.tell(&Order::Forget(self.belonging.clone()));
        }
    }
}

impl Drop for ReaperProcess {
    fn drop(&mut self) {
        self.end();
        if *self.is_left.get_mut() {
            return;
        }
        // It ends on its own when the pipe does. Waiting reaps it, and lets a clean-up finish. One that does not
        // end goes on by itself.
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

    /// A shell in the helper's place.
    fn helper_that(does: &str) -> Reaper {
        let script = format!("echo '{READY}'; {does}");
        Reaper::spawn(Path::new("sh"), &["-c".into(), script.into()]).unwrap()
    }

    /// The test ends only if nobody waits for the helper, which would sleep for hours.
    #[tokio::test]
    async fn a_helper_that_takes_long_is_left_to_itself() {
        let reaper = helper_that("exec sleep 36000");
        let helper = reaper.process_id();
        reaper.finish_within(Duration::from_millis(20)).await;
        let stat = ProcessStat::for_process(helper).unwrap();
        assert!(!stat.has_ended());
        let pid = Pid::from_raw(helper.cast_signed()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// A helper that has stopped itself is there, and reads nothing.
    #[test]
    fn helper_that_is_stopped_is_let_go_on() {
        let reaper = helper_that("kill -STOP $$; while read order; do :; done");
        let helper = reaper.process_id();
        while ProcessStat::for_process(helper).unwrap().state != 'T' {
            std::thread::yield_now();
        }
        // More than a pipe holds.
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
    async fn a_helper_that_has_cleaned_up_is_waited_for() {
        let reaper = helper_that("while read order; do :; done");
        let helper = reaper.process_id();
        reaper.finish_within(Duration::from_secs(3600)).await;
        assert!(
            ProcessStat::for_process(helper).is_err(),
            "it was not reaped"
        );
    }

    /// The test ends only if nobody waits for the helper, which would sleep for hours.
    #[tokio::test]
    async fn a_helper_that_was_left_cleans_up_what_was_still_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display();
        let reaper = helper_that(&format!(
            "cat > {path}/told; mv {path}/told {path}/all; exec sleep 36000"
        ));
        let gone = reaper.marked("gone").unwrap();
        let there = reaper.marked("there").unwrap();
        let pid = Pid::from_raw(reaper.process_id().cast_signed()).unwrap();
        drop(gone);
        reaper.leave();
        drop(there);
        drop(reaper);
        let told = loop {
            match std::fs::read_to_string(dir.path().join("all")) {
                Ok(told) => break told,
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        };
        kill_process(pid, Signal::KILL).unwrap();
        assert!(told.contains(r#"{"forget":{"mark":"gone"}}"#), "{told}");
        assert!(!told.contains(r#"{"forget":{"mark":"there"}}"#), "{told}");
    }
}
