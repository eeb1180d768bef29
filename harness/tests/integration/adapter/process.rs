//! Worker processes that are frozen, thawed, killed, or that misbehave on their own.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use picklock_harness::adapter::message::{Answer, RequestKind};
use picklock_harness::adapter::process::{ProcessError, WorkerOutput, WorkerProcess};
use picklock_harness::adapter::protocol_fault::ProtocolFault;

use super::talk::{Talk, acquire, init};

/// Returns the state letter of a process, such as `T` for stopped, or `None` if there is no such process.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

/// Waits until the process has exited or is a zombie. A process that survives would do so forever, so the wait is
/// limited.
async fn gone(pid: u32) {
    let dying = async {
        while state(pid).is_some_and(|state| state != 'Z') {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let bound = Duration::from_secs(20);
    assert!(
        tokio::time::timeout(bound, dying).await.is_ok(),
        "process {pid} lives on"
    );
}

#[tokio::test]
async fn polite_worker_answers() {
    let mut talk = Talk::with_adapter("polite.py", &[]);
    let ready = talk.answer(init(vec![])).await;
    assert!(matches!(ready, Answer::Ready { name: Some(name), .. } if name == "polite"));
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    assert_eq!(talk.log(), "");
}

#[tokio::test]
async fn frozen_worker_does_not_answer_until_thawed() {
    let mut talk = Talk::with_adapter("polite.py", &[]);
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    let control = talk.worker.control.clone();
    for _ in 0..3 {
        control.freeze().await.unwrap();
        // The process has stopped already.
        assert_eq!(state(control.pid()), Some('T'));
        talk.send(RequestKind::Ping).await;
        // Wait for a reply that must not arrive; a running worker would need a fraction of this time.
        let reply =
            tokio::time::timeout(Duration::from_millis(100), talk.worker.stdout.next()).await;
        assert!(reply.is_err(), "{reply:?}");
        control.thaw().await.unwrap();
        assert!(matches!(
            talk.worker.stdout.next().await,
            WorkerOutput::Message(_)
        ));
    }
}

#[tokio::test]
async fn worker_can_be_frozen_and_killed_while_a_task_reads() {
    let mut talk = Talk::with_adapter("polite.py", &[]);
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    let control = talk.worker.control.clone();
    let mut listening = Box::pin(talk.worker.stdout.next());
    assert!(listening.as_mut().now_or_never().is_none());
    control.freeze().await.unwrap();
    // A frozen process can be killed, and its reader receives the exit.
    let how = control.kill().await;
    assert_eq!(how, "killed by signal 9 (SIGKILL)");
    assert_eq!(listening.await, WorkerOutput::Exited(how));
}

#[tokio::test]
async fn exited_worker_cannot_be_frozen_or_thawed() {
    let mut talk = Talk::with_adapter("exit.py", &["ping"]);
    let output = talk.ask(RequestKind::Ping).await;
    assert_eq!(output, WorkerOutput::Exited("exited with status 3".into()));
    let control = talk.worker.control.clone();
    for outcome in [control.freeze().await, control.thaw().await] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, ProcessError::Gone(_)), "{error}");
        assert!(
            error.to_string().contains("exited with status 3"),
            "{error}"
        );
    }
    // Killing an exited process is not an error, and returns how the process really ended.
    assert_eq!(control.kill().await, "exited with status 3");
    assert_eq!(state(control.pid()), None, "it was reaped");
    // Later reads return the exit again.
    assert!(matches!(
        talk.worker.stdout.next().await,
        WorkerOutput::Exited(_)
    ));
}

#[tokio::test]
async fn exits_are_described() {
    for (how, words) in [
        ("0", "exited with status 0"),
        ("7", "exited with status 7"),
        ("SIGABRT", "killed by signal 6 (SIGABRT)"),
    ] {
        let mut talk = Talk::with_adapter("exit.py", &["acquire", how]);
        talk.answer(init(vec![])).await;
        assert_eq!(
            talk.ask(acquire("k", 1000)).await,
            WorkerOutput::Exited(words.into())
        );
    }
}

