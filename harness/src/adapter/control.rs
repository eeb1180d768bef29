//! Control of a worker process: freezes, thaws and kills it, even while other tasks wait for it.
//!
//! A worker may be a wrapper around the process that runs the lock, and that process may have its own session or
//! another parent. So all descendants are frozen and killed: the processes below the worker in `/proc`, and the
//! processes that carry its mark.

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
use super::reap_guard::{ReapGuard, SignalOutcome, reap_orphan};
use crate::clock::Clock;
use crate::process_stat::{Member, ProcessTable, tracer_of_this_process};

/// Pause between two inspections of processes that are about to stop or to exit.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Time within which a killed process exits, unless the kernel or a tracer holds it.
pub(crate) const END_WITHIN: Duration = Duration::from_secs(5);

/// Description of a killed process that does not exit.
pub const STILL_THERE: &str = "was killed but has not exited: the kernel or a tracer holds it";

/// A handle that freezes, thaws and kills a worker with all processes that it started, even while other tasks wait
/// for it.
#[derive(Clone)]
pub struct WorkerControl {
    group: Arc<Group>,
    exit: watch::Receiver<Option<Exit>>,
    pub(super) log: CappedLog,
}

impl WorkerControl {
    /// Creates the handle for `child`, whose descendants inherit `mark` in their environment; see `MARK_VARIABLE`.
    pub(super) fn new(child: Child, mark: String, log: CappedLog) -> io::Result<Self> {
        let reap_guard = Arc::new(Mutex::new(ReapGuard::new(child, mark)?));
        let (exit_sender, exit) = watch::channel(None);
        let reaper = reap_guard.clone();
        tokio::spawn(async move {
            let exit = poll_fn(|context| lock(&reaper).poll_reap(context)).await;
            // There may be no receiver left.
            let _ = exit_sender.send(Some(exit));
        });
        Ok(WorkerControl {
            group: Arc::new(Group(reap_guard)),
            exit,
            log,
        })
    }

