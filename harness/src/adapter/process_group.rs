//! Signals to a process and to the group that it leads.

use std::io;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

/// The kernel's state of a child that has not been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Running, or about to stop.
    Running,
    /// All its threads are stopped.
    Stopped,
    /// Dead but not reaped, so its PID is not reused yet.
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

/// Signals one process. A process that has exited is not an error.
pub(super) fn signal_one(pid: u32, signal: Signal) -> io::Result<()> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