#[tokio::test]
async fn garbage_is_reported_and_later_requests_are_answered() {
    for (kind, start, length, fault) in [
        ("text", "Connected to Redis!", 19, ProtocolFault::NotJson),
        ("foreign", "{\"status\": \"ok\"}", 16, ProtocolFault::NoKind),
        // The length includes the ellipsis.
        ("huge", "xxx", 201, ProtocolFault::TooLong),
    ] {
        let mut talk = Talk::with_adapter("garbage.py", &["acquire", kind]);
        talk.answer(init(vec![])).await;
        let WorkerOutput::Garbage(malformed) = talk.ask(acquire("k", 1000)).await else {
            panic!("{kind} is not garbage");
        };
        assert_eq!(malformed.fault, fault);
        let text = malformed.line;
        assert!(text.starts_with(start), "{kind}: {text}");
        assert_eq!(text.chars().count(), length, "{kind}");
        assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong, "{kind}");
    }
}

#[tokio::test]
async fn hanging_worker_does_not_answer_and_can_be_killed() {
    let mut talk = Talk::with_adapter("hang.py", &["acquire"]);
    talk.answer(init(vec![])).await;
    talk.send(acquire("k", 1000)).await;
    // The next request is answered although the preceding request never was.
    let id = talk.send(RequestKind::Ping).await;
    let output = talk.worker.stdout.next().await;
    assert!(
        matches!(&output, WorkerOutput::Message(message) if serde_json::to_value(message).unwrap()["id"] == id),
        "{output:?}"
    );
    talk.worker.control.kill().await;
}

/// A process that the worker leaves behind and that holds its output open is killed, and delays nothing.
#[tokio::test]
async fn whole_group_dies_with_its_leader() {
    let mut talk = Talk::with_adapter("exit.py", &["ping", "orphan"]);
    let output = talk.ask(RequestKind::Ping).await;
    assert_eq!(output, WorkerOutput::Exited("exited with status 0".into()));
    let orphan: u32 = talk.logged_number().await;
    gone(orphan).await;
}

const WRAPPER: &str = "
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import time; end = time.monotonic() + 60\\nwhile time.monotonic() < end: pass'])
print(child.pid, file=sys.stderr, flush=True)
for line in sys.stdin: print('{\"id\":1,\"reply\":\"pong\"}', flush=True)
";

/// The client may be a grandchild, behind a wrapper, and busy.
#[tokio::test]
async fn grandchildren_are_frozen_and_killed_with_the_group() {
    let mut talk = Talk::start(&["python3", "-c", WRAPPER]);
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    let grandchild: u32 = talk.logged_number().await;
    let control = talk.worker.control.clone();
    assert_eq!(state(grandchild), Some('R'));
    control.freeze().await.unwrap();
    assert_eq!(state(grandchild), Some('T'));
    control.kill().await;
    gone(grandchild).await;
}

/// Returns a wrapper around a busy process that has its own session. That process has another parent or, with
/// `hidden`, an empty environment.
fn daemon(hidden: bool) -> String {
    let busy = "import time; end = time.monotonic() + 60\\nwhile time.monotonic() < end: pass";
    // A process without the mark is found below its parent.
    let (environment, last) = if hidden {
        ("{}", "time.sleep(60)")
    } else {
        ("os.environ", "os._exit(0)")
    };
    format!(
        "
import os, sys, time
pid, pid_writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(pid_writer, str(os.getpid()).encode())
        os.execve(sys.executable, [sys.executable, '-c', '{busy}'], {environment})
    {last}
print(os.read(pid, 32).decode(), file=sys.stderr, flush=True)
for line in sys.stdin: print('{{\"id\":1,\"reply\":\"pong\"}}', flush=True)
"
    )
}

#[tokio::test]
async fn descendants_are_frozen_and_killed_wherever_they_went() {
    for hidden in [false, true] {
        let mut talk = Talk::start(&["python3", "-c", &daemon(hidden)]);
        assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
        let daemon: u32 = talk.logged_number().await;
        let control = talk.worker.control.clone();
        for _ in 0..2 {
            control.freeze().await.unwrap();
            assert_eq!(state(daemon), Some('T'), "hidden: {hidden}");
            control.thaw().await.unwrap();
            assert_ne!(state(daemon), Some('T'), "hidden: {hidden}");
        }
        assert_eq!(control.kill().await, "killed by signal 9 (SIGKILL)");
        let state = state(daemon);
        assert!(state.is_none_or(|state| state == 'Z'), "hidden: {hidden}");
    }
}

