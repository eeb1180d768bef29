//! Adoption of orphans.
//!
//! If a worker starts a process and then exits, or starts it as a daemon, that process gets another parent: the nearest
//! ancestor that is a *subreaper*, or the first process of the machine if there is none. As a subreaper, this process
//! remains an ancestor of its workers' descendants, and can reap them after it has killed them. The mark of a
//! descendant identifies its worker.
//!
//! A descendant without its mark (`env -i setsid`, with a parent that exits at once) can be recognised only because
//! this process has adopted it. So if this process does nothing but execute runs, it kills every adopted process after
//! each run.

use std::collections::BTreeSet;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::signals;
use crate::process_stat::{Member, ProcessStat, all_processes};

/// Maximum number of attempts to kill processes that start others while they are killed.
const ROUNDS: usize = 500;

/// The adoption of all orphans below this process.
#[derive(Debug)]
pub struct Adoption {
    /// The children that this process had before it adopted orphans.
    before: BTreeSet<Member>,
}

/// Makes this process the parent of all orphans below it. If the kernel refuses, the first process of the machine
/// adopts them, and they can still be found by their mark.
pub fn adopt_orphans() -> Adoption {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    Adoption {
        before: children().into_iter().map(|(child, _)| child).collect(),
    }
}

impl Adoption {
    /// Kills every child that this process did not have before, except `spared`. Call this only after all processes
    /// that this process itself has started have exited.
    pub async fn end_strays(&self, spared: u32) {
        signals::kill_until_none(ROUNDS, async || {
            let mut strays = Vec::new();
            for (child, has_ended) in children() {
                if child.0 == spared || self.before.contains(&child) {
                    continue;
                }
                if has_ended {
                    reap(child.0);
                } else {
                    strays.push(child.0);
                }
            }
            (!strays.is_empty()).then_some(strays)
        })
        .await;
    }
}

fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The process has exited, so this does not block.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Returns the children of this process, and whether each has exited.
fn children() -> Vec<(Member, bool)> {
    let own = std::process::id();
    let all = all_processes().unwrap_or_default().into_iter();
    let children = all.filter_map(|pid| {
        let stat = ProcessStat::for_process(pid).ok()?;
        (stat.parent == own).then_some(((pid, stat.started_ticks), stat.has_ended()))
    });
    children.collect()
}
