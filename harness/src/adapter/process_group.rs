//! Signals to a worker and everything that it started, and the proof that it stands still.

use std::io;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

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

/// True when no process of the group runs, with any of its threads: a client may be a grandchild
/// of ours, behind a wrapper, and only children can be waited for.
#[cfg(target_os = "linux")]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    let group = leader.as_raw_nonzero().get();
    for process in numbered(Path::new("/proc"))? {
        if stat(&process).is_none_or(|stat| stat.group != group) {
            continue;
        }
        // A process or thread that vanishes while we look does not run any more.
        let threads = numbered(&process.join("task")).unwrap_or_default();
        let runs = |thread: &PathBuf| stat(thread).is_some_and(|stat| !stat.stands_still());
        if threads.iter().any(runs) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The entries of a directory that are named by a number: processes, or threads.
#[cfg(target_os = "linux")]
fn numbered(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Elsewhere only the leader can be looked at.
#[cfg(not(target_os = "linux"))]
pub(super) fn all_stopped(leader: Pid) -> io::Result<bool> {
    Ok(condition(leader)? == Condition::Stopped)
}

/// What `/proc/PID/stat` says.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq)]
struct Stat {
    state: char,
    group: i32,
}

#[cfg(target_os = "linux")]
impl Stat {
    /// Stopped (also by a debugger), or dead.
    fn stands_still(&self) -> bool {
        matches!(self.state, 'T' | 't' | 'Z' | 'X')
    }

    /// `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let group = fields.nth(1)?.parse().ok()?;
        Some(Stat { state, group })
    }
}

#[cfg(target_os = "linux")]
fn stat(process: &Path) -> Option<Stat> {
    Stat::parse(&std::fs::read_to_string(process.join("stat")).ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse_us() {
        let stat = "42 (evil) R 1 2) T 1 4711 4711 0 -1";
        let expected = Stat {
            state: 'T',
            group: 4711,
        };
        assert_eq!(Stat::parse(stat), Some(expected));
        assert_eq!(Stat::parse("nonsense"), None);
    }
}
