//! Detection of stalled processes. A stalled process was stopped, or is ready to run but gets no CPU time.
//!
//! A process that sleeps because it has nothing to do is not stalled. A process counts as stalled if it is in a state
//! in which it cannot proceed, and has not run between two observations.

use std::collections::{BTreeMap, BTreeSet};

use super::stat::{ProcessStat, all_processes, ran_ns, text_of};

/// Kernel functions in which a process waits while its cgroup is paused. The state of such a process is the same as
/// during a normal sleep.
const FREEZERS: [&str; 3] = ["do_freezer_trap", "get_signal", "__refrigerator"];

/// One observation of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Motion {
    started_ticks: u64,
    state: char,
    ran_ns: u64,
}

impl Motion {
    /// Observes a process. Returns `None` if it has exited or the kernel does not report enough.
    pub(crate) fn read(pid: u32) -> Option<Motion> {
        let ran_ns = ran_ns(pid)?;
        let stat = ProcessStat::for_process(pid).ok()?;
        Some(Motion {
            started_ticks: stat.started_ticks,
            state: stat.state,
            ran_ns,
        })
    }

    /// Returns `true` if the process was stalled between the observation `before` and this one, which must be recent.
    pub(crate) fn is_stalled_since(self, pid: u32, before: Motion) -> bool {
        self.started_ticks == before.started_ticks
            && self.ran_ns == before.ran_ns
            && match self.state {
                'T' | 't' | 'R' | 'D' => before.state == self.state,
                'S' => is_in_freezer(pid),
                _ => false,
            }
    }
}

fn is_in_freezer(pid: u32) -> bool {
    let function = text_of(format!("/proc/{pid}/wchan"));
    function.is_ok_and(|function| FREEZERS.contains(&function.as_str()))
}

/// Returns each of these processes with its descendants, as far as their parents are alive. Reads no environments, so
/// it is cheaper than a [`ProcessTable`](super::ProcessTable).
pub(crate) fn families(leaders: &[u32]) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all_processes().unwrap_or_default() {
        if let Ok(stat) = ProcessStat::for_process(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let family = |leader: u32| {
        let (mut family, mut next) = (BTreeSet::new(), vec![leader]);
        while let Some(pid) = next.pop() {
            if family.insert(pid) {
                next.extend(children.get(&pid).into_iter().flatten());
            }
        }
        family
    };
    let leaders = leaders.iter();
    leaders.map(|leader| (*leader, family(*leader))).collect()
}

/// Returns `true` if a signal has stopped this process or one of its descendants.
pub(crate) fn is_any_stopped(leader: u32) -> bool {
    let family = families(&[leader]).into_values().flatten();
    let mut stats = family.filter_map(|pid| ProcessStat::for_process(pid).ok());
    stats.any(|stat| stat.state == 'T')
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::BufRead;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use super::*;

    /// Starts a shell with a child, and waits until the child is running.
    fn shell_with_child() -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & echo begun; wait"]);
        let mut shell = shell
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let output = shell.stdout.take().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(output)
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "begun\n");
        shell
    }

    /// Waits until two consecutive observations show that a process is stalled, or that it is not, according to
    /// `is_stalled`.
    fn wait_until(pid: u32, is_stalled: bool) {
        let observations = std::iter::repeat_with(|| {
            let before = Motion::read(pid).unwrap();
            std::thread::yield_now();
            Motion::read(pid).unwrap().is_stalled_since(pid, before)
        });
        // A process that has just been started runs for a moment.
        assert!(
            observations
                .take(1_000_000)
                .any(|stalled| stalled == is_stalled)
        );
    }

    #[test]
    fn stopped_child_is_stalled_and_its_sleeping_parent_is_not() {
        let mut shell = shell_with_child();
        let family = &families(&[shell.id()])[&shell.id()];
        let child = *family.iter().find(|pid| **pid != shell.id()).unwrap();
        assert_eq!(family.len(), 2, "{family:?}");
        wait_until(child, false);
        let pid = Pid::from_raw(child.cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        wait_until(child, true);
        wait_until(shell.id(), false);
        kill_process(pid, Signal::CONT).unwrap();
        wait_until(child, false);
        kill_process_group(Pid::from_child(&shell), Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(Motion::read(shell.id()), None);
    }
}
