//! A driver of worker processes for tests.

use std::path::PathBuf;

use picklock_harness::adapter::message::{
    Answer, Init, PROTOCOL, PROTOCOLS, Request, RequestKind, WorkerMessage,
};
use picklock_harness::adapter::process::{WorkerOutput, WorkerProcess};
use tempfile::TempDir;

/// A worker process and the directory of its log.
pub struct Talk {
    pub worker: WorkerProcess,
    pub logs: TempDir,
    next_id: u64,
}

impl Talk {
    pub fn start(argv: &[&str]) -> Self {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let logs = tempfile::tempdir().unwrap();
        let log = logs.path().join("stderr.log");
        let worker = WorkerProcess::spawn(&argv, &log, |command| {
            // Leave no files in the working tree.
            command.env("PYTHONDONTWRITEBYTECODE", "1");
        })
        .unwrap();
        Talk {
            worker,
            logs,
            next_id: 1,
        }
    }

    /// Starts one of the misbehaving adapters.
    pub fn with_adapter(script: &str, arguments: &[&str]) -> Self {
        let path = project_root().join("tests/adapters").join(script);
        let mut argv = vec!["python3", path.to_str().unwrap()];
        argv.extend(arguments);
        Talk::start(&argv)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.logs.path().join("stderr.log")).unwrap()
    }

    /// Waits for the number that the worker writes into its log. The log is read separately from the replies.
    pub async fn logged_number(&self) -> u32 {
        loop {
            let log = self.log();
            if let Some(line) = log.strip_suffix('\n') {
                return line.parse().unwrap();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends a request, and returns its number.
    pub async fn send(&mut self, ask: RequestKind) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.worker
            .stdin
            .send(&Request {
                id,
                client: None,
                ask,
            })
            .await
            .unwrap();
        id
    }

    /// Sends a request, and returns the next output.
    pub async fn ask(&mut self, ask: RequestKind) -> WorkerOutput {
        self.send(ask).await;
        self.worker.stdout.next().await
    }

    /// Sends a request, and returns its reply, which must come next.
    pub async fn answer(&mut self, ask: RequestKind) -> Answer {
        let id = self.send(ask).await;
        match self.worker.stdout.next().await {
            WorkerOutput::Message(WorkerMessage::Reply {
                id: replied,
                answer,
                ..
            }) if replied == id => answer,
            other => panic!("no answer to request {id}: {other:?}\n{}", self.log()),
        }
    }
}

pub fn project_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

pub fn init(nodes: Vec<String>) -> RequestKind {
    RequestKind::Init(Init {
        protocol: PROTOCOL,
        protocols: PROTOCOLS.to_vec(),
        worker: 0,
        nodes,
        timeout_ms: 5000,
        seed: 1,
        options: Default::default(),
        warm_up: Some("its-own".into()),
        ttl_ms: Some(1000),
        capacity: Some(2),
    })
}

pub fn acquire(key: &str, ttl_ms: u64) -> RequestKind {
    RequestKind::Acquire {
        mode: None,
        permits: None,
        key: key.into(),
        ttl_ms,
        wait_ms: 0,
    }
}

pub fn extend(key: &str, token: &str, ttl_ms: u64) -> RequestKind {
    RequestKind::Extend {
        key: key.into(),
        token: token.into(),
        ttl_ms,
    }
}

pub fn release(key: &str, token: &str) -> RequestKind {
    RequestKind::Release {
        key: key.into(),
        token: token.into(),
    }
}
