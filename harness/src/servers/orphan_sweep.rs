use super::parent_death_signal::OWNER_VARIABLE;
use super::{ProcessIdentity, container_removal, run_dir, signals};
use crate::clock::wall_clock;
use crate::process_stat::{ProcessStat, all_processes, variable_of};

/// A process that starts others while it is killed is looked for again, at most this many times.
const ROUNDS: usize = 500;

/// Removes what earlier runs left behind if their reaper could not: processes with the mark of a run,
/// containers with its label, and directories with its marker. Their process must certainly be dead, so
/// live runs, and runs in other containers or on other machines, are not touched. A sweep never fails a
/// run: what cannot be removed is left to the next one.
pub async fn sweep() {
    kill_orphans().await;
    container_removal::sweep().await;
    // Last: processes and containers write into the directories.
    run_dir::sweep(&std::env::temp_dir());
}

/// Kills the processes of dead owners. Children die with their owner, but what a worker has started goes
/// on, above all where it was frozen.
async fn kill_orphans() {
    signals::kill_until_none(ROUNDS, async || {
        // With many processes on the machine it takes a while.
        let orphans = tokio::task::spawn_blocking(orphans).await;
        orphans.ok().filter(|orphans| !orphans.is_empty())
    })
    .await;
}

/// The processes whose owner is dead.
fn orphans() -> Vec<u32> {
    let mut all = all_processes().unwrap_or_default();
    all.retain(|pid| {
        owner_of(*pid).is_some_and(|owner| owner.is_gone(wall_clock()))
            && ProcessStat::for_process(*pid).is_ok_and(|stat| !stat.has_ended())
    });
    all
}

/// The owner that the environment of a process names. `None`: it names none, or is hidden from us.
fn owner_of(pid: u32) -> Option<ProcessIdentity> {
    variable_of(pid, OWNER_VARIABLE).ok()??.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// A process with this owner in its environment. That is there a moment after `spawn` returns.
    async fn owned_by(owner: &str) -> Child {
        let mut sleep = Command::new("sleep");
        let child = sleep.arg("600").env(OWNER_VARIABLE, owner).spawn();
        let child = child.unwrap();
        let entry = format!("{OWNER_VARIABLE}={owner}\0");
        until(&entry, || {
            let text = std::fs::read(format!("/proc/{}/environ", child.id())).unwrap();
            String::from_utf8(text).unwrap().contains(&entry)
        })
        .await;
        child
    }

    async fn until(what: &str, mut seen: impl FnMut() -> bool) {
        let waiting = async {
            while !seen() {
                tokio::task::yield_now().await;
            }
        };
        let seen = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(seen.is_ok(), "not seen: {what}");
    }

    #[tokio::test]
    async fn a_frozen_process_of_a_dead_owner_is_killed_and_no_other() {
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let (_, rest) = here.split_once(':').unwrap();
        // No process id is as high as this one.
        let mut orphan = owned_by(&format!("{}:{rest}", i32::MAX)).await;
        let mut others = [
            owned_by(&here).await,
            owned_by("somebody").await,
            owned_by(&format!("{}:1:another boot:1", i32::MAX)).await,
        ];
        let number = Pid::from_raw(i32::try_from(orphan.id()).unwrap()).unwrap();
        kill_process(number, Signal::STOP).unwrap();

        kill_orphans().await;

        let mut end = None;
        until("its end", || {
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
