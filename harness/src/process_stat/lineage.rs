//! The descendants of one process. This includes processes that moved to another process group or session, and
//! processes that got another parent because their own parent exited.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::process_table::ProcessTable;
use super::stat::ProcessStat;
#[cfg(target_os = "linux")]
use super::stat::threads_of;

/// PID and start time of a process, in clock ticks since boot. The PID alone may have belonged to an earlier process.
pub(crate) type Member = (u32, u64);

/// A process and its descendants.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// The unique mark that all descendants inherited.
    mark: String,
    /// The members seen so far. A process that was seen once remains a member, even if its environment is cleared and
    /// its parent has exited.
    known: BTreeMap<u32, u64>,
    since_ticks: u64,
}

impl Lineage {
    /// Creates the lineage of the processes with this mark. All members started at or after `since_ticks`.
    pub(crate) fn marked(mark: String, since_ticks: u64) -> Self {
        Lineage {
            mark,
            known: BTreeMap::new(),
            since_ticks,
        }
    }

    /// Adds the first process of the lineage. The process must not have been reaped yet; otherwise the kernel may have
    /// reused its PID.
    pub(crate) fn begins_with(&mut self, pid: u32, started_ticks: u64) {
        self.known.insert(pid, started_ticks);
    }

    /// Returns the mark of all members.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Returns the earliest possible start time of a member, in clock ticks since boot.
    pub(crate) fn since_ticks(&self) -> u64 {
        self.since_ticks
    }

    /// Returns the members that are alive in this table: known members, processes with the mark, and the descendants of
    /// both.
    pub(crate) fn members(&mut self, table: &ProcessTable) -> BTreeSet<Member> {
        let is_known = |pid: u32, started: u64| self.known.get(&pid) == Some(&started);
        let mut found: BTreeMap<u32, u64> = table
            .iter()
            .filter(|(pid, entry)| {
                entry.mark.as_deref() == Some(&self.mark)
                    || is_known(*pid, entry.stat.started_ticks)
            })
            .map(|(pid, entry)| (pid, entry.stat.started_ticks))
            .collect();
        // Repeat this until a pass finds no further descendants.
        loop {
            let before = found.len();
            for (pid, entry) in table.iter() {
                // If the parent is younger than its child, it has reused the PID of the real parent.
                let parent = found.get(&entry.stat.parent);
                if parent.is_some_and(|started| *started <= entry.stat.started_ticks) {
                    found.insert(pid, entry.stat.started_ticks);
                }
            }
            if found.len() == before {
                break;
            }
        }
        self.known.retain(|pid, started| {
            let now = table.get(*pid).map(|entry| entry.stat.started_ticks);
            now == Some(*started)
        });
        self.known.extend(&found);
        found.into_iter().collect()
    }
}

/// Returns `true` if no thread of the process runs, because all are stopped or the process has exited.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn is_stopped(member: Member) -> io::Result<bool> {
    every_thread(member, ProcessStat::is_stopped)
}

/// Returns `true` if no thread of a process that received a stop signal can start another process before it is
/// continued: see [`ProcessStat::is_held`].
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn is_held(member: Member) -> io::Result<bool> {
    every_thread(member, ProcessStat::is_held)
}

