//! Nothing outlives the run: a run is killed with SIGKILL, and what it had started must go away.
//!
//! Every run of Picklock sweeps up after dead ones when it starts, in another process too. So
//! `scripts/test` runs these tests while nothing else does.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use picklock_harness::servers::{
    Binary, Image, Layout, ProcessIdentity, RunDir, ServerKind, Servers, parent_death_signal, sweep,
};
use picklock_scenarios::Persistence;

use rustix::process::{Pid, Signal, kill_process};

use super::docker::containers_of;
use super::exclusive::Exclusive;
use super::reexecution::{in_the_role_of, reaper};

/// How long the machine may take to clean up; waited for in full only where the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sweep would clean up after a doomed run whose reaper does not.
fn alone() -> Exclusive {
    Exclusive::take("orphans")
}

const LAYOUT: Layout = Layout {
    nodes: 2,
    replicas: 1,
    sentinels: 0,
    persistence: Persistence::AofEverysec,
    clocks_shift: false,
};

/// The program of the run that is killed: starts all that a run can start, says what, and waits
/// for its end.
pub fn be_a_doomed_run(backend: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let reaper = reaper();
        let dir = RunDir::create(&reaper).unwrap();
        let (servers, run) = match backend {
            "docker" => {
                let image = Image::choose(None, None).await.unwrap();
                let started =
                    Servers::start(&ServerKind::Docker(image), LAYOUT, dir.path(), &reaper).await;
                let started = started.unwrap();
                let run = started.run_id().unwrap().to_owned();
                (started, run)
            }
            _ => {
                let binary = Binary::find(None).unwrap();
                let started =
                    Servers::start(&ServerKind::Process(binary), LAYOUT, dir.path(), &reaper).await;
                (started.unwrap(), "none".to_owned())
            }
        };
        servers.pause(1).await.unwrap();
        // A worker that leaves a child of its own in its group, as interpreters and shells do,
        // and then one that the kernel kills with us while its child goes on.
        let mut worker = tokio::process::Command::new("sh");
        worker
            .args(["-c", "sleep 3600 & wait"])
            .current_dir(dir.path());
        worker.stdout(Stdio::null());
        parent_death_signal::prepare(&mut worker);
        let worker = worker.spawn().unwrap();
        let _watched = reaper.group(worker.id().unwrap()).unwrap();
        println!(
            "\ndoomed {} {run} {}",
            reaper.process_id(),
            dir.path().display()
        );
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
}

/// A run that was started, and what it has.
struct Doomed {
    program: Child,
    reaper: u32,
    run: String,
    dir: PathBuf,
}

impl Doomed {
    fn start(backend: &str) -> Doomed {
        let mut program = in_the_role_of(backend).spawn().unwrap();
        let output = BufReader::new(program.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let line = lines.find_map(|line| line.strip_prefix("doomed ").map(str::to_owned));
        let line = line.expect("the run says when it is ready");
        let (reaper, rest) = line.split_once(' ').unwrap();
        let (run, dir) = rest.split_once(' ').unwrap();
        Doomed {
            program,
            reaper: reaper.parse().unwrap(),
            run: run.to_owned(),
            dir: dir.into(),
        }
    }

    fn kill(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

impl Drop for Doomed {
    /// Where the test has failed something may be left, which nobody else would ever end.
    fn drop(&mut self) {
        self.kill();
        for (pid, _) in processes_in(&self.dir) {
            let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
        }
    }
}

/// The processes that work in a directory, or below it: all that the doomed run starts do.
fn processes_in(dir: &Path) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let works_there =
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let (true, Some(pid)) = (works_there, pid) {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push((pid, name.trim().to_owned()));
        }
    }
    found
}

/// True where the child is there that the doomed run's worker has started by itself.
fn has_sleep(dir: &Path) -> bool {
    processes_in(dir).iter().any(|(_, name)| name == "sleep")
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Waits until it is so. There is no event to wait for: the one who could tell is dead.
async fn becomes(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let polling = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, polling).await;
    assert!(in_time.is_ok(), "still not so: {what}");
}

#[tokio::test]
async fn a_killed_run_leaves_no_process_and_no_directory() {
    let _alone = alone();
    let mut doomed = Doomed::start("process");
    let there = processes_in(&doomed.dir);
    let servers = there
        .iter()
        .filter(|(_, name)| name.contains("-server"))
        .count();
    // A server that writes a snapshot for its replica has a child for a moment.
    assert!(servers >= 4, "two nodes with a replica each: {there:?}");
    becomes("the worker's child", async || has_sleep(&doomed.dir)).await;
    // What a terminal or a supervisor sends to everybody must not take the helper away first.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        kill(doomed.reaper, signal);
    }
    doomed.kill();
    becomes("no process", async || processes_in(&doomed.dir).is_empty()).await;
    becomes("no directory", async || !doomed.dir.exists()).await;
}

