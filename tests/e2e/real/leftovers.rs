//! Nothing outlives a run, however it ends, and foreign processes and files are not touched.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::containers::{containers_of, docker};
use super::proc_table::{Process, started_by, workers_of};
use crate::running::{Call, Outcome, Running, picklock};

/// Maximum time for cleaning up after a killed run. The full time is waited only if the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The processes and containers of a run in progress.
pub struct Belongings {
    processes: Vec<Process>,
    owner: String,
}

impl Belongings {
    /// Waits until the run has at least this many Redis servers or containers, and its workers.
    pub fn of(run: &Running, backend: &str) -> Belongings {
        let processes = started_by(run.pid());
        let workers = workers_of(run.pid());
        assert!(workers.len() >= 3, "{processes:#?}");
        let owner = workers[0].variable("PICKLOCK_OWNER").expect("its mark");
        let belongings = Belongings { processes, owner };
        match backend {
            "docker" => assert!(!belongings.containers().is_empty()),
            _ => assert!(
                belongings
                    .processes
                    .iter()
                    .any(|one| one.name.contains("redis"))
            ),
        }
        assert_eq!(directories(&run.temp()).len(), 1);
        belongings
    }

    /// Returns its containers.
    pub fn containers(&self) -> String {
        docker(&["ps", "-aq", "--filter", &self.label()])
    }

    fn networks(&self) -> String {
        docker(&["network", "ls", "-q", "--filter", &self.label()])
    }

    fn label(&self) -> String {
        format!("label=picklock.owner={}", self.owner)
    }

    /// Waits until everything is gone. The killed run cannot report this itself.
    pub fn vanish(&self, temp: &Path) {
        becomes("no process", || {
            let left: Vec<&Process> = self.processes.iter().filter(|one| one.lives()).collect();
            left.is_empty().then_some(()).ok_or(format!("{left:#?}"))
        });
        becomes("no container and no network", || {
            let left = self.containers() + &self.networks();
            left.is_empty().then_some(()).ok_or(left)
        });
        becomes("no directory", || {
            let left = directories(temp);
            left.is_empty().then_some(()).ok_or(format!("{left:?}"))
        });
    }
}

fn directories(temp: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(temp).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "picklock-foreign").collect()
}

#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "there is no event to wait for: the one who could tell is dead"
)]
pub fn becomes(what: &str, look: impl Fn() -> Result<(), String>) {
    let mut left = PATIENCE;
    let pause = Duration::from_millis(50);
    loop {
        match look() {
            Ok(()) => return,
            Err(seen) => assert!(!left.is_zero(), "still not so: {what}: {seen}"),
        }
        std::thread::sleep(pause);
        left = left.saturating_sub(pause);
    }
}

/// Starts a run whose holder has just been frozen.
fn frozen(backend: &str) -> Running {
    let line = format!("scenario gc-pause --impl set-nx-px --ttl 3s --backend {backend} --out run");
    frozen_run(picklock(&line))
}

/// Starts a call and waits until it has frozen a holder.
pub fn frozen_run(call: Call) -> Running {
    let mut run = call.start();
    run.hear("fault: pause-client");
    becomes("a frozen worker", || {
        let workers = workers_of(run.pid());
        let frozen = workers.iter().any(Process::is_frozen);
        frozen.then_some(()).ok_or(format!("{workers:#?}"))
    });
    run
}

fn ends_in_order(backend: &str, signal: Signal) {
    let run = frozen(backend);
    let belongings = Belongings::of(&run, backend);
    run.signal(signal);
    let outcome = run.finish().exits(130);
    assert!(outcome.stdout.contains("interrupted"), "{}", outcome.all());
    let record = outcome.json_file("run/run.json");
    assert_eq!(record["interrupted"], true);
    assert_eq!(record["verdicts"].as_object().unwrap().len(), 7);
    assert_eq!(record["verdicts"]["progress"]["status"], "unknown");
    assert!(
        outcome
            .text_file("run/history.jsonl")
            .contains("interrupted")
    );
    belongings.vanish(&outcome.home().join("tmp"));
    outcome.left_no_directory();
}

#[test]
fn ctrl_c_ends_a_run_in_order() {
    ends_in_order("process", Signal::INT);
}

#[test]
fn ctrl_c_ends_a_run_in_containers_in_order() {
    ends_in_order("docker", Signal::INT);
}

#[test]
fn a_request_to_terminate_ends_a_run_in_order() {
    ends_in_order("process", Signal::TERM);
}