#[cfg(target_os = "linux")]
fn every_thread(
    (pid, started_ticks): Member,
    condition: impl Fn(&ProcessStat) -> bool,
) -> io::Result<bool> {
    let process = if_exists(ProcessStat::for_process(pid))?;
    if process.is_none_or(|stat| stat.started_ticks != started_ticks) {
        return Ok(true);
    }
    for thread in if_exists(threads_of(pid))?.unwrap_or_default() {
        let stat = if_exists(ProcessStat::for_thread(pid, thread))?;
        if stat.is_some_and(|stat| !condition(&stat)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Converts the error `NotFound`, which means that the process or thread has exited, to `None`.
#[cfg(target_os = "linux")]
fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Returns `true`. On other systems no members are known, so this function is never called.
#[cfg(not(target_os = "linux"))]
fn every_thread(_: Member, _: impl Fn(&ProcessStat) -> bool) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::process_table::Entry;
    use super::*;

    const MARK: &str = "a-run/1";

    fn entry(pid: u32, parent: u32, started_ticks: u64, mark: Option<&str>) -> (u32, Entry) {
        let stat = ProcessStat {
            state: 'S',
            parent,
            group: pid,
            started_ticks,
            cpu_ticks: 0,
        };
        let mark = mark.map(str::to_owned);
        (pid, Entry { stat, mark })
    }

    fn pids(members: BTreeSet<Member>) -> Vec<u32> {
        members.into_iter().map(|(pid, _)| pid).collect()
    }

    #[test]
    fn children_and_marked_orphans_with_children_are_members() {
        let mut lineage = Lineage::marked(MARK.into(), 5);
        lineage.begins_with(10, 5);
        let table = ProcessTable::from_entries([
            entry(10, 1, 5, None),
            entry(12, 11, 6, None),
            entry(11, 10, 6, None),
            entry(20, 1, 7, Some(MARK)),
            entry(21, 20, 8, None),
            entry(30, 1, 7, Some("a-run/2")),
            entry(31, 30, 8, None),
        ]);
        assert_eq!(pids(lineage.members(&table)), [10, 11, 12, 20, 21]);
    }

    #[test]
    fn known_process_remains_a_member_until_its_pid_is_reused() {
        let mut lineage = Lineage::marked(MARK.into(), 5);
        lineage.begins_with(10, 5);
        let family = ProcessTable::from_entries([entry(10, 1, 5, None), entry(11, 10, 6, None)]);
        assert_eq!(pids(lineage.members(&family)), [10, 11]);
        let orphan = ProcessTable::from_entries([entry(11, 1, 6, None)]);
        assert_eq!(pids(lineage.members(&orphan)), [11]);
        let others = ProcessTable::from_entries([entry(10, 1, 99, None), entry(11, 1, 98, None)]);
        assert_eq!(pids(lineage.members(&others)), [0; 0]);
        assert_eq!(
            pids(lineage.members(&orphan)),
            [0; 0],
            "a reused PID was removed"
        );
    }

    #[test]
    fn process_with_a_younger_parent_is_not_a_member() {
        let mut lineage = Lineage::marked(MARK.into(), 5);
        lineage.begins_with(10, 50);
        let table = ProcessTable::from_entries([entry(10, 1, 50, None), entry(11, 10, 6, None)]);
        assert_eq!(pids(lineage.members(&table)), [10]);
    }

    /// A program that is a parent in `vfork`, like a shell that starts a program. It waits until its child has started
    /// the program, and cannot be stopped until then.
    #[cfg(target_os = "linux")]
    const IN_VFORK: &str = "
import ctypes, os, platform, time
clone = {'x86_64': 56, 'aarch64': 220}[platform.machine()]
parent, CLONE_VFORK, SIGCHLD = os.getpid(), 0x4000, 17
ctypes.CDLL(None).syscall(clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)
if os.getpid() != parent: print('begun', flush=True)
time.sleep(3600)
";

    #[cfg(target_os = "linux")]
    #[test]
    fn parent_in_vfork_is_held_but_not_stopped() {
        use std::io::BufRead;
        use std::process::{Command, Stdio};

        use rustix::process::{Pid, Signal, kill_process, kill_process_group};

        use std::os::unix::process::CommandExt;

        let mut python = Command::new("python3");
        python.args(["-c", IN_VFORK]).stdout(Stdio::piped());
        let mut parent = python.process_group(0).spawn().unwrap();
        let output = parent.stdout.take().unwrap();
        let mut line = String::new();
        io::BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        let pid = Pid::from_child(&parent);
        kill_process(pid, Signal::STOP).unwrap();
        let started = ProcessStat::for_process(parent.id()).unwrap().started_ticks;
        let member = (parent.id(), started);
        let (stopped, held) = (is_stopped(member).unwrap(), is_held(member).unwrap());
        kill_process_group(pid, Signal::KILL).unwrap();
        parent.wait().unwrap();
        assert_eq!((stopped, held), (false, true));
    }
}
