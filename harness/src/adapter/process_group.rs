//! Signals to a worker and all processes that it started, and a check that all of them are stopped.

use std::io;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

#[cfg(target_os = "linux")]
use crate::process_stat::{ProcessStat, all_processes, threads_of};

/// What the kernel says about a child that has not been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Running, or about to stop.
    Running,
    /// All its threads are stopped.
    Stopped,
    /// Dead, but not reaped: its id is not reused yet.
    Dead,
}

/// Examines a child without reaping it.
pub(super) fn condition(pid: Pid) -> io::Result<Condition> {
    let options = WaitIdOptions::STOPPED
        | WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT;
    Ok(match waitid(WaitId::Pid(pid), options)? {
        None => Condition::Running,
        Some(status) if status.stopped() => Condition::Stopped,
        Some(_) => Condition::Dead,
    })
}

/// Signals every process of the group that `leader` leads. An empty group is not an error.
pub(super) fn signal(leader: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(leader, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True when no thread of any process in the group runs. It reads `/proc`, because only children
/// can be waited for, and a client behind a wrapper script is a grandchild.
#[cfg(target_os = "linux")]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    let group = leader.as_raw_nonzero().get().unsigned_abs();
    for process in all_processes()? {
        if !ProcessStat::of(process).is_ok_and(|stat| stat.group == group) {
            continue;
        }
        // A process or thread that has disappeared in the meantime no longer runs.
        let mut threads = threads_of(process).unwrap_or_default().into_iter();
        let runs = |stat: ProcessStat| !stat.is_stopped();
        if threads.any(|thread| ProcessStat::of_thread(process, thread).is_ok_and(runs)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// On other systems only the leader can be examined.
#[cfg(not(target_os = "linux"))]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    Ok(condition(leader)? == Condition::Stopped)
}
