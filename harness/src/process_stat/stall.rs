//! Whether a process stands still: it was stopped, or is ready to run and does not get the processor.
//!
//! A process that sleeps because it has nothing to do does not stand still. So its state must be one in which it
//! cannot do what it wants to, and it must not have run between two looks.

use std::collections::{BTreeMap, BTreeSet};

use super::stat::{ProcessStat, all_processes, ran_ns, text_of};

/// Where a process waits that a paused cgroup holds, by the kernel's names of its functions. Its
/// state is that of a sleeper.
const FREEZERS: [&str; 3] = ["do_freezer_trap", "get_signal", "__refrigerator"];

/// What was seen of a process at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Motion {
    started_ticks: u64,
    state: char,
    ran_ns: u64,
}

impl Motion {
    /// Looks at a process. `None`: it has ended, or the kernel does not say enough.
    pub(crate) fn look(pid: u32) -> Option<Motion> {
        let ran_ns = ran_ns(pid)?;
        let stat = ProcessStat::for_process(pid).ok()?;
        Some(Motion {
            started_ticks: stat.started_ticks,
            state: stat.state,
            ran_ns,
        })
    }

    /// True if this process stood still from the look before until this one, which was just now.
    pub(crate) fn stood_still_since(self, pid: u32, before: Motion) -> bool {
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
    let place = text_of(format!("/proc/{pid}/wchan"));
    place.is_ok_and(|place| FREEZERS.contains(&place.as_str()))
}

/// These processes, each with what it and its descendants have started, as far as their parents live. Reads no
/// environment, so that it is cheaper than a table of all processes.
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::BufRead;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use super::*;

    /// A shell with a child, which has said that it is there.
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

    /// Waits until two looks in a row show this of a process.
    fn until(pid: u32, stands: bool) {
        let looks = std::iter::repeat_with(|| {
            let before = Motion::look(pid).unwrap();
            std::thread::yield_now();
            Motion::look(pid).unwrap().stood_still_since(pid, before)
        });
        // A process that has just been started runs first.
        assert!(looks.take(1_000_000).any(|stood| stood == stands));
    }

    #[test]
    fn stopped_child_stands_still_and_its_sleeping_parent_does_not() {
        let mut shell = shell_with_child();
        let family = &families(&[shell.id()])[&shell.id()];
        let child = *family.iter().find(|pid| **pid != shell.id()).unwrap();
        assert_eq!(family.len(), 2, "{family:?}");
        until(child, false);
        let pid = Pid::from_raw(child.cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        until(child, true);
        until(shell.id(), false);
        kill_process(pid, Signal::CONT).unwrap();
        until(child, false);
        kill_process_group(Pid::from_child(&shell), Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(Motion::look(shell.id()), None);
    }
}
