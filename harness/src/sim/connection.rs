//! A simulated connection to one node, as a subject sees it: redis-rs's `ConnectionLike`.
//!
//! It behaves like the reconnecting connection of the real workers: a command fails after the
//! timeout, an unanswered command makes the connection suspect, and the next command opens
//! another one.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::args::Args;
use super::port::{Lost, Port};
use crate::clock::Clock;
use crate::model::Reply;
use crate::wire::LinkId;

/// After a refused attempt a client waits so long before the next one, as the real workers do.
const PAUSE: Duration = Duration::from_millis(10);

/// One client's line to one node; clones share the connection.
#[derive(Clone)]
pub(super) struct SimConnection(Arc<Line>);

struct Line {
    port: Port,
    /// As the port knows it.
    number: usize,
    link: LinkId,
    timeout: Duration,
    /// The network's.
    clock: Clock,
}

impl SimConnection {
    pub(super) fn new(port: Port, link: LinkId, timeout: Duration, clock: Clock) -> Self {
        SimConnection(Arc::new(Line {
            port,
            number: port.line(),
            link,
            timeout,
            clock,
        }))
    }
}

impl Line {
    /// Until when an answer to what is asked now is waited for.
    fn deadline_ns(&self) -> u64 {
        let timeout_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        self.clock.now_ns().saturating_add(timeout_ns)
    }

    /// One command and its answer.
    async fn ask(&self, cmd: &Cmd) -> RedisResult<Value> {
        let deadline_ns = self.deadline_ns();
        let suspect = self.connected(deadline_ns).await?;
        let write = |args: &mut Args| write_words(args, cmd);
        let answer = self.port.ask(suspect.conn, self.link, deadline_ns, write);
        let value = self.value(answer.await)?;
        suspect.clear();
        value.extract_error()
    }

    /// Commands in one go, and their answers in order.
    async fn ask_all(&self, commands: Vec<Args>) -> RedisResult<Vec<Value>> {
        let deadline_ns = self.deadline_ns();
        let suspect = self.connected(deadline_ns).await?;
        let ask = |command| {
            let write = |args: &mut Args| *args = command;
            self.port.ask(suspect.conn, self.link, deadline_ns, write)
        };
        let answers: Vec<_> = commands.into_iter().map(ask).collect();
        let answers = join_all(answers).await.into_iter();
        let values: RedisResult<Vec<Value>> = answers.map(|answer| self.value(answer)).collect();
        let values = values?;
        suspect.clear();
        Ok(values)
    }

    /// The connection, opened if there is none; suspect until everything is answered.
    async fn connected(&self, deadline_ns: u64) -> RedisResult<Suspect<'_>> {
        let conn = loop {
            match self.port.connection(self.number) {
                Ok(conn) => break conn,
                Err(refused_ns) => self.pause(refused_ns, deadline_ns).await?,
            }
        };
        Ok(Suspect {
            line: self,
            conn,
            cleared: false,
        })
    }

    /// After a refusal, before another attempt.
    async fn pause(&self, refused_ns: u64, deadline_ns: u64) -> RedisResult<()> {
        let pause = (Duration::from_nanos(refused_ns) + PAUSE).saturating_sub(self.clock.elapsed());
        // Boxed, because few commands need it, and all would have room for it.
        Box::pin(tokio::time::sleep(pause)).await;
        if self.clock.now_ns() >= deadline_ns {
            return Err(self.timed_out());
        }
        Ok(())
    }

    fn value(&self, answer: Result<Reply, Lost>) -> RedisResult<Value> {
        match answer {
            Ok(reply) => Ok(reply.into_value()),
            Err(Lost::Refused) => {
                self.port.note_refusal(self.number, self.clock.now_ns());
                Err(io(ErrorKind::ConnectionRefused, "connection refused"))
            }
            Err(Lost::Full) => {
                // redis-rs sees a connection that ends before its own first words are answered.
                self.port.note_refusal(self.number, self.clock.now_ns());
                let why = "ERR max number of clients reached";
                Err(io(ErrorKind::ConnectionAborted, why))
            }
            Err(Lost::Reset) => Err(io(ErrorKind::ConnectionReset, "connection reset")),
            Err(Lost::TimedOut) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> RedisError {
        io(
            ErrorKind::TimedOut,
            format!("no answer within {:?}", self.timeout),
        )
    }
}

fn write_words(args: &mut Args, cmd: &Cmd) {
    for arg in cmd.args_iter() {
        match arg {
            Arg::Simple(bytes) => args.push(bytes),
            // The place of a SCAN cursor that begins at zero.
            _ => args.push(b"0"),
        }
    }
}

fn words(cmd: &Cmd) -> Args {
    let mut args = Args::default();
    write_words(&mut args, cmd);
    args
}

fn io(kind: ErrorKind, text: impl Into<String>) -> RedisError {
    RedisError::from(Error::new(kind, text.into()))
}

/// While an answer is outstanding the connection is suspect; unless cleared it is closed, also
/// when the caller drops the command.
struct Suspect<'a> {
    line: &'a Line,
    conn: u64,
    cleared: bool,
}

impl Suspect<'_> {
    fn clear(mut self) {
        self.cleared = true;
    }
}

impl Drop for Suspect<'_> {
    fn drop(&mut self) {
        if self.cleared {
            return;
        }
        self.line.port.hang_up(self.line.number, Some(self.conn));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.port.hang_up(self.number, None);
    }
}

fn word(text: &str) -> Args {
    let mut args = Args::default();
    args.push(text.as_bytes());
    args
}

impl ConnectionLike for SimConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.0.ask(cmd))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let mut commands: Vec<Args> = pipeline.cmd_iter().map(words).collect();
        // redis-rs asks for the reply of EXEC alone when the pipeline is a transaction, and the
        // replies before it are those of MULTI and of each queued command.
        let atomic = offset == commands.len() + 1;
        if atomic {
            commands.insert(0, word("MULTI"));
            commands.push(word("EXEC"));
        }
        Box::pin(async move {
            let mut values = self.0.ask_all(commands).await?;
            // A command that was refused while it was queued: EXEC says that nothing was done.
            let refused = |value: &Value| matches!(value, Value::ServerError(_));
            if atomic && values.iter().take(offset).any(refused) {
                values.pop().map(Value::extract_error).transpose()?;
            }
            Ok(values.into_iter().skip(offset).take(count).collect())
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}
