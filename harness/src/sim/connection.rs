//! A simulated connection to one node. Locks use it through redis-rs's trait `ConnectionLike`.
//!
//! The connection behaves like the reconnecting connection of a real worker. A command fails after the timeout. A
//! connection with an unanswered command is closed, and the next command opens a new connection.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::args::Args;
use super::client_endpoint::{ClientEndpoint, OpenInbox, ReplyFuture};
use super::submission_queue::RequestError;
use crate::clock::Clock;
use crate::model::Reply;
use crate::proxy::LinkId;

/// Pause of a client after a refused connection attempt, as in the real workers.
const PAUSE: Duration = Duration::from_millis(10);

/// One client's channel to one node; clones share the connection.
#[derive(Clone)]
pub(super) struct SimConnection(Arc<ClientChannel>);

struct ClientChannel {
    endpoint: ClientEndpoint,
    /// The channel's number at the endpoint.
    number: usize,
    link: LinkId,
    timeout: Duration,
    /// The network's clock.
    clock: Clock,
}

impl SimConnection {
    pub(super) fn new(
        endpoint: ClientEndpoint,
        link: LinkId,
        timeout: Duration,
        clock: Clock,
    ) -> Self {
        SimConnection(Arc::new(ClientChannel {
            endpoint,
            number: endpoint.new_channel(),
            link,
            timeout,
            clock,
        }))
    }

    /// Subscribes to a channel, and returns the inbox for its messages.
    pub(super) async fn subscribe(&self, channel: &str) -> RedisResult<OpenInbox> {
        let (channel_to_node, deadline_ns) = (&self.0, self.0.deadline_ns());
        let guard = channel_to_node.connected(deadline_ns).await?;
        // The inbox must exist before the server can publish anything to it.
        let inbox = OpenInbox::new(channel_to_node.endpoint, guard.conn);
        let write = |args: &mut Args| {
            args.push(b"SUBSCRIBE");
            args.push(channel.as_bytes());
        };
        let reply = channel_to_node.submit(&guard, deadline_ns, write);
        channel_to_node.answered(guard, reply.await)?;
        Ok(inbox)
    }
}

impl ClientChannel {
    /// Returns the time at which a request that is sent now times out.
    fn deadline_ns(&self) -> u64 {
        let timeout_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        self.clock.now_ns().saturating_add(timeout_ns)
    }

    async fn request(&self, cmd: &Cmd) -> RedisResult<Value> {
        let deadline_ns = self.deadline_ns();
        let guard = self.connected(deadline_ns).await?;
        let reply = self.submit(&guard, deadline_ns, |args| write_words(args, cmd));
        self.answered(guard, reply.await)
    }

    fn submit(
        &self,
        guard: &CloseOnDrop<'_>,
        deadline_ns: u64,
        write: impl FnOnce(&mut Args),
    ) -> ReplyFuture {
        (self.endpoint).submit(guard.conn, self.link, deadline_ns, write)
    }

    /// Converts a reply, and closes the connection if there is no reply.
    fn answered(
        &self,
        guard: CloseOnDrop<'_>,
        reply: Result<Reply, RequestError>,
    ) -> RedisResult<Value> {
        let value = self.value(reply)?;
        guard.disarm();
        match value {
            // Fast path: nearly all replies are of these kinds, which cannot contain an error.
            Value::Int(_) | Value::BulkString(_) | Value::Okay | Value::Nil => Ok(value),
            value => value.extract_error(),
        }
    }

    /// Sends commands together, and returns their replies in the same order.
    async fn request_all(&self, commands: Vec<Args>) -> RedisResult<Vec<Value>> {
        let deadline_ns = self.deadline_ns();
        let guard = self.connected(deadline_ns).await?;
        let submit = |command| {
            let write = |args: &mut Args| *args = command;
            self.submit(&guard, deadline_ns, write)
        };
        let replies: Vec<_> = commands.into_iter().map(submit).collect();
        let replies = join_all(replies).await.into_iter();
        let values: RedisResult<Vec<Value>> = replies.map(|reply| self.value(reply)).collect();
        let values = values?;
        guard.disarm();
        Ok(values)
    }

