//! Control of a worker process: freeze, thaw and kill it, even while other tasks wait for it.
//!
//! A worker may be a wrapper around the process that has the lock, and that process may have a
//! session of its own, or another parent. So all descendants are frozen and killed: those that
//! `/proc` shows below the worker, and those that carry its mark.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::Child;
use tokio::sync::watch;

use super::capped_log::CappedLog;
use super::exit::Exit;
use super::process_error::{ProcessError, STOP_WITHIN};
use super::process_group::{self, Condition};
use super::reap_guard::{ReapGuard, Sent, reap_orphan};
use crate::clock::Clock;
use crate::process_stat::{Member, ProcessTable, tracer_of_this_process};

/// Pause between two looks at processes that are about to stop or to end.
const LOOK: Duration = Duration::from_millis(1);

/// One that was killed ends within this time, unless the kernel or a tracer holds it.
pub(crate) const END_WITHIN: Duration = Duration::from_secs(5);

/// What is said about one that does not.
pub const STILL_THERE: &str =
    "was killed and has not ended: the kernel or a process that traces it holds it";

/// Freezes, thaws and kills a worker with all processes that it started, even while other tasks
/// wait for it.
#[derive(Clone)]
pub struct WorkerControl {
    group: Arc<Group>,
    how_it_ended: watch::Receiver<Option<Exit>>,
    pub(super) log: CappedLog,
}

