//! A connection to one Redis node, which is reopened when it breaks.
//!
//! redis-rs's own `ConnectionManager` is not suitable for a lock under test, for three reasons
//! (found in version 1.8.1; the tests of this module fail with it):
//!
//! - After a command has timed out, it keeps the connection. If the reply was lost rather than late, every later reply
//!   is matched with the wrong command.
//! - It caches the failure of a connection attempt: the next command fails even if the node is back.
//! - While it reconnects, commands wait until all attempts have been made, and the response timeout does not limit this
//!   wait.
//!
//! With Sentinels, redis-rs's own `Sentinel` finds the master whenever a connection is opened: it queries the
//! Sentinels and checks the role of the server that they report. A `READONLY` reply means that the server is no
//! longer a master, so the connection is closed. redis-rs's `SentinelClient` is not used, because it queries the
//! Sentinels before every command.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection, PubSub};
use redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, IntoConnectionInfo, Pipeline,
    RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};

use crate::clock::Clock;

/// Pause after a failed connection attempt: long enough that a client of a dead node does not occupy a core, and
/// short compared with any lease.
const PAUSE: Duration = Duration::from_millis(10);

/// A connection that is opened when a command needs it. Clones share the connection.
#[derive(Clone)]
pub(super) struct Reconnecting(Arc<Shared>);

/// Returns the connection settings for a URL.
pub(super) fn connection_info(url: &str) -> RedisResult<ConnectionInfo> {
    let info = url.into_connection_info()?;
    // The first command that is sent must be the lock's own, not redis-rs's `CLIENT SETINFO`.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    Ok(info.set_redis_settings(settings))
}

/// How the server of a node is found.
pub(super) enum Origin {
    /// A fixed server.
    Server(Client),
    /// The master that Sentinels report.
    Sentinels {
        sentinel: tokio::sync::Mutex<Sentinel>,
        /// The name of the master in the Sentinels' configuration.
        master: String,
        /// Settings of the connection to the master.
        as_master: SentinelNodeConnectionInfo,
    },
}

impl Origin {
    /// Connects to the server itself, or to the master that the Sentinels currently report.
    async fn connect<T>(
        &self,
        connect: impl AsyncFnOnce(&Client) -> RedisResult<T>,
    ) -> RedisResult<T> {
        match self {
            Origin::Server(client) => connect(client).await,
            Origin::Sentinels {
                sentinel,
                master,
                as_master,
            } => {
                // Release the Sentinels before connecting, which can take long, so that other tasks can query them.
                let client = {
                    let mut sentinel = sentinel.lock().await;
                    sentinel.async_master_for(master, Some(as_master)).await?
                };
                connect(&client).await
            }
        }
    }

    async fn open(&self, config: &AsyncConnectionConfig) -> RedisResult<MultiplexedConnection> {
        self.connect(async |client| {
            client
                .get_multiplexed_async_connection_with_config(config)
                .await
        })
        .await
    }

    /// Opens a connection for subscriptions only.
    pub(super) async fn open_for_subscriptions(&self) -> RedisResult<PubSub> {
        self.connect(async |client| client.get_async_pubsub().await)
            .await
    }

    /// Returns `true` if the connection is still usable after this error.
    fn is_usable_after(&self, error: &RedisError) -> bool {
        let demoted = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
        let answered = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
        answered && !(demoted && matches!(self, Origin::Sentinels { .. }))
    }
}

struct Shared {
    origin: Arc<Origin>,
    timeout: Duration,
    clock: Clock,
    live: Mutex<Option<Live>>,
    /// Locked while connecting, so that there is one attempt at a time. The value is the time at which the last attempt
    /// failed.
    connecting: tokio::sync::Mutex<Option<Duration>>,
}

/// A connection that is not known to be broken.
#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    /// Identifies the connection, so that only the broken connection is dropped, and not its successor.
    mark: Arc<()>,
}

impl Reconnecting {
    /// Creates a connection whose commands fail after `timeout`, including the time to connect.
    pub(super) fn new(origin: Arc<Origin>, timeout: Duration) -> Self {
        Reconnecting(Arc::new(Shared {
            origin,
            timeout,
            clock: Clock::start(),
            live: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(None),
        }))
    }

    async fn send<T>(
        &self,
        exchange: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let answered = async {
            let mut live = self.0.connected().await?;
            let suspect = Suspect {
                shared: &self.0,
                mark: Some(live.mark.clone()),
            };
            let answer = exchange(&mut live.connection).await;
            let is_usable = |error: &RedisError| self.0.origin.is_usable_after(error);
            if answer.as_ref().err().is_none_or(is_usable) {
                suspect.clear();
            }
            answer
        };
        within(self.0.timeout, "answer", answered).await
    }
}

/// Waits for `future`, or returns an error that names `what` after `timeout`.
pub(super) async fn within<T>(
    timeout: Duration,
    what: &str,
    future: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    let result = tokio::time::timeout(timeout, future).await;
    result.unwrap_or_else(|_| {
        let why = format!("no {what} within {timeout:?}");
        let late = io::Error::new(io::ErrorKind::TimedOut, why);
        Err(RedisError::from(late))
    })
}

impl Shared {
    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection, and opens it if there is none.
    async fn connected(&self) -> RedisResult<Live> {
        if let Some(live) = self.live().clone() {
            return Ok(live);
        }
        let mut failed_at = self.connecting.lock().await;
        // Another task may have connected in the meantime.
        if let Some(live) = self.live().clone() {
            return Ok(live);
        }
        if let Some(failed_at) = *failed_at {
            let pause = (failed_at + PAUSE).saturating_sub(self.clock.elapsed());
            tokio::time::sleep(pause).await;
        }
        // The caller limits the time for connecting and the command together.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let opened = self.origin.open(&config).await;
        *failed_at = opened.is_err().then(|| self.clock.elapsed());
        let live = Live {
            connection: opened?,
            mark: Arc::new(()),
        };
        *self.live() = Some(live.clone());
        Ok(live)
    }
}

/// Marks a connection as suspect while a reply is outstanding. The connection is dropped unless the mark is cleared,
/// even when the caller drops the command.
struct Suspect<'a> {
    shared: &'a Shared,
    mark: Option<Arc<()>>,
}

impl Suspect<'_> {
    fn clear(mut self) {
        self.mark = None;
    }
}

impl Drop for Suspect<'_> {
    fn drop(&mut self) {
        let Some(mark) = &self.mark else { return };
        let mut live = self.shared.live();
        live.take_if(|live| Arc::ptr_eq(&live.mark, mark));
    }
}

impl ConnectionLike for Reconnecting {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.send(async |connection| connection.send_packed_command(command).await))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(self.send(async move |connection| {
            connection
                .send_packed_commands(pipeline, offset, count)
                .await
        }))
    }

    fn get_db(&self) -> i64 {
        match &*self.0.origin {
            Origin::Server(client) => client.get_connection_info().redis_settings().db(),
            // The URL of a node with Sentinels always selects database 0.
            Origin::Sentinels { .. } => 0,
        }
    }
}
