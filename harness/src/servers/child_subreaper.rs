//! Orphans come to this process.
//!
//! Where a worker starts a process and ends, or starts it in the way of a daemon, that process gets
//! another parent: the nearest ancestor that is a *subreaper*, else the first process of the
//! machine. As a subreaper, this process keeps the descendants of its workers below itself, and can
//! reap them when it has killed them. Which worker they belong to is told by their mark.
//!
//! One that has put off its mark (`env -i setsid`, and its parent ended at once) is known by nothing but that it
//! fell to this process. So in a process that starts nothing but runs, everything that falls to it is ended with
//! the run.

use std::collections::BTreeSet;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::signals;
use crate::process_stat::{Member, ProcessStat, all_processes};

/// One that starts others while it is killed is looked for again, at most this many times.
const ROUNDS: usize = 500;

/// This process is the parent of the orphans below it.
#[derive(Debug)]
pub struct Adoption {
    /// The children that it had before.
    before: BTreeSet<Member>,
}

/// Makes this process the parent of the orphans below it. If the kernel refuses, they go to the
/// first process, and are found by their mark all the same.
pub fn adopt_orphans() -> Adoption {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    Adoption {
        before: children().into_iter().map(|(child, _)| child).collect(),
    }
}

impl Adoption {
    /// Kills every child that this process did not have before, but for this one. Call it when everything that the
    /// process has started itself has ended.
    pub async fn end_strays(&self, spared: u32) {
        signals::kill_until_none(ROUNDS, async || {
            let mut strays = Vec::new();
            for (child, has_ended) in children() {
                if child.0 == spared || self.before.contains(&child) {
                    continue;
                }
                match has_ended {
                    true => reap(child.0),
                    false => strays.push(child.0),
                }
            }
            (!strays.is_empty()).then_some(strays)
        })
        .await;
    }
}

fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It has ended, so there is nothing to wait for.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// The children of this process, and whether each has ended.
fn children() -> Vec<(Member, bool)> {
    let own = std::process::id();
    let all = all_processes().unwrap_or_default().into_iter();
    let children = all.filter_map(|pid| {
        let stat = ProcessStat::for_process(pid).ok()?;
        (stat.parent == own).then_some(((pid, stat.started_ticks), stat.has_ended()))
    });
    children.collect()
}