#[test]
fn a_request_to_terminate_ends_a_run_in_containers_in_order() {
    ends_in_order("docker", Signal::TERM);
}

/// Both signals are pending when the run wakes, so the second cannot come too late.
fn ends_at_once(backend: &str) {
    let run = frozen(backend);
    let belongings = Belongings::of(&run, backend);
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        run.signal(signal);
    }
    let outcome = run.finish().exits(130);
    assert!(
        !outcome.home().join("run/run.json").exists(),
        "{}",
        outcome.all()
    );
    belongings.vanish(&outcome.home().join("tmp"));
}

#[test]
fn a_second_signal_ends_the_wait() {
    ends_at_once("process");
}

#[test]
fn a_second_signal_ends_the_wait_for_containers() {
    ends_at_once("docker");
}

fn is_killed(backend: &str) {
    let run = frozen(backend);
    let belongings = Belongings::of(&run, backend);
    let frozen = belongings.processes.iter().any(Process::is_frozen);
    assert!(frozen, "the worker is to be frozen when the run is killed");
    run.signal(Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code, None);
    belongings.vanish(&outcome.home().join("tmp"));
}

#[test]
fn a_killed_run_leaves_nothing() {
    is_killed("process");
}

#[test]
fn a_killed_run_leaves_no_container() {
    is_killed("docker");
}

/// Kills a run with Sentinels while a master is stalled.
fn is_killed_during_a_failover(backend: &str, sentinels: impl Fn(&Belongings) -> usize) {
    let line = format!("scenario sentinel-failover --impl set-nx-px --backend {backend}");
    let mut run = picklock(&line).start();
    run.hear("fault: pause-node");
    let belongings = Belongings::of(&run, backend);
    assert_eq!(sentinels(&belongings), 3, "{:#?}", belongings.processes);
    run.signal(Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code, None);
    belongings.vanish(&outcome.home().join("tmp"));
}

#[test]
fn a_killed_run_leaves_no_sentinel() {
    is_killed_during_a_failover("process", |belongings| {
        let servers = belongings.processes.iter();
        servers.filter(|one| one.name.contains("redis")).count() - 2
    });
}

#[test]
fn a_killed_run_leaves_no_sentinel_in_a_container() {
    is_killed_during_a_failover("docker", |belongings| {
        belongings.containers().split_whitespace().count() - 2
    });
}

fn is_interrupted_early(backend: &str, has_begun: impl Fn(u32) -> bool) {
    let line = format!("scenario gc-pause --impl redlock --backend {backend}");
    let mut run = picklock(&line).start();
    run.hear("setting up");
    let pid = run.pid();
    becomes("something started", || {
        has_begun(pid).then_some(()).ok_or_else(String::new)
    });
    let processes = started_by(pid);
    run.signal(Signal::INT);
    let outcome = run.finish().exits(130);
    becomes("no process", || {
        let left: Vec<&Process> = processes.iter().filter(|one| one.lives()).collect();
        left.is_empty().then_some(()).ok_or(format!("{left:#?}"))
    });
    becomes("no container", || {
        let left = containers_of(pid);
        left.is_empty().then_some(()).ok_or(left.join(" "))
    });
    becomes("no directory", || {
        let left = directories(&outcome.home().join("tmp"));
        left.is_empty().then_some(()).ok_or(format!("{left:?}"))
    });
}

#[test]
fn an_interrupt_while_setting_up_leaves_nothing() {
    is_interrupted_early("process", |pid| {
        started_by(pid).iter().any(|one| one.name.contains("redis"))
    });
}

#[test]
fn an_interrupt_while_setting_up_containers_leaves_nothing() {
    is_interrupted_early("docker", |pid| !containers_of(pid).is_empty());
}

/// Returns a local image.
pub fn image() -> &'static str {
    let images = ["redis:8", "picklock-redis:local"];
    let is_here = |image: &&str| {
        let mut look = Command::new("docker");
        look.args(["image", "inspect", image])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        look.status().unwrap().success()
    };
    let image = images.into_iter().find(is_here);
    image.expect("no Redis image; `scripts/redis-image` builds one")
}

/// A foreign Redis and a foreign container, removed at the end.
struct Foreign {
    server: Child,
    container: String,
}

