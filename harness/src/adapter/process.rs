//! The driver's end of a worker process: started, spoken to, listened to.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::control::WorkerControl;
use super::lines::{Line, Lines};
use super::message::{Request, Said};
pub use super::process_error::ProcessError;

/// So much of a line that is no message is kept, characters.
const GARBAGE_KEPT: usize = 200;
/// After the death of a process: how long to wait for words of it that are still in the pipe.
const LAST_WORDS: Duration = Duration::from_millis(250);
/// After the end of its output: how long a process may take to exit.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// What was heard from a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A message of the protocol.
    Said(Said),
    /// A line that is none: its first 200 characters.
    Garbage(String),
    /// It is gone, and this is how: `exited with status 3`, `killed by signal 9 (SIGKILL)`.
    Exited(String),
}

/// A worker process and both ends of the talk with it.
pub struct WorkerProcess {
    control: WorkerControl,
    requests: Requests,
    ear: Ear,
}

impl WorkerProcess {
    /// Starts `argv`, without a shell, as the leader of a process group of its own. What it
    /// writes to its standard error is added to `stderr_log`. `prepare` has the last word on the
    /// command: environment, working directory.
    ///
    /// Must be called inside a tokio runtime. When all handles are dropped, the group is killed.
    ///
    /// # Errors
    /// Where the log or the program cannot be opened or started.
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
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true);
        prepare(&mut command);
        let started = command.spawn().and_then(|mut child| {
            let missing = || io::Error::other("its standard streams are not piped");
            let stdin = child.stdin.take().ok_or_else(missing)?;
            let stdout = child.stdout.take().ok_or_else(missing)?;
            Ok((WorkerControl::of(child)?, stdin, stdout))
        });
        let (control, stdin, stdout) = started.map_err(|source| ProcessError::Start {
            program: program.clone(),
            source,
        })?;
        Ok(WorkerProcess {
            requests: Requests(stdin),
            ear: Ear {
                lines: Lines::new(BufReader::new(stdout)),
                control: control.clone(),
            },
            control,
        })
    }

    /// The handle that freezes, thaws and kills.
    pub fn control(&self) -> WorkerControl {
        self.control.clone()
    }

    /// See [`Requests::send`].
    ///
    /// # Errors
    /// Where the worker does not read any more.
    pub async fn send(&mut self, request: &Request) -> Result<(), ProcessError> {
        self.requests.send(request).await
    }

    /// See [`Ear::next`].
    pub async fn next(&mut self) -> Heard {
        self.ear.next().await
    }

    /// The parts, for tasks that do not wait for each other.
    pub fn into_parts(self) -> (WorkerControl, Requests, Ear) {
        (self.control, self.requests, self.ear)
    }
}

/// The end at which requests are written.
pub struct Requests(ChildStdin);

impl Requests {
    /// Writes one request.
    ///
    /// # Errors
    /// Where the worker does not read any more.
    pub async fn send(&mut self, request: &Request) -> Result<(), ProcessError> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| ProcessError::Send(io::Error::other(error)))?;
        line.push(b'\n');
        let sent = async {
            self.0.write_all(&line).await?;
            self.0.flush().await
        };
        sent.await.map_err(ProcessError::Send)
    }
}

/// The end at which the worker is heard.
pub struct Ear {
    lines: Lines<BufReader<ChildStdout>>,
    control: WorkerControl,
}

impl Ear {
    /// Waits for the next thing that the worker says or does; [`Heard::Exited`] comes last, and
    /// again whenever it is called after that. Cancel-safe.
    pub async fn next(&mut self) -> Heard {
        let line = tokio::select! {
            biased;
            line = self.lines.next() => line,
            how = self.control.exited() => {
                // A process that it left behind may hold the pipe open, so the wait is limited.
                match tokio::time::timeout(LAST_WORDS, self.lines.next()).await {
                    Ok(Ok(Some(line))) => Ok(Some(line)),
                    _ => return Heard::Exited(how),
                }
            }
        };
        match line {
            Ok(Some(Line::Whole(text))) => match serde_json::from_str(&text) {
                Ok(said) => Heard::Said(said),
                Err(_) => Heard::Garbage(text.chars().take(GARBAGE_KEPT).collect()),
            },
            Ok(Some(Line::TooLong(start))) => {
                Heard::Garbage(start.chars().take(GARBAGE_KEPT).collect())
            }
            Ok(None) | Err(_) => self.fell_silent().await,
        }
    }

    /// Its output has ended. Without one it is no worker any more, whether it exits or not.
    async fn fell_silent(&self) -> Heard {
        if let Ok(how) = tokio::time::timeout(EXIT_GRACE, self.control.exited()).await {
            return Heard::Exited(how);
        }
        let how = self.control.kill().await;
        Heard::Exited(format!("closed its standard output, and was {how}"))
    }
}
