//! The helper's side, which runs in a separate process.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use futures_util::future::{LocalBoxFuture, join_all};
use tokio::signal::unix::{SignalKind, signal};

use super::super::parent_death_signal::OWNER_VARIABLE;
use super::super::{container_removal, run_dir, signals};
use super::READY;
use super::order::{Belonging, Order};
use crate::process_stat::{Lineage, ProcessStat, ProcessTable, all_processes};

/// How long to wait for the container engine, which may hang, to remove the remaining containers.
const ENGINE_PATIENCE: Duration = Duration::from_secs(30);

/// Number of attempts to remove containers. If the engine was creating a container when its client died, the container
/// may appear after the first attempt.
const ENGINE_LOOKS: usize = 3;

/// Pause between two attempts.
const ENGINE_PAUSE: Duration = Duration::from_millis(400);

/// Maximum number of attempts to kill a group that forks while it is killed.
const ROUNDS: usize = 1000;

/// The processes, containers and directories to clean up.
#[derive(Debug, Default)]
struct Leftovers {
    owner: String,
    belongings: BTreeSet<Belonging>,
}

/// Reads orders until the input ends, then cleans up everything that is still registered. Interrupts, hang-ups and
/// requests to terminate are ignored: only the end of the input matters, which always comes.
///
/// # Errors
/// Returns an error if signals cannot be ignored, or the greeting cannot be written. The clean-up is then not
/// guaranteed.
pub fn run_reaper(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _ignored = {
        let _inside = runtime.enter();
        [
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]
    };
    // The line break is needed because a test harness may have printed the beginning of a line.
    writeln!(output, "\n{READY}")?;
    output.flush()?;
    let mut leftovers = Leftovers::default();
    for line in input.lines() {
        // An incomplete last line means that the process died while it was writing.
        let Ok(line) = line else { break };
        leftovers.apply(&line);
    }
    runtime.block_on(leftovers.clean_up());
    Ok(())
}

impl Leftovers {
    fn apply(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Order::Owner(owner)) => self.owner = owner,
            Ok(Order::Remember(belonging)) => {
                self.belongings.insert(belonging);
            }
            Ok(Order::Forget(belonging)) => {
                self.belongings.remove(&belonging);
            }
            // Both ends are the same program, so an invalid line is an incomplete one.
            Err(_) => {}
        }
    }

    /// Cleans up. Directories are removed last, because processes and containers write into them. The future is boxed
    /// so that it is not compiled again for each type of input.
    fn clean_up(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async move {
            let (mut groups, mut marks) = (Vec::new(), Vec::new());
            let (mut runs, mut dirs) = (Vec::new(), Vec::new());
            for belonging in &self.belongings {
                match belonging {
                    Belonging::Group {
                        leader,
                        started_ticks,
                    } => groups.push(kill(*leader, *started_ticks, &self.owner)),
                    Belonging::Mark(mark) => marks.push(Lineage::marked(mark.clone(), 0)),
                    Belonging::Containers(run) => runs.push(remove_containers(run)),
                    Belonging::Dir(dir) => dirs.push(dir),
                }
            }
            join_all(groups).await;
            kill_marked(marks).await;
            join_all(runs).await;
            for dir in dirs {
                run_dir::remove_registered(dir, &self.owner);
            }
        })
    }
}

/// Kills a process group, unless its number now belongs to another group, and waits until it is dead.
async fn kill(leader: u32, started_ticks: u64, owner: &str) {
    match ProcessStat::for_process(leader) {
        Ok(stat) if stat.started_ticks == started_ticks => {
            let _ = signals::kill_group(leader);
        }
        // The PID already belongs to another process.
        Ok(_) => return,
        Err(_) => {}
    }
    // The leader may be dead and reaped while its descendants still run in its group. In that case only the environment
    // that they inherited identifies them.
    let mark = format!("{OWNER_VARIABLE}={owner}");
    signals::kill_until_none(ROUNDS, async || {
        let mut members = all_processes().unwrap_or_default();
        members.retain(|&pid| is_member(pid, leader) && has_mark(pid, &mark) != Some(false));
        let is_left = !members.is_empty();
        members.retain(|&pid| has_mark(pid, &mark) == Some(true));
        is_left.then_some(members)
    })
    .await;
}