impl Foreign {
    fn start(here: &Path) -> Foreign {
        let server = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket", "foreign.sock"])
            .current_dir(here)
            .stdout(Stdio::null())
            .spawn()
            .expect("`redis-server` must be on PATH");
        Foreign {
            server,
            container: docker(&["run", "-d", "--network", "none", image()]),
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
        docker(&["rm", "-fv", &self.container]);
    }
}

#[test]
fn objects_of_other_users_stay_untouched() {
    let call = picklock("scenario calm --impl set-nx-px --backend docker");
    let temp = call.temp();
    std::fs::create_dir(temp.join("picklock-foreign")).unwrap();
    std::fs::write(temp.join("picklock-foreign/precious"), "data").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut foreign = Foreign::start(elsewhere.path());
    let outcome: Outcome = call.run().exits(0);
    assert_eq!(outcome.text_file("tmp/picklock-foreign/precious"), "data");
    assert_eq!(directories(&temp), [""; 0]);
    assert!(
        foreign.server.try_wait().unwrap().is_none(),
        "the foreign server is gone"
    );
    let running = docker(&["inspect", "-f", "{{.State.Running}}", &foreign.container]);
    assert_eq!(running, "true", "the foreign container is gone");
}

/// A lock that executes code when it starts. `ADAPTERS` is replaced by the folder of the adapters, and `DO` by the
/// code.
const HIDES: &str = r#"
import ctypes, os, pathlib, subprocess, sys, threading, time, uuid
sys.path.insert(0, ADAPTERS)
from my_lock import MyLock
from picklock_adapter import serve

DO
serve(MyLock, name="hides")
"#;

/// Creates a call with a lock that executes this code when it starts. `PYTHON` in the line is the interpreter.
fn with_deed(line: &str, deed: &str) -> Call {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/python");
    let text = HIDES.replace("ADAPTERS", &format!("{:?}", adapters.display()));
    picklock(&line.replace("PYTHON", &python)).file("hides.py", &text.replace("DO", deed))
}

#[test]
fn process_that_has_put_off_its_mark_ends_with_the_run() {
    let deed = r#"
here, tag = pathlib.Path(__file__).parent, uuid.uuid4().hex
hide = f"env -i setsid sh -c 'echo $$ {tag} >>hidden; exec sleep 36000' >/dev/null 2>&1 </dev/null &"
subprocess.run(["sh", "-c", hide], cwd=here)
while tag not in ((here / "hidden").read_text() if (here / "hidden").exists() else ""):
    time.sleep(0.01)
"#;
    let line = "scenario calm --backend process --impl 'exec:PYTHON hides.py'";
    let outcome = with_deed(line, deed).run().exits(0);
    let hidden = outcome.text_file("hidden");
    let numbers = hidden.lines().map(|line| line.split(' ').next().unwrap());
    let hidden: Vec<u32> = numbers.map(|number| number.parse().unwrap()).collect();
    // Three workers and the client after the run; the same again for each rerun.
    assert!(
        !hidden.is_empty() && hidden.len().is_multiple_of(4),
        "{hidden:?}"
    );
    for pid in hidden {
        let place = Path::new("/proc").join(pid.to_string());
        assert!(!place.exists(), "{pid} lives");
    }
}

/// A debugger below a worker may trace Picklock itself. If the debugger is stopped, Picklock would stop with it.
#[test]
fn tracer_of_picklock_below_a_worker_holds_nothing_up() {
    let deed = r#"
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, CONT, EVERY_CHILD = 0x4206, 7, 0x40000000

def trace(pid):
    if libc.ptrace(SEIZE, pid, None, None) != 0:
        return
    while True:
        who, status = os.waitpid(pid, EVERY_CHILD)
        if not os.WIFSTOPPED(status):
            return
        passed_on = os.WSTOPSIG(status) if status >> 16 == 0 else 0
        libc.ptrace(CONT, who, None, ctypes.c_void_p(passed_on))

threading.Thread(target=trace, args=(os.getppid(),), daemon=True).start()
"#;
    let line = "scenario gc-pause --backend process --no-rerun --impl 'exec:PYTHON hides.py'";
    let outcome = with_deed(line, deed).start().finish();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
}

/// If another process stops the cleanup helper, Picklock resumes it and does not wait for it.
#[test]
fn reaper_that_is_stopped_holds_nothing_up() {
    let run = frozen("process");
    let is_reaper = |process: &&Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"reaper")
    };
    let started = started_by(run.pid());
    let reaper = started.iter().find(is_reaper).expect("a run has a reaper");
    let pid = rustix::process::Pid::from_raw(reaper.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let outcome = run.finish();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    assert!(!reaper.lives());
}
