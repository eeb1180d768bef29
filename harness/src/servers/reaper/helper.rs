//! The helper's side, which runs in a process of its own.

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

/// How long the container engine may take to remove what is left. It may hang.
const ENGINE_PATIENCE: Duration = Duration::from_secs(30);

/// An engine that was creating a container when its client died may finish it after the first look.
const ENGINE_LOOKS: usize = 3;

/// Pause between two looks.
const ENGINE_PAUSE: Duration = Duration::from_millis(400);

/// A group that forks while it is being killed is killed again, at most this many times.
const ROUNDS: usize = 1000;

/// What must be cleaned up.
#[derive(Debug, Default)]
struct Leftovers {
    owner: String,
    belongings: BTreeSet<Belonging>,
}

/// Reads orders until the input ends, then cleans up what is left. Interrupts, hang-ups and
/// requests to terminate are ignored: only the end of the input counts, and it always comes.
///
/// # Errors
/// Signals cannot be ignored, or the greeting cannot be written. Then the clean-up is not
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
    // A test harness may have begun a line of its own.
    writeln!(output, "\n{READY}")?;
    output.flush()?;
    let mut leftovers = Leftovers::default();
    for line in input.lines() {
        // An incomplete last line means that the process died while it was writing.
        let Ok(line) = line else { break };
        leftovers.take(&line);
    }
    runtime.block_on(leftovers.clean_up());
    Ok(())
}

impl Leftovers {
    fn take(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Order::Owner(owner)) => self.owner = owner,
            Ok(Order::Remember(belonging)) => {
                self.belongings.insert(belonging);
            }
            Ok(Order::Forget(belonging)) => {
                self.belongings.remove(&belonging);
            }
            // Both ends are the same program; an unknown line can only be an incomplete one.
            Err(_) => {}
        }
    }

    /// Directories last: processes and containers write into them. Boxed here, and not compiled for each kind of input.
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

/// Kills one group, if it is still the one that was registered, and waits until it is dead.
async fn kill(leader: u32, started_ticks: u64, owner: &str) {
    match ProcessStat::for_process(leader) {
        Ok(stat) if stat.started_ticks == started_ticks => {
            let _ = signals::kill_group(leader);
        }
        // The id already belongs to another process.
        Ok(_) => return,
        Err(_) => {}
    }
    // The leader may be dead and reaped while its descendants still run in its group. Then only the
    // environment that they inherited identifies them.
    let mark = format!("{OWNER_VARIABLE}={owner}");
    signals::kill_until_none(ROUNDS, async || {
        let mut members = all_processes().unwrap_or_default();
        members.retain(|&pid| is_member(pid, leader) && carries(pid, &mark) != Some(false));
        let is_left = !members.is_empty();
        members.retain(|&pid| carries(pid, &mark) == Some(true));
        is_left.then_some(members)
    })
    .await;
}

/// Kills the processes that carry these marks, and what they have started, until there are none.
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

/// `None`: not known at the moment. A process that is just becoming another program shows an empty
/// environment for a moment.
fn carries(pid: u32, mark: &str) -> Option<bool> {
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
    // The next run's sweep does the rest.
    let _ = tokio::time::timeout(ENGINE_PATIENCE, removing).await;
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    const OWNER: &str = "1:2:boot:3";

    /// A shell that leads a group and leaves a child in it.
    fn family(owner: &str) -> Child {
        Command::new("sh")
            .args(["-c", "sleep 600 & echo started; wait"])
            .env(OWNER_VARIABLE, owner)
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    /// Waits until the child of the family's leader is there.
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

    /// Waits until the group has ended. What was killed ends when the machine gives it time.
    async fn await_end(group: u32) {
        let ended = async {
            while !members(group).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let bound = Duration::from_secs(60);
        let ended = tokio::time::timeout(bound, ended).await;
        ended.expect("what was killed ends");
    }

    #[tokio::test]
    async fn a_group_is_killed_whole_but_only_the_one_that_was_registered() {
        let mut leader = family(OWNER);
        await_child(&mut leader);
        let group = leader.id();
        let started_ticks = ProcessStat::for_process(group).unwrap().started_ticks;
        kill(group, started_ticks + 1, OWNER).await;
        assert!(members(group).contains(&group), "the number was another's");
        kill(group, started_ticks, OWNER).await;
        leader.wait().unwrap();
        await_end(group).await;
    }

    #[tokio::test]
    async fn what_a_dead_leader_left_is_killed_where_it_carries_our_mark() {
        for (mark, spared) in [(OWNER, false), ("somebody else", true)] {
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
