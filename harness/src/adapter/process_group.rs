//! Signals to a worker and everything that it started, and the proof that it stands still.

use std::io;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

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

/// Sends to every process of the group that `leader` leads. A group that is empty already is no
/// error.
pub(super) fn signal(leader: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(leader, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True when no process of the group runs: a client may be a grandchild of ours, behind a
/// wrapper, and only children can be waited for.
#[cfg(target_os = "linux")]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let is_process = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_process {
            continue;
        }
        // A process that vanishes while we look does not run any more.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        if let Some((state, group)) = state_and_group(&stat)
            && group == leader.as_raw_nonzero().get()
            && !matches!(state, 'T' | 't' | 'Z' | 'X')
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Elsewhere only the leader can be looked at.
#[cfg(not(target_os = "linux"))]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    Ok(condition(leader)? == Condition::Stopped)
}

/// From `/proc/PID/stat`: `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything.
#[cfg(target_os = "linux")]
fn state_and_group(stat: &str) -> Option<(char, i32)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse_us() {
        let stat = "42 (evil) R 1 2) T 1 4711 4711 0 -1";
        assert_eq!(state_and_group(stat), Some(('T', 4711)));
        assert_eq!(state_and_group("nonsense"), None);
    }
}
