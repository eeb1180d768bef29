//! Several clients that share one process.

use std::rc::Rc;

use futures_util::FutureExt;
use picklock_harness::adapter::control::WorkerControl;
use picklock_harness::adapter::message::{Answer, Request, RequestKind, WorkerMessage};
use picklock_harness::adapter::process::{WorkerOutput, WorkerProcess};
use picklock_harness::adapter::shared_process::{ClientLine, SharedProcess};
use picklock_harness::clock::Clock;
use tempfile::TempDir;
use tokio::task::LocalSet;

use super::talk::{init, project_root};

/// A process, its clients, and the directory that they use.
struct Shared {
    lines: Vec<ClientLine>,
    _process: (Rc<SharedProcess>, WorkerControl, TempDir),
}

/// Starts a process that behaves as `how`, with clients that are ready and have sent `pings` each.
async fn pinged(how: &str, clients: usize, pings: u64) -> Shared {
    let path = project_root().join("tests/adapters/shared.py");
    let count = (clients as u64 * pings).to_string();
    let argv = ["python3", path.to_str().unwrap(), how, &count].map(str::to_owned);
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("stderr.log");
    let started = WorkerProcess::spawn(&argv, &log, |_| {}).unwrap();
    let nodes = vec!["redis://127.0.0.1:1".to_owned()];
    let (stdin, stdout) = (started.stdin, started.stdout);
    let process = SharedProcess::begin(stdin, stdout, clients > 1, nodes, Clock::start());
    let mut lines: Vec<ClientLine> = (0..clients).map(|it| process.connect(it)).collect();
    for line in &mut lines {
        line.send(request(1, init(vec![]))).unwrap();
        let ready = line.next().await;
        let is_ready = |answer: &Answer| matches!(answer, Answer::Ready { .. });
        assert!(
            matches!(&ready, WorkerOutput::Message(WorkerMessage::Reply { id: 1, answer, .. }) if is_ready(answer)),
            "{ready:?}"
        );
    }
    for line in &lines {
        for ping in 0..pings {
            line.send(request(2 + ping, RequestKind::Ping)).unwrap();
        }
    }
    Shared {
        lines,
        _process: (process, started.control, logs),
    }
}

fn request(id: u64, ask: RequestKind) -> Request {
    let client = None;
    Request { id, client, ask }
}

fn pong(id: u64) -> WorkerOutput {
    WorkerOutput::Message(WorkerMessage::Reply {
        id,
        client: None,
        answer: Answer::Pong,
    })
}

#[tokio::test]
async fn clients_receive_their_own_replies_in_any_order() {
    let test = async {
        let mut shared = pinged("well", 50, 2).await;
        for line in &mut shared.lines {
            assert_eq!(line.next().await, pong(3));
            assert_eq!(line.next().await, pong(2));
        }
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn ten_thousand_outstanding_requests_are_all_answered() {
    let test = async {
        let mut shared = pinged("well", 2, 5_000).await;
        for line in &mut shared.lines {
            for id in (2..5_002).rev() {
                assert_eq!(line.next().await, pong(id));
            }
        }
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn clients_of_a_dead_process_receive_the_exit_once() {
    let test = async {
        let mut shared = pinged("dies", 50, 1).await;
        for line in &mut shared.lines {
            let output = line.next().await;
            assert_eq!(output, WorkerOutput::Exited("exited with status 3".into()));
            assert!(line.next().now_or_never().is_none(), "it is reported twice");
        }
    };
    LocalSet::new().run_until(test).await;
}

/// Returns the first violation of the protocol that a process reports.
async fn first_fault(how: &str) -> String {
    let test = async {
        let mut shared = pinged(how, 3, 1).await;
        loop {
            match shared.lines[0].next().await {
                WorkerOutput::Garbage(line) => return line.to_string(),
                WorkerOutput::Message(_) => {}
                WorkerOutput::Exited(how) => panic!("{how}"),
            }
        }
    };
    LocalSet::new().run_until(test).await
}

#[tokio::test]
async fn unexpected_replies_are_named() {
    let twice = first_fault("twice").await;
    assert!(twice.contains("a second time"), "{twice}");
    let unrequested = first_fault("unrequested").await;
    assert!(unrequested.contains("1000000"), "{unrequested}");
    let other = first_fault("other-client").await;
    assert!(
        other.contains("for client 3, but client 2 sent the request"),
        "{other}"
    );
}
