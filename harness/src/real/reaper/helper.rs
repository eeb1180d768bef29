//! The helper's own side. It runs in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::super::guard::OWNER_VARIABLE;
use super::super::process_stat::{ProcessStat, all_processes};
use super::super::{engine, run_dir, signals};
use super::READY;
use super::order::Order;

/// How long a container engine gets to remove what is left. It may hang; we must not for ever.
const ENGINE_PATIENCE: Duration = Duration::from_secs(30);

/// An engine that was creating a container when its client died may finish it after we looked.
const ENGINE_LOOKS: usize = 3;

/// Pause between two looks.
const ENGINE_PAUSE: Duration = Duration::from_millis(400);

/// A group that forks while it is being killed is killed again, at most so often.
const KILL_ROUNDS: usize = 20;

/// What is left to be cleaned up.
#[derive(Debug, Default)]
struct Estate {
    owner: String,
    groups: BTreeMap<u32, u64>,
    dirs: BTreeSet<PathBuf>,
    runs: BTreeSet<String>,
}

/// Reads orders until the input ends, then cleans up what is left. Interrupts, hang-ups and
/// requests to terminate are ignored: the end of the input is the only one that counts, and it is
/// certain to come.
///
/// # Errors
/// Where signals cannot be ignored or the greeting cannot be written: then nothing is promised.
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
    // A harness may have begun a line of its own.
    writeln!(output, "\n{READY}")?;
    output.flush()?;
    let mut estate = Estate::default();
    for line in input.lines() {
        // A torn last line is the death that we wait for.
        let Ok(line) = line else { break };
        estate.take(&line);
    }
    estate.clean_up(&runtime);
    Ok(())
}

impl Estate {
    fn take(&mut self, line: &str) {
        match line.parse() {
            Ok(Order::Owner(owner)) => self.owner = owner,
            Ok(Order::Group {
                leader,
                started_ticks,
            }) => {
                self.groups.insert(leader, started_ticks);
            }
            Ok(Order::ForgetGroup(leader)) => {
                self.groups.remove(&leader);
            }
            Ok(Order::Dir(path)) => {
                self.dirs.insert(path);
            }
            Ok(Order::ForgetDir(path)) => {
                self.dirs.remove(&path);
            }
            Ok(Order::Containers(run)) => {
                self.runs.insert(run);
            }
            Ok(Order::ForgetContainers(run)) => {
                self.runs.remove(&run);
            }
            // Both ends are the same program; an unknown line can only be a torn one.
            Err(()) => {}
        }
    }

    /// Processes first: they write into the directories.
    fn clean_up(&self, runtime: &tokio::runtime::Runtime) {
        for (&leader, &started_ticks) in &self.groups {
            kill(leader, started_ticks, &self.owner);
        }
        for dir in &self.dirs {
            if run_dir::owner_of(dir).is_some_and(|owner| owner.to_string() == self.owner) {
                // A dying server may still have made a file: a few rounds are enough.
                (0..KILL_ROUNDS).any(|_| std::fs::remove_dir_all(dir).is_ok() || !dir.exists());
            }
        }
        for run in &self.runs {
            runtime.block_on(remove_containers(run));
        }
    }
}

/// Kills one group, if it is still the one that was registered.
fn kill(leader: u32, started_ticks: u64, owner: &str) {
    match ProcessStat::of(leader) {
        Ok(stat) if stat.started_ticks == started_ticks => {
            let _ = signals::kill_group(leader);
        }
        // The number belongs to somebody else by now.
        Ok(_) => return,
        Err(_) => {}
    }
    // The leader may be dead and buried while what it started goes on in its group. Nothing but
    // the environment that they inherited tells them for ours then.
    let mark = format!("{OWNER_VARIABLE}={owner}");
    for _ in 0..KILL_ROUNDS {
        let members: Vec<u32> = all_processes()
            .into_iter()
            .filter(|&pid| is_member(pid, leader) && carries(pid, &mark))
            .collect();
        if members.is_empty() {
            return;
        }
        for pid in members {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

fn is_member(pid: u32, group: u32) -> bool {
    ProcessStat::of(pid).is_ok_and(|stat| stat.group == group && !stat.has_ended())
}

fn carries(pid: u32, mark: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| {
        text.split(|&byte| byte == 0)
            .any(|entry| entry == mark.as_bytes())
    })
}

async fn remove_containers(run: &str) {
    let removing = async {
        for look in 0..ENGINE_LOOKS {
            if look > 0 {
                tokio::time::sleep(ENGINE_PAUSE).await;
            }
            engine::remove_run(run).await;
        }
    };
    // What is not done by then is done by the next run's sweep.
    let _ = tokio::time::timeout(ENGINE_PATIENCE, removing).await;
}
