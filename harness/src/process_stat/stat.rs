//! Information about one process or thread, and the lists of them.

#[cfg(feature = "servers")]
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use procfs_core::FromRead;
#[cfg(feature = "servers")]
use procfs_core::process::Schedstat;
use procfs_core::process::{Stat, Status};

/// Size of the buffer for a file. It is larger than any file that is read here: a `stat` has about fifty numbers.
const MAX_LENGTH: usize = 4096;

/// Reads a file of `/proc` with a single call. `std::fs::read_to_string` would need six, because the length is unknown.
pub(super) fn text_of(path: impl AsRef<Path>) -> io::Result<String> {
    let mut bytes = [0; MAX_LENGTH];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The contents of `/proc/PID/stat` for a process, or of `/proc/PID/task/TID/stat` for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// `R` (running), `S` (sleeping), `T` (stopped), `Z` (exited, not yet reaped) and so on.
    pub state: char,
    /// PID of the process that started it, or that adopted it after its parent had exited.
    pub parent: u32,
    /// PID of the process group leader, or 0 if the process no longer has a group.
    pub group: u32,
    /// Start time in clock ticks since boot. Together with the PID, the start time identifies a process until the
    /// machine is rebooted.
    pub started_ticks: u64,
    /// CPU time of all threads so far, in clock ticks.
    pub cpu_ticks: u64,
}

impl ProcessStat {
    /// Reads the data of a process. Returns `NotFound` if it does not exist.
    pub(crate) fn for_process(pid: u32) -> io::Result<ProcessStat> {
        Self::read(Path::new(&format!("/proc/{pid}/stat")))
    }

    /// Reads the data of a thread. Returns `NotFound` if it does not exist.
    #[cfg(target_os = "linux")]
    pub(crate) fn for_thread(pid: u32, thread: u32) -> io::Result<ProcessStat> {
        Self::read(Path::new(&format!("/proc/{pid}/task/{thread}/stat")))
    }

    fn read(path: &Path) -> io::Result<ProcessStat> {
        let text = match text_of(path) {
            Ok(text) => text,
            // The read fails with ESRCH if the process exits after the file was opened.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(e) => return Err(e),
        };
        if text.is_empty() {
            // The file is empty if the process exits slightly later.
            return Err(io::ErrorKind::NotFound.into());
        }
        Self::parse(&text).ok_or_else(|| {
            let message = format!("cannot parse {}: {text:?}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }

    fn parse(text: &str) -> Option<ProcessStat> {
        let stat = Stat::from_read(text.as_bytes()).ok()?;
        Some(ProcessStat {
            state: stat.state,
            parent: u32::try_from(stat.ppid).ok()?,
            // For a process that is being reaped and no longer has a group, the kernel writes -1.
            group: match stat.pgrp {
                -1 => 0,
                group => u32::try_from(group).ok()?,
            },
            started_ticks: stat.starttime,
            cpu_ticks: stat.utime + stat.stime,
        })
    }

    /// Returns `true` if the process has exited, even if it has not been reaped.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Returns `true` if the process is stopped (possibly by a debugger) or has exited.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't') || self.has_ended()
    }

    /// Returns `true` if the process is stopped, or in a sleep that only SIGKILL ends (`vfork`, disk I/O). A stop
    /// signal that was sent in the meantime takes effect before the process runs again, so the process cannot start
    /// another one.
    pub(crate) fn is_held(&self) -> bool {
        self.is_stopped() || self.state == 'D'
    }
}

/// Returns how long the main thread of a process has run, in nanoseconds. Returns `None` if the kernel does not report
/// it or the process has exited.
#[cfg(feature = "servers")]
pub(crate) fn ran_ns(pid: u32) -> Option<u64> {
    let text = text_of(format!("/proc/{pid}/schedstat")).ok()?;
    Some(Schedstat::from_read(text.as_bytes()).ok()?.sum_exec_runtime)
}

/// Returns how long each thread of a process was ready to run but had no CPU, in nanoseconds, by the ID of the thread.
/// It is empty if the kernel does not report it or the process has exited.
#[cfg(feature = "servers")]
pub(crate) fn cpu_waits(pid: u32) -> BTreeMap<u32, u64> {
    let threads = numbered_entries(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default();
    let wait_of_thread = |thread: u32| {
        let text = text_of(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
        let schedstat = Schedstat::from_read(text.as_bytes()).ok()?;
        Some((thread, schedstat.run_delay))
    };
    threads.into_iter().filter_map(wait_of_thread).collect()
}

/// Returns the process that traces this process, such as a debugger, or `None` if there is none.
pub(crate) fn tracer_of_this_process() -> Option<u32> {
    let tracer_of = |thread| u32::try_from(status_of(thread)?.tracerpid).ok();
    let traces = |thread| tracer_of(thread).filter(|tracer| *tracer > 0);
    // The tracer is a thread. Return the process to which the thread belongs.
    let thread = traces("self").or_else(|| traces("thread-self"))?;
    u32::try_from(status_of(&thread.to_string())?.tgid).ok()
}

fn status_of(process: &str) -> Option<Status> {
    Status::from_file(format!("/proc/{process}/status")).ok()
}

/// Returns the PIDs of all visible processes.
pub(crate) fn all_processes() -> io::Result<Vec<u32>> {
    numbered_entries(Path::new("/proc"))
}

/// Returns the IDs of the threads of a process.
#[cfg(target_os = "linux")]
pub(crate) fn threads_of(pid: u32) -> io::Result<Vec<u32>> {
    numbered_entries(Path::new(&format!("/proc/{pid}/task")))
}

/// Returns the entries of a directory whose names are numbers.
fn numbered_entries(directory: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_parentheses_and_spaces() {
        let line = "17 (a) b (c) T 1 42 42 0 -1 4 0 0 0 0 30 12 0 0 20 0 1 0 98765 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0";
        let expected = ProcessStat {
            state: 'T',
            parent: 1,
            group: 42,
            started_ticks: 98765,
            cpu_ticks: 42,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        assert_eq!(ProcessStat::parse("17 (cut off"), None);
        assert_eq!(ProcessStat::parse("17 (short) T 1 42"), None);
    }

    #[test]
    fn process_that_is_being_reaped_has_no_group() {
        let line = "9017 (bash) X 0 -1 -1 0 -1 4227084 254 0 0 0 0 0 0 0 20 0 0 0 919007 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let stat = ProcessStat::parse(line).unwrap();
        assert!(stat.has_ended());
        assert_eq!((stat.parent, stat.group), (0, 0));
        assert_eq!(
            ProcessStat::parse(&line.replace(" X 0 -1", " X 0 -2")),
            None
        );
    }

    #[test]
    fn own_process_is_found_and_impossible_pid_is_not() {
        assert!(
            !ProcessStat::for_process(std::process::id())
                .unwrap()
                .has_ended()
        );
        assert!(all_processes().unwrap().contains(&std::process::id()));
        let kind = ProcessStat::for_process(u32::MAX).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
    }
}
