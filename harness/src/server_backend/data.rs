//! Changes to the data and settings of servers: deletion of keys and scripts, and exhaustion of memory or connections.
//! The commands go directly to the server, not through the proxy.

use std::collections::HashMap;
use std::time::Duration;

use picklock_scenarios::Resource;
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisError, RedisResult, Value};
use tokio::sync::Mutex;

use super::{ServerBackend, refused};
use crate::backend::{Data, DataChange, Refusal, keys_to_evict};
use crate::servers::ServerAddress;

/// How long to wait for a server's answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Changes the data and settings of a run's servers.
#[derive(Default)]
pub(super) struct Administrator {
    /// The servers with an exhausted resource. The mutex serializes all changes, because settings that were read must
    /// not change before they are restored.
    servers: Mutex<HashMap<ServerAddress, ExhaustedServer>>,
}

/// A server with an exhausted resource. The connection to it stays open, because a new connection would be refused, and
/// another client could use the free slot.
struct ExhaustedServer {
    connection: MultiplexedConnection,
    exhaustions: Vec<Exhaustion>,
}

/// A resource that was exhausted, and the original settings.
struct Exhaustion {
    resource: Resource,
    count: u32,
    original: Vec<(&'static str, String)>,
}

/// Returns the settings that exhaust a resource, in the order in which they are set. Redis (7.0) does not accept
/// `maxclients` below 1, and counts all open connections, including the one of this process. A new connection therefore
/// gets `ERR max number of clients reached` and is closed; open ones remain.
fn settings(resource: Resource) -> &'static [(&'static str, &'static str)] {
    match resource {
        Resource::Memory => &[("maxmemory-policy", "noeviction"), ("maxmemory", "1")],
        Resource::Connections => &[("maxclients", "1")],
    }
}

impl Administrator {
    /// Changes a server's data or settings. Returns the number of keys that an eviction removed.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or refuses.
    async fn change(&self, server: ServerAddress, change: &DataChange) -> RedisResult<u64> {
        let mut servers = self.servers.lock().await;
        let result = match change {
            DataChange::Replenish(resource) => replenish(&mut servers, server, *resource).await,
            DataChange::Exhaust(resource) => exhaust(&mut servers, server, *resource).await,
            DataChange::Evict(keys) => {
                let mut connection = connection(&mut servers, server).await?;
                let mut command = redis::cmd("DEL");
                return command.arg(keys).query_async(&mut connection).await;
            }
            DataChange::FlushAll => send(&mut servers, server, &["FLUSHALL"]).await,
            DataChange::FlushScripts => send(&mut servers, server, &["SCRIPT", "FLUSH"]).await,
        };
        result.map(|()| 0)
    }
}

impl Data for ServerBackend {
    async fn change_data(&self, node: usize, change: &DataChange) -> Result<u64, Refusal> {
        let server = self.address(node)?;
        let change = match (change, self.observer(node)) {
            (DataChange::Evict(locks), Some(observer)) => {
                observer.settle().await;
                &DataChange::Evict(keys_to_evict(locks, |lock| observer.keys_of(lock)))
            }
            (change, _) => change,
        };
        let result = self.administrator.change(server, change).await;
        result.map_err(|error| {
            self.record_exhaustion(&format!("node {node} cannot be changed"), &error);
            refused(server, &error)
        })
    }
}

async fn send(
    servers: &mut HashMap<ServerAddress, ExhaustedServer>,
    server: ServerAddress,
    words: &[&str],
) -> RedisResult<()> {
    let mut connection = connection(servers, server).await?;
    let mut command = redis::Cmd::new();
    command.arg(words);
    command.query_async(&mut connection).await
}

async fn exhaust(
    servers: &mut HashMap<ServerAddress, ExhaustedServer>,
    server: ServerAddress,
    resource: Resource,
) -> RedisResult<()> {
    let mut connection = connection(servers, server).await?;
    let exhausted = servers.entry(server).or_insert_with(|| ExhaustedServer {
        connection: connection.clone(),
        exhaustions: Vec::new(),
    });
    let mut exhaustions = exhausted.exhaustions.iter_mut();
    if let Some(exhaustion) = exhaustions.find(|exhaustion| exhaustion.resource == resource) {
        exhaustion.count += 1;
        return Ok(());
    }
    let mut original = Vec::new();
    for (name, _) in settings(resource) {
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg(name);
        let reply: Vec<String> = get.query_async(&mut connection).await?;
        original.push((*name, reply.into_iter().nth(1).unwrap_or_default()));
    }
    set(&mut connection, settings(resource).iter().copied()).await?;
    exhausted.exhaustions.push(Exhaustion {
        resource,
        count: 1,
        original,
    });
    Ok(())
}

/// Restores the original settings once every exhaustion of the resource has been undone. A server that restarted has
/// its initial settings, and its connection is gone.
async fn replenish(
    servers: &mut HashMap<ServerAddress, ExhaustedServer>,
    server: ServerAddress,
    resource: Resource,
) -> RedisResult<()> {
    let Some(exhausted) = servers.get_mut(&server) else {
        return Ok(());
    };
    let exhaustions = &mut exhausted.exhaustions;
    let Some(index) = exhaustions
        .iter()
        .position(|exhaustion| exhaustion.resource == resource)
    else {
        return Ok(());
    };
    exhaustions[index].count -= 1;
    if exhaustions[index].count > 0 {
        return Ok(());
    }
    let exhaustion = exhaustions.swap_remove(index);
    let original = exhaustion.original.iter().rev();
    let settings = original.map(|(name, value)| (*name, value.as_str()));
    let result = set(&mut exhausted.connection, settings).await;
    if exhausted.exhaustions.is_empty() {
        servers.remove(&server);
    }
    match result {
        // A frozen server has received the command, and executes it as soon as it is resumed. A server that is gone
        // needs no command.
        Err(error) if error.is_timeout() || is_gone(&error) => Ok(()),
        result => result,
    }
}

async fn set<'a>(
    connection: &mut MultiplexedConnection,
    settings: impl Iterator<Item = (&'a str, &'a str)>,
) -> RedisResult<()> {
    // Before version 7.0, Redis sets only one parameter per command. All commands are sent together, so that none is
    // lost.
    let mut commands = Pipeline::new();
    for (name, value) in settings {
        commands.cmd("CONFIG").arg("SET").arg(name).arg(value);
    }
    let replies: Vec<Value> = commands.query_async(connection).await?;
    replies
        .into_iter()
        .try_for_each(|value| value.extract_error().map(|_| ()))
}

/// Returns the open connection to an exhausted server if the connection still works, or a new connection.
async fn connection(
    servers: &mut HashMap<ServerAddress, ExhaustedServer>,
    server: ServerAddress,
) -> RedisResult<MultiplexedConnection> {
    if let Some(exhausted) = servers.get(&server) {
        let mut connection = exhausted.connection.clone();
        let pong: RedisResult<()> = redis::cmd("PING").query_async(&mut connection).await;
        match pong {
            Ok(()) => return Ok(connection),
            Err(error) if is_gone(&error) => servers.remove(&server),
            Err(error) => return Err(error),
        };
    }
    server.connection(ANSWER).await
}

/// Returns `true` if the peer is gone.
fn is_gone(error: &RedisError) -> bool {
    error.is_connection_dropped() || error.is_connection_refusal()
}
