//! Control of a worker process: freeze, thaw and kill it, even while other tasks wait for it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::Child;
use tokio::sync::watch;

use super::exit;
use super::process_error::{ProcessError, STOP_WITHIN};
use super::process_group::{self, Condition};
use crate::clock::Clock;

/// Freezes, thaws and kills a worker with all processes that it started, even while other tasks
/// wait for it.
#[derive(Clone)]
pub struct WorkerControl {
    group: Arc<Group>,
    how_it_ended: watch::Receiver<Option<String>>,
}

impl WorkerControl {
    pub(super) fn of(child: Child) -> io::Result<Self> {
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .ok_or_else(|| io::Error::other("it has no process number"))?;
        let reap_guard = Arc::new(Mutex::new(ReapGuard {
            child,
            pid,
            reaped: false,
        }));
        let (tell, how_it_ended) = watch::channel(None);
        let reaper = reap_guard.clone();
        tokio::spawn(async move {
            let how = poll_fn(|context| lock(&reaper).poll_reap(context)).await;
            // There may be no receiver left.
            let _ = tell.send(Some(how));
        });
        Ok(WorkerControl {
            group: Arc::new(Group(reap_guard)),
            how_it_ended,
        })
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.group
            .reap_guard()
            .pid
            .as_raw_nonzero()
            .get()
            .cast_unsigned()
    }

    /// Sends SIGSTOP to the whole group and returns when every process in it has stopped, all
    /// threads included: SIGSTOP itself is asynchronous.
    ///
    /// # Errors
    /// [`ProcessError::Gone`] if the process has ended.
    pub async fn freeze(&self) -> Result<(), ProcessError> {
        self.signal(Signal::STOP).await?;
        let clock = Clock::start();
        while !self.stands_still().await? {
            if clock.elapsed() > STOP_WITHIN {
                return Err(ProcessError::DidNotStop);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Lets it run again (SIGCONT).
    ///
    /// # Errors
    /// [`ProcessError::Gone`] if the process has ended.
    pub async fn thaw(&self) -> Result<(), ProcessError> {
        self.signal(Signal::CONT).await
    }

    /// Kills the whole group (SIGKILL), frozen or not, and waits until it is reaped. Returns how it
    /// ended, by this signal or before it.
    pub async fn kill(&self) -> String {
        // A process that has already ended needs no signal. Other failures show in how it ended.
        let _ = self.signal(Signal::KILL).await;
        self.exited().await
    }

    /// Waits until it has ended, and returns how, in words.
    pub async fn exited(&self) -> String {
        let mut watched = self.how_it_ended.clone();
        let ended = watched.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(how)) => how.clone(),
            // The task that reaps the child has ended with the runtime, so no more can be known.
            _ => "ended with the driver".to_owned(),
        }
    }

    async fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        let sent = self.group.reap_guard().signal(signal);
        match sent.map_err(ProcessError::Signal)? {
            Sent::Delivered => Ok(()),
            Sent::TooLate => Err(ProcessError::Gone(self.exited().await)),
        }
    }

    async fn stands_still(&self) -> Result<bool, ProcessError> {
        let condition = self.group.reap_guard().condition();
        match condition.map_err(ProcessError::Signal)? {
            Condition::Stopped => Ok(true),
            Condition::Running => Ok(false),
            Condition::Dead => Err(ProcessError::Gone(self.exited().await)),
        }
    }
}

/// Kills the group when the last handle is dropped.
struct Group(Arc<Mutex<ReapGuard>>);

impl Group {
    fn reap_guard(&self) -> MutexGuard<'_, ReapGuard> {
        lock(&self.0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.reap_guard().signal(Signal::KILL);
    }
}

fn lock(reap_guard: &Mutex<ReapGuard>) -> MutexGuard<'_, ReapGuard> {
    reap_guard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a process received a signal.
enum Sent {
    Delivered,
    TooLate,
}

/// The child, under one lock for signals and for reaping. After a process is reaped, its id may
/// belong to an unrelated process, which must never be signalled.
struct ReapGuard {
    child: Child,
    pid: Pid,
    reaped: bool,
}

impl ReapGuard {
    fn signal(&self, signal: Signal) -> io::Result<Sent> {
        if self.reaped || process_group::condition(self.pid)? == Condition::Dead {
            return Ok(Sent::TooLate);
        }
        process_group::signal(self.pid, signal)?;
        Ok(Sent::Delivered)
    }

    /// [`Condition::Stopped`] only if the whole group has stopped.
    fn condition(&self) -> io::Result<Condition> {
        if self.reaped {
            return Ok(Condition::Dead);
        }
        let condition = process_group::condition(self.pid)?;
        if condition == Condition::Stopped && !process_group::all_stopped(self.pid)? {
            return Ok(Condition::Running);
        }
        Ok(condition)
    }

    fn poll_reap(&mut self, context: &mut Context<'_>) -> Poll<String> {
        // Until the dead leader is reaped, no other group can have its number. So this is the time
        // to kill what it left behind.
        if matches!(process_group::condition(self.pid), Ok(Condition::Dead)) {
            let _ = process_group::signal(self.pid, Signal::KILL);
        }
        let waited = pin!(self.child.wait()).poll(context);
        waited.map(|status| {
            self.reaped = true;
            match status {
                Ok(status) => exit::in_words(status),
                Err(error) => format!("ended, nobody knows how: {error}"),
            }
        })
    }
}
