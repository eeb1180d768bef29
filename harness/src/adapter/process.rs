//! The driver's end of a worker process: starting it, sending requests, reading messages.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::capped_log::CappedLog;
use super::control::WorkerControl;
use super::line_reader::{Line, LineReader};
use super::message::{Request, WorkerMessage};
pub use super::process_error::ProcessError;
use super::protocol_fault::{MalformedLine, read_message, too_long};
use crate::process_stat::{MARK_VARIABLE, ProcessStat};

/// Time to wait for output that is still in the pipe after a process has exited.
const PIPE_GRACE: Duration = Duration::from_millis(250);
/// Time that a process may take to exit after the end of its output.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// An output of a worker process.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerOutput {
    /// A message of the protocol.
    Message(WorkerMessage),
    /// A line that is not a message, with the reason.
    Garbage(MalformedLine),
    /// The end of the process, described for example as `exited with status 3` or `killed by signal 9 (SIGKILL)`.
    Exited(String),
}

/// A worker process with its standard input and output.
pub struct WorkerProcess {
    /// The handle that freezes, thaws and kills.
    pub control: WorkerControl,
    /// The writer of requests.
    pub stdin: WorkerStdin,
    /// The reader of messages.
    pub stdout: WorkerStdout,
}

impl WorkerProcess {
    /// Starts `argv`, without a shell, as the leader of its own process group. Its standard error is appended to
    /// `stderr_log`, up to a maximum length. `prepare` can change the command before it starts, such as its environment
    /// or its working directory.
    ///
    /// The process and its descendants carry a mark in their environment, by which they can be found in any session or
    /// process group.
    ///
    /// Must be called inside a tokio runtime. When all handles are dropped, the processes are killed.
    ///
    /// # Errors
    /// Returns an error if the log cannot be opened or the program cannot be started.
    pub fn spawn(
        argv: &[String],
        stderr_log: &Path,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, ProcessError> {
        let (program, arguments) = argv.split_first().ok_or(ProcessError::NoProgram)?;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(stderr_log)
            .map_err(|source| ProcessError::Log {
                path: stderr_log.to_owned(),
                source,
            })?;
        let mark = new_mark();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(MARK_VARIABLE, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        prepare(&mut command);
        let started = command.spawn().and_then(|mut child| {
            let missing = || io::Error::other("its standard streams are not piped");
            let stdin = child.stdin.take().ok_or_else(missing)?;
            let stdout = child.stdout.take().ok_or_else(missing)?;
            let stderr = child.stderr.take().ok_or_else(missing)?;
            let log = CappedLog::begin(stderr, log);
            Ok((WorkerControl::new(child, mark, log)?, stdin, stdout))
        });
        let (control, stdin, stdout) = started.map_err(|source| ProcessError::Start {
            program: program.clone(),
            source,
        })?;
        Ok(WorkerProcess {
            stdin: WorkerStdin(stdin),
            stdout: WorkerStdout {
                lines: LineReader::new(BufReader::new(stdout)),
                control: control.clone(),
            },
            control,
        })
    }
}

/// Returns a mark that no other worker of this machine has. It consists of the identity of this process and a number.
fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let pid = std::process::id();
    let started_ticks = ProcessStat::for_process(pid).map_or(0, |stat| stat.started_ticks);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{pid}:{started_ticks}:{number}")
}

/// The writer of requests to a worker.
pub struct WorkerStdin(ChildStdin);

impl WorkerStdin {
    /// Writes one request.
    ///
    /// # Errors
    /// Returns an error if the worker no longer reads.
    pub async fn send(&mut self, request: &Request) -> Result<(), ProcessError> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| ProcessError::Send(io::Error::other(error)))?;
        line.push(b'\n');
        self.write(&line).await.map_err(ProcessError::Send)
    }

    /// Writes bytes, which need not be a request.
    ///
    /// # Errors
    /// Returns an error if the worker no longer reads.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }
}

/// The reader of messages from a worker.
pub struct WorkerStdout {
    lines: LineReader<BufReader<ChildStdout>>,
    control: WorkerControl,
}

impl WorkerStdout {
    /// Returns the beginning of a line that is still incomplete.
    pub fn unfinished(&self) -> String {
        self.lines.unfinished()
    }

    /// Waits for the next output. [`WorkerOutput::Exited`] is the last output; later calls return it again.
    /// Cancel-safe.
    pub async fn next(&mut self) -> WorkerOutput {
        let output = self.next_output().await;
        if matches!(output, WorkerOutput::Exited(_)) {
            self.control.log.written().await;
        }
        output
    }

    async fn next_output(&mut self) -> WorkerOutput {
        let line = tokio::select! {
            biased;
            line = self.lines.next() => line,
            how = self.control.exited() => {
                // A process that the worker started may keep the pipe open, so the wait is limited.
                match tokio::time::timeout(PIPE_GRACE, self.lines.next()).await {
                    Ok(Ok(Some(line))) => Ok(Some(line)),
                    _ => return WorkerOutput::Exited(how),
                }
            }
        };
        match line {
            Ok(Some(Line::Whole(text))) => {
                read_message(&text).map_or_else(WorkerOutput::Garbage, WorkerOutput::Message)
            }
            Ok(Some(Line::TooLong(start))) => WorkerOutput::Garbage(too_long(&start)),
            Ok(None) | Err(_) => self.exit_after_output().await,
        }
    }

    /// Waits for the worker to exit after its output has ended. If it does not exit, kills it, because it can no
    /// longer reply.
    async fn exit_after_output(&self) -> WorkerOutput {
        if let Ok(how) = tokio::time::timeout(EXIT_GRACE, self.control.exited()).await {
            return WorkerOutput::Exited(how);
        }
        let how = self.control.kill().await;
        WorkerOutput::Exited(format!("closed its standard output, and was {how}"))
    }
}
