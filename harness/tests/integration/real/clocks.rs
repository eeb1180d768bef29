//! Shifted wall clocks, and everything that must not be affected by them.

use std::process::{Command, Stdio};
use std::time::Duration;

use picklock_harness::clock::wall_clock;
use picklock_harness::servers::{
    BackendError, Binary, Image, Layout, RunDir, ServerAddress, ServerKind, Servers, WallClockShim,
};
use picklock_scenarios::Persistence;

use super::ask::{ask, set_with_replicas};
use super::reexecution::reaper;

const MINUTE_NS: i64 = 60_000_000_000;

const LAYOUT: Layout = Layout {
    sentinels: 0,
    nodes: 1,
    replicas: 1,
    persistence: Persistence::AofAlways,
    clocks_shift: true,
};

async fn processes(layout: Layout) -> (Servers, RunDir) {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let binary = Binary::find(None).expect("these tests need a redis-server on PATH");
    let servers = Servers::start(&ServerKind::Process(binary), layout, dir.path(), &reaper).await;
    (servers.unwrap(), dir)
}

/// Returns how many seconds the server's clock is ahead (negative: behind).
async fn lead_s(address: ServerAddress) -> i64 {
    let script = "return redis.call('TIME')[1]";
    let theirs: i64 = ask(address, &["EVAL", script, "0"]).await.parse().unwrap();
    theirs - i64::try_from(wall_clock().as_secs()).unwrap()
}

fn is_about(lead_s: i64, minutes: i64) -> bool {
    // On a very busy machine, much time can pass between two reads of the clocks.
    (lead_s - 60 * minutes).abs() < 25
}

/// Shifts a node's clock forward and back, and checks the effect on keys and replicas.
async fn check_clock_shifts(servers: &Servers) {
    let node = servers.address(0);
    set_with_replicas(node, "lock", "mine", 1).await;
    assert_eq!(ask(node, &["PEXPIRE", "lock", "30000"]).await, "1");
    servers.set_clock_off(0, None, MINUTE_NS).await.unwrap();
    assert_eq!(ask(node, &["GET", "lock"]).await, "nil");
    assert!(is_about(lead_s(node).await, 1));
    let replica = servers.replica_address(0, 0);
    assert!(is_about(lead_s(replica).await, 0));

    // The key is set while the clock is ahead, so it lives a minute longer once the clock is back.
    assert_eq!(
        ask(node, &["SET", "lock", "mine", "PX", "30000"]).await,
        "OK"
    );
    servers.set_clock_off(0, None, 0).await.unwrap();
    assert!(is_about(lead_s(node).await, 0));
    let left: i64 = ask(node, &["PTTL", "lock"]).await.parse().unwrap();
    assert!((60_000..=90_500).contains(&left), "{left}");

    // A clock that is behind remains behind, even after the server was killed.
    servers.set_clock_off(0, None, -MINUTE_NS).await.unwrap();
    assert!(is_about(lead_s(node).await, -1));
    servers.crash(0).await.unwrap();
    assert!(servers.set_clock_off(0, None, MINUTE_NS).await.is_err());
    let node = servers.restart(0).await.unwrap();
    assert!(is_about(lead_s(node).await, 1));
    servers.set_clock_off(0, Some(0), MINUTE_NS).await.unwrap();
    assert!(is_about(lead_s(replica).await, 1));
}