    /// Returns the channel's connection, and opens one if the channel has none. The returned guard closes the
    /// connection unless all commands are answered.
    async fn connected(&self, deadline_ns: u64) -> RedisResult<CloseOnDrop<'_>> {
        let conn = loop {
            match self.endpoint.connection(self.number) {
                Ok(conn) => break conn,
                Err(refused_ns) => self.pause(refused_ns, deadline_ns).await?,
            }
        };
        Ok(CloseOnDrop {
            channel: self,
            conn,
        })
    }

    /// Waits until [`PAUSE`] has passed since the refused attempt.
    async fn pause(&self, refused_ns: u64, deadline_ns: u64) -> RedisResult<()> {
        let pause = (Duration::from_nanos(refused_ns) + PAUSE).saturating_sub(self.clock.elapsed());
        // The sleep is boxed because few commands need it, and inline it would enlarge the future of every command.
        Box::pin(tokio::time::sleep(pause)).await;
        if self.clock.now_ns() >= deadline_ns {
            return Err(self.timed_out());
        }
        Ok(())
    }

    fn value(&self, reply: Result<Reply, RequestError>) -> RedisResult<Value> {
        match reply {
            Ok(reply) => Ok(reply.into_value()),
            Err(RequestError::Refused) => {
                self.endpoint
                    .record_refusal(self.number, self.clock.now_ns());
                Err(io(ErrorKind::ConnectionRefused, "connection refused"))
            }
            Err(RequestError::TooManyClients) => {
                // With a real server, redis-rs fails here because the connection is closed before the handshake is
                // answered.
                self.endpoint
                    .record_refusal(self.number, self.clock.now_ns());
                let why = "ERR max number of clients reached";
                Err(io(ErrorKind::ConnectionAborted, why))
            }
            Err(RequestError::Reset) => Err(io(ErrorKind::ConnectionReset, "connection reset")),
            Err(RequestError::TimedOut) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> RedisError {
        let why = format!("no answer within {:?}", self.timeout);
        io(ErrorKind::TimedOut, why)
    }
}

fn write_words(args: &mut Args, cmd: &Cmd) {
    for arg in cmd.args_iter() {
        match arg {
            Arg::Simple(bytes) => args.push(bytes),
            // The initial cursor of a SCAN, which is always zero.
            _ => args.push(b"0"),
        }
    }
}

fn words(cmd: &Cmd) -> Args {
    let mut args = Args::default();
    write_words(&mut args, cmd);
    args
}

pub(super) fn io(kind: ErrorKind, text: impl Into<String>) -> RedisError {
    RedisError::from(Error::new(kind, text.into()))
}

/// Closes a connection if the guard is dropped before [`CloseOnDrop::disarm`], because the caller may drop a command at
/// any time. Without this guard, the next command would receive the outstanding reply.
struct CloseOnDrop<'a> {
    channel: &'a ClientChannel,
    conn: u64,
}

impl CloseOnDrop<'_> {
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.channel
            .endpoint
            .close(self.channel.number, Some(self.conn));
    }
}

impl Drop for ClientChannel {
    fn drop(&mut self) {
        self.endpoint.close(self.number, None);
    }
}

fn word(text: &str) -> Args {
    let mut args = Args::default();
    args.push(text.as_bytes());
    args
}

impl ConnectionLike for SimConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.0.request(cmd))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let mut commands: Vec<Args> = pipeline.cmd_iter().map(words).collect();
        // For a transaction, redis-rs expects only the reply to EXEC. The replies to MULTI and to each queued command
        // come before it.
        let atomic = offset == commands.len() + 1;
        if atomic {
            commands.insert(0, word("MULTI"));
            commands.push(word("EXEC"));
        }
        Box::pin(async move {
            let mut values = self.0.request_all(commands).await?;
            // If a queued command was refused, the reply to EXEC is an error and no command was executed.
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
