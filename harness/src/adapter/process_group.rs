//! Signals to a worker and everything that it started, and the proof that all of it is stopped.

use std::io;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

#[cfg(target_os = "linux")]
use crate::process_stat::{ProcessStat, all_processes, threads_of};

/// What the kernel says about a child that has not been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Running, or on the way to a stop.
    Running,
    /// Stopped, all its threads.
    Stopped,
    /// Dead; its number is kept until it is reaped.
    Dead,
}

/// Looks without reaping.
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

/// Signals every process of the group that `leader` leads. It is no error if the group is empty
/// already.
pub(super) fn signal(leader: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(leader, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True when no process of the group runs, with any of its threads: a client may be a grandchild
/// of ours, behind a wrapper, and only children can be waited for.
#[cfg(target_os = "linux")]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    let group = leader.as_raw_nonzero().get().unsigned_abs();
    for process in all_processes()? {
        if !ProcessStat::of(process).is_ok_and(|stat| stat.group == group) {
            continue;
        }
        // A process or thread that has vanished meanwhile does not run any more.
        let mut threads = threads_of(process).unwrap_or_default().into_iter();
        let runs = |stat: ProcessStat| !stat.is_stopped();
        if threads.any(|thread| ProcessStat::of_thread(process, thread).is_ok_and(runs)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Elsewhere only the leader can be examined.
#[cfg(not(target_os = "linux"))]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    Ok(condition(leader)? == Condition::Stopped)
}