    /// Returns the PID of the worker.
    pub fn pid(&self) -> u32 {
        let pid = self.group.reap_guard().pid();
        pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns the value of the environment variable `PICKLOCK_WORKER` of all its descendants, which is unique to
    /// this worker.
    pub fn mark(&self) -> String {
        self.group.reap_guard().mark().to_owned()
    }

    /// Sends SIGSTOP to the worker and all its descendants, and waits until each of them has stopped, with all
    /// threads: SIGSTOP itself is asynchronous. If this fails, the processes continue.
    ///
    /// # Errors
    /// Returns [`ProcessError::Gone`] if the worker has ended, [`ProcessError::DidNotStop`] if a process did not stop
    /// in time, and [`ProcessError::Signal`] if a process cannot be stopped.
    pub async fn freeze(&self) -> Result<(), ProcessError> {
        let frozen = self.stop().await;
        if frozen.is_err() {
            // If this fails, the process has exited.
            self.thaw().await.unwrap_or_default();
        }
        frozen
    }

    /// Sends SIGSTOP repeatedly, until two inspections in a row show the same processes, all stopped. The second
    /// inspection detects a process that was being started during the first one. Stopped processes cannot start others.
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
            let members = self.group.reap_guard().stop(&table)?;
            let stopped = members.filter(|_| condition == Condition::Stopped);
            if stopped.is_some() && stopped == before {
                return Ok(());
            }
            if clock.elapsed() > STOP_WITHIN {
                return Err(ProcessError::DidNotStop);
            }
            before = stopped;
            if before.is_none() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// Lets the worker and all its descendants run again (SIGCONT).
    ///
    /// # Errors
    /// Returns [`ProcessError::Gone`] if the process has ended.
    pub async fn thaw(&self) -> Result<(), ProcessError> {
        let sent = self.signal(Signal::CONT).await;
        let table = self.table().await?;
        (self.group.reap_guard()).signal_all(&table, Signal::CONT)?;
        sent
    }

    /// Sends SIGTERM to the worker and all its descendants, as a service manager does. A wrapper may end before the
    /// process that it has started.
    ///
    /// # Errors
    /// Returns [`ProcessError::Gone`] if the worker has ended, and [`ProcessError::Signal`] if a process cannot be
    /// signalled.
    #[cfg(feature = "servers")]
    pub(crate) async fn terminate(&self) -> Result<(), ProcessError> {
        self.spare_group();
        let table = self.table().await?;
        if self.has_ended() {
            return Err(ProcessError::Gone(self.exited().await));
        }
        self.group.reap_guard().signal_all(&table, Signal::TERM)?;
        Ok(())
    }

    /// Waits until the worker and all its descendants have ended. Cancel-safe.
    #[cfg(feature = "servers")]
    pub(crate) async fn all_ended(&self) {
        self.exited().await;
        while self.living().await.is_ok_and(|living| !living.is_empty()) {
            tokio::time::sleep(POLL_INTERVAL * 5).await;
        }
    }

    /// Kills the worker and all its descendants (SIGKILL), frozen or not, and waits until the worker is reaped, for a
    /// limited time: the kernel or a tracer can hold a killed process. Returns a description of the worker's end, by
    /// this signal or before it.
    pub async fn kill(&self) -> String {
        WorkerControl::kill_all(std::slice::from_ref(self)).await;
        let ended = tokio::time::timeout(END_WITHIN, self.exited()).await;
        ended.unwrap_or_else(|_| STILL_THERE.to_owned())
    }

    /// Returns `true` if the worker was reaped.
    pub fn has_ended(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// Kills these workers and all their descendants, and waits until all of them are dead and their logs are
    /// complete.
    ///
    /// The processes are stopped first, because a stopped process cannot start another one that escapes.
    pub async fn kill_all(controls: &[WorkerControl]) {
        kill_own_tracer(controls).await;
        for control in controls {
            // A process that has already exited needs no signal.
            let _ = control.group.reap_guard().signal(Signal::STOP);
        }
        let clock = Clock::start();
        let (mut before, mut all_members) = (None, BTreeSet::new());
        while let Some(table) = table_since(controls).await {
            let held = hold_all(controls, &table);
            all_members.extend(
                held.iter()
                    .flatten()
                    .flat_map(|(_, members)| members)
                    .copied(),
            );
            if (held.is_some() && held == before) || clock.elapsed() > STOP_WITHIN {
                break;
            }
            before = held;
            if before.is_none() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        for control in controls {
            let _ = control.group.reap_guard().signal(Signal::KILL);
        }
        while let Some(table) = table_since(controls).await {
            let alive = controls
                .iter()
                .filter(|control| !control.group.reap_guard().kill(&table))
                .count();
            if alive == 0 || clock.elapsed() > STOP_WITHIN * 2 {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let leaders: BTreeSet<u32> = controls.iter().map(WorkerControl::pid).collect();
        all_members
            .into_iter()
            .filter(|(pid, _)| !leaders.contains(pid))
            .for_each(reap_orphan);
        let logs = controls.iter().map(|control| control.log.written());
        futures_util::future::join_all(logs).await;
    }

    /// Keeps alive the processes that the worker leaves behind when it exits, so that they can be detected. They are
    /// killed with the worker, by [`kill`](Self::kill) or when the last handle is dropped.
    #[cfg(feature = "servers")]
    pub(crate) fn spare_group(&self) {
        self.group.reap_guard().spare_group();
    }

    /// Returns the PIDs of the worker and its descendants that are alive.
    ///
    /// # Errors
    /// Returns an error if the processes of the system cannot be listed.
    #[cfg(feature = "servers")]
    pub(crate) async fn living(&self) -> Result<Vec<u32>, ProcessError> {
        let table = self.table().await?;
        let members = self.group.reap_guard().members(&table);
        Ok(members.into_iter().map(|(pid, _)| pid).collect())
    }

    /// Waits until the worker has ended, and returns a description of its end.
    pub async fn exited(&self) -> String {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(exit)) => exit.description.clone(),
            // The task that reaps the child has ended with the runtime, so the reason is unknown.
            _ => "ended with the driver".to_owned(),
        }
    }

    #[cfg(feature = "servers")]
    pub(crate) fn was_killed(&self) -> bool {
        self.exit
            .borrow()
            .as_ref()
            .is_some_and(|exit| exit.from_outside)
    }

    async fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        let outcome = self.group.reap_guard().signal(signal)?;
        match outcome {
            SignalOutcome::Delivered => Ok(()),
            SignalOutcome::AlreadyDead => Err(ProcessError::Gone(self.exited().await)),
        }
    }

    async fn table(&self) -> Result<ProcessTable, ProcessError> {
        let since_ticks = self.group.reap_guard().since_ticks();
        Ok(ProcessTable::read_in_background(since_ticks).await?)
    }
}

/// Kills a tracer of this process that is a worker or its descendant. Such a tracer must not be stopped, because this
/// process would then stop forever, too.
async fn kill_own_tracer(controls: &[WorkerControl]) {
    if let Some(tracer) = tracer_of_this_process()
        && let Some(table) = table_since(controls).await
        && (controls.iter()).any(|control| control.group.reap_guard().has(&table, tracer))
    {
        // If this fails, the tracer has exited and no longer traces this process.
        let _ = process_group::signal_one(tracer, Signal::KILL);
    }
}

/// Stops the processes of each worker that are still running. Returns the members of each worker if none of them
/// can start another process, otherwise `None`.
fn hold_all(
    controls: &[WorkerControl],
    table: &ProcessTable,
) -> Option<BTreeMap<u32, BTreeSet<Member>>> {
    let mut all = Some(BTreeMap::new());
    for control in controls {
        // If the processes cannot be stopped, they are treated as running. Killing them may still succeed.
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

/// Returns the processes that can be descendants of these workers, or `None` if they cannot be listed.
async fn table_since(controls: &[WorkerControl]) -> Option<ProcessTable> {
    let since_ticks = controls
        .iter()
        .map(|control| control.group.reap_guard().since_ticks())
        .min()?;
    ProcessTable::read_in_background(since_ticks).await.ok()
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