impl WorkerControl {
    /// `mark`: what its descendants inherit; see `MARK_VARIABLE`.
    pub(super) fn new(child: Child, mark: String, log: CappedLog) -> io::Result<Self> {
        let reap_guard = Arc::new(Mutex::new(ReapGuard::new(child, mark)?));
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
            log,
        })
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        let pid = self.group.reap_guard().pid();
        pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// The value of the environment variable `PICKLOCK_WORKER` of all its descendants. No other
    /// worker has the same one.
    pub fn mark(&self) -> String {
        self.group.reap_guard().mark().to_owned()
    }

    /// Sends SIGSTOP to the worker and all its descendants, and returns when every one of them has
    /// stopped, all threads included: SIGSTOP itself is asynchronous. Where this fails, they
    /// continue.
    ///
    /// # Errors
    /// [`ProcessError::Gone`] if the process has ended, [`ProcessError::DidNotStop`] if one of
    /// them did not stop in time, [`ProcessError::Signal`] if one of them cannot be stopped.
    pub async fn freeze(&self) -> Result<(), ProcessError> {
        let frozen = self.stop().await;
        if frozen.is_err() {
            // One that has ended need not continue.
            self.thaw().await.unwrap_or_default();
        }
        frozen
    }

    /// Two looks in a row must show the same processes, all stopped. What a look may have missed
    /// because it was just being started is in the second one, and what has stopped starts nothing.
    async fn stop(&self) -> Result<(), ProcessError> {
        if let Some(tracer) = tracer_of_this_process()
            && let Ok(table) = self.table().await
            && self.group.reap_guard().has(&table, tracer)
        {
            return Err(ProcessError::Traces(tracer));
        }
        self.signal(Signal::STOP).await?;
        let clock = Clock::start();
        let mut before = None;
        loop {
            let condition = self.group.reap_guard().condition()?;
            if condition == Condition::Dead {
                return Err(ProcessError::Gone(self.exited().await));
            }
            let table = self.table().await?;
            let stopped = self.group.reap_guard().stop(&table)?;
            let stopped = stopped.filter(|_| condition == Condition::Stopped);
            if stopped.is_some() && stopped == before {
                return Ok(());
            }
            if clock.elapsed() > STOP_WITHIN {
                return Err(ProcessError::DidNotStop);
            }
            before = stopped;
            if before.is_none() {
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Lets it and all its descendants run again (SIGCONT).
    ///
    /// # Errors
    /// [`ProcessError::Gone`] if the process has ended.
    pub async fn thaw(&self) -> Result<(), ProcessError> {
        let sent = self.signal(Signal::CONT).await;
        let table = self.table().await?;
        (self.group.reap_guard()).signal_all(&table, Signal::CONT)?;
        sent
    }

    /// Kills it and all its descendants (SIGKILL), frozen or not, and waits until it is reaped, but not for
    /// ever: the kernel or a tracer can hold a process that was killed.
    /// Returns how it ended, by this signal or before it.
    pub async fn kill(&self) -> String {
        WorkerControl::kill_all(std::slice::from_ref(self)).await;
        let ended = tokio::time::timeout(END_WITHIN, self.exited()).await;
        ended.unwrap_or_else(|_| STILL_THERE.to_owned())
    }

    /// True when it was reaped.
    pub fn has_ended(&self) -> bool {
        self.how_it_ended.borrow().is_some()
    }

    /// Kills these workers and all their descendants, and waits until none of them lives, and their
    /// logs are complete.
    ///
    /// They are stopped first: what stands still starts nothing that could get away.
    pub async fn kill_all(controls: &[WorkerControl]) {
        kill_own_tracer(controls).await;
        for control in controls {
            // A process that has already ended needs no signal.
            let _ = control.group.reap_guard().signal(Signal::STOP);
        }
        let clock = Clock::start();
        let (mut before, mut seen) = (None, BTreeSet::new());
        while let Some(table) = table_since(controls).await {
            let held = hold_all(controls, &table);
            seen.extend(held.iter().flatten().flat_map(|(_, all)| all).copied());
            if (held.is_some() && held == before) || clock.elapsed() > STOP_WITHIN {
                break;
            }
            before = held;
            if before.is_none() {
                tokio::time::sleep(LOOK).await;
            }
        }
        for control in controls {
            let _ = control.group.reap_guard().signal(Signal::KILL);
        }
        while let Some(table) = table_since(controls).await {
            let alive = controls.iter();
            let alive = alive.filter(|control| !control.group.reap_guard().kill(&table));
            if alive.count() == 0 || clock.elapsed() > STOP_WITHIN * 2 {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let leaders: BTreeSet<u32> = controls.iter().map(WorkerControl::pid).collect();
        let orphans = seen.into_iter().filter(|(pid, _)| !leaders.contains(pid));
        orphans.for_each(reap_orphan);
        let logs = controls.iter().map(|control| control.log.written());
        futures_util::future::join_all(logs).await;
    }

    /// What the worker leaves behind when it ends shall live on, so that it can be seen. It is
    /// killed with the worker, by [`kill`](Self::kill) or when the last handle is dropped.
    #[cfg(feature = "servers")]
    pub(crate) fn spare_group(&self) {
        self.group.reap_guard().spare_group();
    }

    /// The ids of the worker's process and of its descendants that live.
    ///
    /// # Errors
    /// The system does not show its processes.
    #[cfg(feature = "servers")]
    pub(crate) async fn living(&self) -> Result<Vec<u32>, ProcessError> {
        let table = self.table().await?;
        let members = self.group.reap_guard().members(&table);
        Ok(members.into_iter().map(|(pid, _)| pid).collect())
    }

    /// Waits until it has ended, and returns how, in words.
    pub async fn exited(&self) -> String {
        let mut watched = self.how_it_ended.clone();
        let ended = watched.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(exit)) => exit.words.clone(),
            // The task that reaps the child has ended with the runtime, so no more can be known.
            _ => "ended with the driver".to_owned(),
        }
    }

    #[cfg(feature = "servers")]
    pub(crate) fn was_killed(&self) -> bool {
        let ended = self.how_it_ended.borrow();
        ended.as_ref().is_some_and(|exit| exit.by_signal)
    }

    async fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        let sent = self.group.reap_guard().signal(signal)?;
        match sent {
            Sent::Delivered => Ok(()),
            Sent::TooLate => Err(ProcessError::Gone(self.exited().await)),
        }
    }

    async fn table(&self) -> Result<ProcessTable, ProcessError> {
        let since_ticks = self.group.reap_guard().since_ticks();
        Ok(ProcessTable::look(since_ticks).await?)
    }
}

/// A tracer of this process below a worker must not be stopped: this process would stop with it, for ever. It is
/// killed, and lets go of this process with that.
async fn kill_own_tracer(controls: &[WorkerControl]) {
    if let Some(tracer) = tracer_of_this_process()
        && let Some(table) = table_since(controls).await
        && (controls.iter()).any(|one| one.group.reap_guard().has(&table, tracer))
    {
        // If it has ended meanwhile, it traces nothing.
        let _ = process_group::signal_one(tracer, Signal::KILL);
    }
}

/// Stops what still runs of each worker. Returns the members of each if none could start anything; else `None`.
fn hold_all(
    controls: &[WorkerControl],
    table: &ProcessTable,
) -> Option<BTreeMap<u32, BTreeSet<Member>>> {
    let mut all = Some(BTreeMap::new());
    for control in controls {
        // One that cannot be stopped can perhaps be killed.
        let held = control.group.reap_guard().hold(table).unwrap_or_default();
        match (&mut all, held) {
            (Some(all), Some(members)) => {
                all.insert(control.pid(), members);
            }
            _ => all = None,
        }
    }
    all
}

/// The processes among which the descendants of these workers are; `None`: they cannot be seen.
async fn table_since(controls: &[WorkerControl]) -> Option<ProcessTable> {
    let since = controls.iter();
    let since = since.map(|one| one.group.reap_guard().since_ticks());
    ProcessTable::look(since.min()?).await.ok()
}

/// Kills the worker with its descendants when the last handle is dropped.
struct Group(Arc<Mutex<ReapGuard>>);

impl Group {
    fn reap_guard(&self) -> MutexGuard<'_, ReapGuard> {
        lock(&self.0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.reap_guard().abandon();
    }
}

fn lock(reap_guard: &Mutex<ReapGuard>) -> MutexGuard<'_, ReapGuard> {
    reap_guard.lock().unwrap_or_else(PoisonError::into_inner)
}