#[tokio::test]
async fn clock_of_a_process_is_shifted() {
    let (servers, _dir) = processes(LAYOUT).await;
    check_clock_shifts(&servers).await;
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn clock_of_a_container_is_shifted() {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let image = Image::choose(None, None)
        .await
        .expect("these tests need a container engine and an image; see scripts/redis-image");
    let servers = Servers::start(&ServerKind::Docker(image), LAYOUT, dir.path(), &reaper).await;
    let servers = servers.unwrap();
    check_clock_shifts(&servers).await;
    servers.stop().await.unwrap();
}

/// In Redis, the timeout of a blocking command follows the wall clock.
#[tokio::test]
async fn blocking_command_ends_early_after_a_shift() {
    let (servers, _dir) = processes(LAYOUT).await;
    let node = servers.address(0);
    let waiting = tokio::spawn(async move { ask(node, &["BRPOPLPUSH", "a", "b", "600"]).await });
    while !ask(node, &["INFO", "clients"])
        .await
        .contains("blocked_clients:1")
    {
        tokio::task::yield_now().await;
    }
    servers
        .set_clock_off(0, None, 11 * MINUTE_NS)
        .await
        .unwrap();
    assert_eq!(waiting.await.unwrap(), "nil");
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn clock_of_an_unprepared_server_cannot_be_shifted() {
    let layout = Layout {
        sentinels: 0,
        clocks_shift: false,
        ..LAYOUT
    };
    let (servers, dir) = processes(layout).await;
    let result = servers.set_clock_off(0, None, MINUTE_NS).await;
    assert!(
        matches!(result, Err(BackendError::FixedClock(_))),
        "{result:?}"
    );
    assert!(is_about(lead_s(servers.address(0)).await, 0));
    let mut entries = std::fs::read_dir(dir.path()).unwrap();
    assert!(entries.all(|entry| {
        let name = entry.unwrap().file_name();
        !name.to_string_lossy().contains("clock")
    }));
    servers.stop().await.unwrap();
}

/// Uses a dynamically linked program: Python, which reads every kind of clock through libc.
#[test]
fn only_wall_clocks_are_shifted() {
    let dir = tempfile::tempdir().unwrap();
    let shim = WallClockShim::install(dir.path()).unwrap().unwrap();
    let wall = shim.clock("python").unwrap();
    let century = Duration::from_secs(100 * 365 * 24 * 3600);
    let off_ns = i64::try_from(century.as_nanos()).unwrap();
    assert_eq!(wall.set_off(off_ns).unwrap(), 0);
    let look = "import time\nuptime = float(open('/proc/uptime').read().split()[0])\n\
        print(int(time.time()), int(time.clock_gettime(5)), \
        int(time.clock_gettime(time.CLOCK_BOOTTIME) - uptime), time.monotonic() <= uptime + 1)\n\
        try: time.clock_gettime(99)\n\
        except OSError as error: print(error.errno)";
    let mut python = Command::new("python3");
    python.args(["-c", look]).envs(wall.environment());
    let stdout = String::from_utf8(python.output().unwrap().stdout).unwrap();
    let words: Vec<&str> = stdout.split_whitespace().collect();
    let [precise, coarse, boot, monotonic, error] = words[..] else {
        panic!("{stdout}");
    };
    let ours = i64::try_from((wall_clock() + century).as_secs()).unwrap();
    for theirs in [precise, coarse] {
        assert!(
            (theirs.parse::<i64>().unwrap() - ours).abs() < 25,
            "{stdout}"
        );
    }
    assert_eq!([boot, monotonic, error], ["0", "True", "22"]);
}

#[test]
fn process_without_the_library_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let shim = WallClockShim::install(dir.path()).unwrap().unwrap();
    let wall = shim.clock("cat").unwrap();
    for preloaded in [true, false] {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if preloaded {
            command.envs(wall.environment());
        }
        let mut child = command.spawn().unwrap();
        // A process that answers has loaded all of its libraries.
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"x").unwrap();
        let mut back = [0];
        std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut back).unwrap();
        assert_eq!(wall.is_loaded_by(child.id()), preloaded);
        drop(stdin);
        child.wait().unwrap();
    }
}

/// A run that shifts the clocks of both servers and workers installs the library twice.
#[test]
fn second_installation_crashes_no_process_with_the_library() {
    let dir = tempfile::tempdir().unwrap();
    let shim = WallClockShim::install(dir.path()).unwrap().unwrap();
    let wall = shim.clock("python").unwrap();
    // The loader searches all libraries for a name that it has not resolved yet.
    let look = "import ctypes\nprint('up', flush=True)\ninput()\n\
        ctypes.CDLL(None).gettimeofday(None, None)\nctypes.CDLL(None).lrand48()\nprint('there')";
    let mut python = Command::new("python3");
    python.args(["-c", look]).envs(wall.environment());
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().unwrap();
    let mut up = [0; 3];
    std::io::Read::read_exact(python.stdout.as_mut().unwrap(), &mut up).unwrap();

    WallClockShim::install(dir.path()).unwrap().unwrap();

    std::io::Write::write_all(python.stdin.as_mut().unwrap(), b"go on\n").unwrap();
    let ended = python.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.stdout, b"there\n");
}

#[test]
fn path_with_a_separator_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["with blank", "with:colon"] {
        let inside = dir.path().join(name);
        std::fs::create_dir(&inside).unwrap();
        assert!(WallClockShim::install(&inside).unwrap().is_none());
    }
}
