//! A run is killed with SIGKILL. Everything that the run has started must disappear.
//!
//! Every run of Picklock sweeps up after dead runs when it starts, even in another process. `scripts/test` therefore
//! runs these tests while nothing else runs.

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

/// How long the clean-up may take. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Excludes the other tests here, whose sweep would clean up after a doomed run whose reaper does not.
fn exclusive() -> Exclusive {
    Exclusive::take("orphans")
}

const LAYOUT: Layout = Layout {
    nodes: 2,
    replicas: 1,
    sentinels: 0,
    persistence: Persistence::AofEverysec,
    clocks_shift: false,
};

/// The role of the run that is killed: starts everything that a run can start, prints a list of it, and waits.
pub fn run_until_killed(backend: &str) {
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
        // A worker with a child in its group, as interpreters and shells have. When the worker dies with this process,
        // the child continues to run.
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

/// A running process that will be killed, and what it has started.
struct DoomedRun {
    program: Child,
    reaper: u32,
    run: String,
    dir: PathBuf,
}

impl DoomedRun {
    fn start(backend: &str) -> DoomedRun {
        let mut program = in_the_role_of(backend).spawn().unwrap();
        let output = BufReader::new(program.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let line = lines.find_map(|line| line.strip_prefix("doomed ").map(str::to_owned));
        let line = line.expect("the run reports when it is ready");
        let (reaper, rest) = line.split_once(' ').unwrap();
        let (run, dir) = rest.split_once(' ').unwrap();
        DoomedRun {
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

impl Drop for DoomedRun {
    /// Kills what a failed test may have left.
    fn drop(&mut self) {
        self.kill();
        for (pid, _) in processes_in(&self.dir) {
            let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
        }
    }
}

/// Returns the processes whose working directory is `dir` or below it, as for all processes of the doomed run.
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

/// Returns `true` if the child of the doomed run's worker is running.
fn has_sleep(dir: &Path) -> bool {
    processes_in(dir).iter().any(|(_, name)| name == "sleep")
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Waits until the condition is met. It is polled, because the process that could send an event is dead.
async fn wait_until(condition: &str, mut is_met: impl AsyncFnMut() -> bool) {
    let polling = async {
        while !is_met().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, polling).await;
    assert!(in_time.is_ok(), "not met in time: {condition}");
}

#[tokio::test]
async fn killed_run_leaves_no_process_and_no_directory() {
    let _exclusive = exclusive();
    let mut doomed = DoomedRun::start("process");
    let there = processes_in(&doomed.dir);
    let servers = there
        .iter()
        .filter(|(_, name)| name.contains("-server"))
        .count();
    // A server that writes a snapshot for its replica briefly has a child.
    assert!(servers >= 4, "two nodes with a replica each: {there:?}");
    wait_until("the worker's child", async || has_sleep(&doomed.dir)).await;
    // Signals that a terminal or a supervisor sends to every process must not stop the helper.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        kill(doomed.reaper, signal);
    }
    doomed.kill();
    wait_until("no process", async || processes_in(&doomed.dir).is_empty()).await;
    wait_until("no directory", async || !doomed.dir.exists()).await;
}

#[tokio::test]
async fn killed_run_leaves_no_container() {
    let _exclusive = exclusive();
    let mut doomed = DoomedRun::start("docker");
    assert_eq!(containers_of(&doomed.run).await.len(), 4);
    doomed.kill();
    wait_until("no container", async || {
        containers_of(&doomed.run).await.is_empty()
    })
    .await;
    wait_until("no directory", async || !doomed.dir.exists()).await;
}

/// Even if the helper was killed first, the kernel kills the run's children. The sweep of the next run removes the
/// rest, including descendants of the workers.
#[tokio::test]
async fn sweep_cleans_up_after_a_run_without_a_helper() {
    let _exclusive = exclusive();
    for backend in ["process", "docker"] {
        let mut doomed = DoomedRun::start(backend);
        wait_until("the worker's child", async || has_sleep(&doomed.dir)).await;
        kill(doomed.reaper, Signal::KILL);
        doomed.kill();
        wait_until("only grandchildren", async || {
            let left = processes_in(&doomed.dir);
            left.iter().all(|(_, name)| name == "sleep")
        })
        .await;
        sweep().await;
        wait_until("no process", async || processes_in(&doomed.dir).is_empty()).await;
        assert!(!doomed.dir.exists());
        assert!(containers_of(&doomed.run).await.is_empty());
    }
}

/// Creates a container and a directory of a live owner, and of a dead one.
#[tokio::test]
async fn sweep_removes_only_what_dead_owners_left() {
    let _exclusive = exclusive();
    let reaper = reaper();
    let living = RunDir::create(&reaper).unwrap();
    let image = Image::choose(None, None).await.unwrap();
    let here = ProcessIdentity::this_process().unwrap().to_string();
    let (_, rest) = here.split_once(':').unwrap();
    // No PID is as high as this one.
    let dead = format!("{}:{rest}", i32::MAX);
    let dead_dir = tempfile::Builder::new()
        .prefix("picklock-")
        .tempdir()
        .unwrap();
    std::fs::write(dead_dir.path().join(".picklock-owner"), &dead).unwrap();
    let live = sleeper(&image, &here).await;
    let orphan = sleeper(&image, &dead).await;

    sweep().await;

    assert!(!dead_dir.path().exists());
    assert!(living.path().exists());
    assert!(live.is_running().await.unwrap());
    assert!(orphan.is_running().await.is_err());
    live.rm().await.unwrap();
}

/// Starts a container with an owner's label.
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