/// The worker itself has exited, and its daemon has not.
#[tokio::test]
async fn daemon_is_killed_after_its_worker_has_exited() {
    let code = daemon(false).replace("for line in", "sys.exit(3)\nfor line in");
    let mut talk = Talk::start(&["python3", "-c", &code]);
    let output = talk.worker.stdout.next().await;
    assert_eq!(output, WorkerOutput::Exited("exited with status 3".into()));
    let daemon: u32 = talk.logged_number().await;
    assert!(state(daemon).is_some_and(|state| state != 'Z'));
    talk.worker.control.kill().await;
    assert!(state(daemon).is_none_or(|state| state == 'Z'));
}

#[tokio::test]
async fn dropping_all_handles_kills_the_group() {
    let mut talk = Talk::start(&["python3", "-c", WRAPPER]);
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    let grandchild: u32 = talk.logged_number().await;
    let leader = talk.worker.control.pid();
    drop(talk);
    gone(grandchild).await;
    gone(leader).await;
}

#[tokio::test]
async fn closed_output_counts_as_exit() {
    let mut talk = Talk::with_adapter("exit.py", &["ping", "silent"]);
    let output = talk.ask(RequestKind::Ping).await;
    let words = "closed its standard output, and was killed by signal 9 (SIGKILL)";
    assert_eq!(output, WorkerOutput::Exited(words.into()));
}

#[tokio::test]
async fn program_that_cannot_start_is_named() {
    let logs = tempfile::tempdir().unwrap();
    let spawn = |argv: &[String], log: &Path| WorkerProcess::spawn(argv, log, |_| {}).err();
    let log = logs.path().join("log");
    let error = spawn(&["no-such-program".into()], &log).unwrap();
    assert!(error.to_string().contains("no-such-program"), "{error}");
    let error = spawn(&[], &log).unwrap();
    assert!(matches!(error, ProcessError::NoProgram));
    let error = spawn(&["python3".into()], &logs.path().join("no/log")).unwrap();
    assert!(matches!(error, ProcessError::Log { .. }));
}

#[tokio::test]
async fn prepare_can_change_the_environment() {
    let code = "import os; print(os.environ['PURPOSE'])";
    let argv = ["python3".to_owned(), "-c".to_owned(), code.to_owned()];
    let logs = tempfile::tempdir().unwrap();
    let mut worker = WorkerProcess::spawn(&argv, &logs.path().join("log"), |command| {
        command.env("PURPOSE", "a test");
    })
    .unwrap();
    let WorkerOutput::Garbage(malformed) = worker.stdout.next().await else {
        panic!("expected garbage");
    };
    assert_eq!(malformed.line, "a test");
    assert_eq!(
        worker.stdout.next().await,
        WorkerOutput::Exited("exited with status 0".into())
    );
}

/// A program that traces the process whose PID is its argument, and then does nothing.
const TRACER: &str = "
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE = 0x4206
assert libc.ptrace(SEIZE, int(sys.argv[1]), None, None) == 0
print('traces', flush=True)
time.sleep(3600)
";

/// A traced process cannot be reaped before its tracer has waited for it.
#[tokio::test]
async fn killed_process_that_a_tracer_holds_is_given_up() {
    use std::io::BufRead;
    let mut talk = Talk::with_adapter("polite.py", &[]);
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
    let control = talk.worker.control.clone();
    let mut tracer = std::process::Command::new("python3")
        .args(["-c", TRACER, &control.pid().to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = tracer.stdout.take().unwrap();
    std::io::BufReader::new(output)
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "traces\n");
    let how = control.kill().await;
    assert!(how.contains("has not exited"), "{how}");
    assert!(!control.has_ended());
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    assert_eq!(control.exited().await, "killed by signal 9 (SIGKILL)");
}