#[tokio::test]
async fn a_killed_run_leaves_no_container() {
    let _alone = alone();
    let mut doomed = Doomed::start("docker");
    assert_eq!(containers_of(&doomed.run).await.len(), 4);
    doomed.kill();
    becomes("no container", async || {
        containers_of(&doomed.run).await.is_empty()
    })
    .await;
    becomes("no directory", async || !doomed.dir.exists()).await;
}

/// Even where the helper was killed first, the kernel kills our children, and the next run's sweep
/// does the rest: also what a worker had started by itself.
#[tokio::test]
async fn without_the_helper_the_children_die_and_the_sweep_cleans_up() {
    let _alone = alone();
    for backend in ["process", "docker"] {
        let mut doomed = Doomed::start(backend);
        becomes("the worker's child", async || has_sleep(&doomed.dir)).await;
        kill(doomed.reaper, Signal::KILL);
        doomed.kill();
        becomes("only grandchildren", async || {
            let left = processes_in(&doomed.dir);
            left.iter().all(|(_, name)| name == "sleep")
        })
        .await;
        sweep().await;
        becomes("no process", async || processes_in(&doomed.dir).is_empty()).await;
        assert!(!doomed.dir.exists());
        assert!(containers_of(&doomed.run).await.is_empty());
    }
}

/// A container and a directory with our labels, of a living owner and of a dead one.
#[tokio::test]
async fn the_sweep_takes_what_the_dead_left_and_nothing_of_the_living() {
    let _alone = alone();
    let reaper = reaper();
    let living = RunDir::create(&reaper).unwrap();
    let image = Image::choose(None, None).await.unwrap();
    let here = ProcessIdentity::this_process().unwrap().to_string();
    let (_, rest) = here.split_once(':').unwrap();
    // No process id is as high as this one.
    let dead = format!("{}:{rest}", i32::MAX);
    let dead_dir = tempfile::Builder::new()
        .prefix("picklock-")
        .tempdir()
        .unwrap();
    std::fs::write(dead_dir.path().join(".picklock-owner"), &dead).unwrap();
    let mine = sleeper(&image, &here).await;
    let orphan = sleeper(&image, &dead).await;

    sweep().await;

    assert!(!dead_dir.path().exists());
    assert!(living.path().exists());
    assert!(mine.is_running().await.unwrap());
    assert!(orphan.is_running().await.is_err());
    mine.rm().await.unwrap();
}

/// A container that carries an owner's label.
async fn sleeper(
    image: &Image,
    owner: &str,
) -> testcontainers::ContainerAsync<testcontainers::GenericImage> {
    use testcontainers::runners::AsyncRunner;
    use testcontainers::{GenericImage, ImageExt};
    let (name, tag) = image.reference().rsplit_once(':').unwrap();
    GenericImage::new(name, tag)
        .with_label("picklock.owner", owner)
        .start()
        .await
        .unwrap()
}
