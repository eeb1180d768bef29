//! Removes what earlier runs have left behind if even their reaper was killed.

use super::parent_death_signal::OWNER_VARIABLE;
use super::{ProcessIdentity, container_removal, run_dir, signals};
use crate::clock::wall_clock;
use crate::process_stat::{ProcessStat, all_processes, variable_of};

/// Maximum number of attempts to kill processes that start others while they are killed.
const ROUNDS: usize = 500;

/// Removes leftovers of earlier runs that their reaper could not remove: processes with the mark of a run, containers
/// with its label, and directories with its marker. An object is removed only if its owner is certainly dead, so that
/// active runs, and runs in other containers or on other machines, are not touched. A sweep never makes a run fail. The
/// next sweep retries failed removals.
pub async fn sweep() {
    kill_orphans().await;
    container_removal::sweep().await;
    // Directories come last, because processes and containers write into them.
    run_dir::sweep(&std::env::temp_dir());
}

/// Kills the processes of dead owners. Children die with their owner, but the children's descendants continue to exist,
/// in particular if they were frozen.
async fn kill_orphans() {
    signals::kill_until_none(ROUNDS, async || {
        // Runs on another thread, because it takes a while on a machine with many processes.
        let orphans = tokio::task::spawn_blocking(orphans).await;
        orphans.ok().filter(|orphans| !orphans.is_empty())
    })
    .await;
}

/// Returns the processes whose owner is dead.
fn orphans() -> Vec<u32> {
    let mut all = all_processes().unwrap_or_default();
    all.retain(|pid| {
        owner_of(*pid).is_some_and(|owner| owner.is_gone(wall_clock()))
            && ProcessStat::for_process(*pid).is_ok_and(|stat| !stat.has_ended())
    });
    all
}

/// Returns the owner from the environment of a process, or `None` if there is none or the environment is not
/// accessible.
fn owner_of(pid: u32) -> Option<ProcessIdentity> {
    variable_of(pid, OWNER_VARIABLE).ok()??.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// Starts a process with this owner in its environment, and waits until `/proc` shows the environment, shortly
    /// after `spawn`.
    async fn owned_by(owner: &str) -> Child {
        let mut sleep = Command::new("sleep");
        let child = sleep.arg("600").env(OWNER_VARIABLE, owner).spawn();
        let child = child.unwrap();
        let entry = format!("{OWNER_VARIABLE}={owner}\0");
        wait_until(&entry, || {
            let text = std::fs::read(format!("/proc/{}/environ", child.id())).unwrap();
            String::from_utf8(text).unwrap().contains(&entry)
        })
        .await;
        child
    }

    async fn wait_until(condition: &str, mut is_met: impl FnMut() -> bool) {
        let waiting = async {
            while !is_met() {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(in_time.is_ok(), "not met in time: {condition}");
    }

    #[tokio::test]
    async fn only_processes_of_dead_owners_are_killed_even_frozen_ones() {
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let (_, rest) = here.split_once(':').unwrap();
        // No PID is as high as this one.
        let mut orphan = owned_by(&format!("{}:{rest}", i32::MAX)).await;
        let mut others = [
            owned_by(&here).await,
            owned_by("someone else").await,
            owned_by(&format!("{}:1:another boot:1", i32::MAX)).await,
        ];
        let number = Pid::from_raw(i32::try_from(orphan.id()).unwrap()).unwrap();
        kill_process(number, Signal::STOP).unwrap();

        kill_orphans().await;

        let mut end = None;
        wait_until("the exit of the orphan", || {
            end = orphan.try_wait().unwrap();
            end.is_some()
        })
        .await;
        assert!(end.is_some_and(|end| !end.success()));
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none(), "{other:?}");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