/// Kills all processes with these marks and all their descendants, until none is left.
async fn kill_marked(mut lineages: Vec<Lineage>) {
    signals::kill_until_none(ROUNDS, async || {
        let mut found = Vec::new();
        if let Ok(table) = ProcessTable::read(0) {
            lineages.retain_mut(|lineage| {
                let members = lineage.members(&table);
                found.extend(members.iter().map(|(pid, _)| *pid));
                !members.is_empty()
            });
        }
        (!lineages.is_empty()).then_some(found)
    })
    .await;
}

fn is_member(pid: u32, group: u32) -> bool {
    ProcessStat::for_process(pid).is_ok_and(|stat| stat.group == group && !stat.has_ended())
}

/// Returns `Some(true)` if a process has this mark in its environment, `Some(false)` if it has not, or `None` if that
/// cannot be determined now: a process that is starting another program briefly shows an empty environment.
fn has_mark(pid: u32, mark: &str) -> Option<bool> {
    let text = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    if text.is_empty() {
        return None;
    }
    let mut entries = text.split(|&byte| byte == 0);
    Some(entries.any(|entry| entry == mark.as_bytes()))
}

async fn remove_containers(run: &str) {
    let removing = async {
        for look in 0..ENGINE_LOOKS {
            if look > 0 {
                tokio::time::sleep(ENGINE_PAUSE).await;
            }
            container_removal::remove_run(run).await;
        }
    };
    // If this times out, the sweep of the next run removes the rest.
    let _ = tokio::time::timeout(ENGINE_PATIENCE, removing).await;
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    const OWNER: &str = "1:2:boot:3";

    /// Starts a shell that leads a group and has a child in it.
    fn family(owner: &str) -> Child {
        Command::new("sh")
            .args(["-c", "sleep 600 & echo started; wait"])
            .env(OWNER_VARIABLE, owner)
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    /// Waits until the leader has started its child.
    fn await_child(leader: &mut Child) {
        let mut output = io::BufReader::new(leader.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
    }

    fn members(group: u32) -> Vec<u32> {
        let all = all_processes().unwrap();
        all.into_iter()
            .filter(|&pid| is_member(pid, group))
            .collect()
    }

    /// Waits until the group is gone. A killed process exits once it gets CPU time.
    async fn await_end(group: u32) {
        let ended = async {
            while !members(group).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let bound = Duration::from_secs(60);
        let ended = tokio::time::timeout(bound, ended).await;
        ended.expect("killed processes exit");
    }

    #[tokio::test]
    async fn whole_group_is_killed_but_only_the_registered_one() {
        let mut leader = family(OWNER);
        await_child(&mut leader);
        let group = leader.id();
        let started_ticks = ProcessStat::for_process(group).unwrap().started_ticks;
        kill(group, started_ticks + 1, OWNER).await;
        assert!(members(group).contains(&group), "the PID was reused");
        kill(group, started_ticks, OWNER).await;
        leader.wait().unwrap();
        await_end(group).await;
    }

    #[tokio::test]
    async fn group_of_a_dead_leader_is_killed_only_with_the_mark() {
        for (mark, spared) in [(OWNER, false), ("someone else", true)] {
            let mut leader = family(mark);
            await_child(&mut leader);
            let group = leader.id();
            let started_ticks = ProcessStat::for_process(group).unwrap().started_ticks;
            leader.kill().unwrap();
            leader.wait().unwrap();
            assert_eq!(members(group).len(), 1);
            kill(group, started_ticks, OWNER).await;
            if spared {
                assert_eq!(members(group).len(), 1, "{mark}");
            } else {
                await_end(group).await;
            }
            signals::kill_group(group).unwrap();
        }
    }
}
