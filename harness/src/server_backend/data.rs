//! The data and the settings of servers: deletes keys and scripts, uses up memory or connections.
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

/// A server that does not answer within this time counts as silent.
const ANSWER: Duration = Duration::from_secs(2);

/// Changes the data and settings of a run's servers.
#[derive(Default)]
pub(super) struct Administrator {
    /// One change at a time: settings that were read must not change before they are put back.
    kept: Mutex<HashMap<ServerAddress, Kept>>,
}

/// A connection that is kept while something is used up. With no connections left, a new one would
/// be refused; and while this one stays, no other client takes its place.
struct Kept {
    connection: MultiplexedConnection,
    shortages: Vec<ProxyIncident>,
}

/// Something that is used up, and what the settings were before.
struct ProxyIncident {
    resource: Resource,
    times: u32,
    before: Vec<(&'static str, String)>,
}

/// The settings that make a server run out of something, in the order in which they are set. Redis
/// (7.0) accepts no `maxclients` below one, and counts all open connections, including this one. So
/// every new one gets `ERR max number of clients reached` and is closed, and open ones stay.
fn settings(resource: Resource) -> &'static [(&'static str, &'static str)] {
    match resource {
        Resource::Memory => &[("maxmemory-policy", "noeviction"), ("maxmemory", "1")],
        Resource::Connections => &[("maxclients", "1")],
    }
}

impl Administrator {
    /// Changes a server's data or settings; returns how many keys an eviction removed.
    /// `Err`: the server does not answer, or refuses.
    async fn change(&self, server: ServerAddress, change: &DataChange) -> RedisResult<u64> {
        let mut kept = self.kept.lock().await;
        let done = match change {
            DataChange::Replenish(resource) => replenish(&mut kept, server, *resource).await,
            DataChange::Exhaust(resource) => exhaust(&mut kept, server, *resource).await,
            DataChange::Evict(keys) => {
                let mut connection = connection(&mut kept, server).await?;
                let mut command = redis::cmd("DEL");
                return command.arg(keys).query_async(&mut connection).await;
            }
            DataChange::FlushAll => tell(&mut kept, server, &["FLUSHALL"]).await,
            DataChange::FlushScripts => tell(&mut kept, server, &["SCRIPT", "FLUSH"]).await,
        };
        done.map(|()| 0)
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
        let changed = self.administrator.change(server, change).await;
        changed.map_err(|error| {
            self.record_if_exhausted(&format!("node {node} cannot be changed"), &error);
            refused(server, &error)
        })
    }
}

async fn tell(
    kept: &mut HashMap<ServerAddress, Kept>,
    server: ServerAddress,
    words: &[&str],
) -> RedisResult<()> {
    let mut connection = connection(kept, server).await?;
    let mut command = redis::Cmd::new();
    command.arg(words);
    command.query_async(&mut connection).await
}

async fn exhaust(
    kept: &mut HashMap<ServerAddress, Kept>,
    server: ServerAddress,
    resource: Resource,
) -> RedisResult<()> {
    let mut connection = connection(kept, server).await?;
    let known = kept.entry(server).or_insert_with(|| Kept {
        connection: connection.clone(),
        shortages: Vec::new(),
    });
    let mut shortages = known.shortages.iter_mut();
    if let Some(shortage) = shortages.find(|shortage| shortage.resource == resource) {
        shortage.times += 1;
        return Ok(());
    }
    let set = async {
        let mut before = Vec::new();
        for (name, _) in settings(resource) {
            let mut ask = redis::cmd("CONFIG");
            ask.arg("GET").arg(name);
            let told: Vec<String> = ask.query_async(&mut connection).await?;
            before.push((*name, told.into_iter().nth(1).unwrap_or_default()));
        }
        set(&mut connection, settings(resource).iter().copied()).await?;
        Ok::<_, RedisError>(before)
    };
    let before = set.await?;
    known.shortages.push(ProxyIncident {
        resource,
        times: 1,
        before,
    });
    Ok(())
}

/// A restarted server has its initial settings, and the connection is gone.
async fn replenish(
    kept: &mut HashMap<ServerAddress, Kept>,
    server: ServerAddress,
    resource: Resource,
) -> RedisResult<()> {
    let Some(known) = kept.get_mut(&server) else {
        return Ok(());
    };
    let shortages = &mut known.shortages;
    let Some(index) = shortages.iter().position(|it| it.resource == resource) else {
        return Ok(());
    };
    shortages[index].times -= 1;
    if shortages[index].times > 0 {
        return Ok(());
    }
    let shortage = shortages.swap_remove(index);
    let before = shortage.before.iter().rev();
    let before = before.map(|(name, value)| (*name, value.as_str()));
    let told = set(&mut known.connection, before).await;
    if known.shortages.is_empty() {
        kept.remove(&server);
    }
    match told {
        // A frozen server has the command in its socket, and carries it out as soon as it
        // continues.
        Err(error) if error.is_timeout() || is_gone(&error) => Ok(()),
        told => told,
    }
}

async fn set<'a>(
    connection: &mut MultiplexedConnection,
    settings: impl Iterator<Item = (&'a str, &'a str)>,
) -> RedisResult<()> {
    // Redis before 7.0 sets one at a time. All are sent together, so that none is left out.
    let mut commands = Pipeline::new();
    for (name, value) in settings {
        commands.cmd("CONFIG").arg("SET").arg(name).arg(value);
    }
    let told: Vec<Value> = commands.query_async(connection).await?;
    told.into_iter()
        .try_for_each(|value| value.extract_error().map(|_| ()))
}

/// The connection that is kept, if it still works, or a new one.
async fn connection(
    kept: &mut HashMap<ServerAddress, Kept>,
    server: ServerAddress,
) -> RedisResult<MultiplexedConnection> {
    if let Some(known) = kept.get(&server) {
        let mut connection = known.connection.clone();
        let answered: RedisResult<()> = redis::cmd("PING").query_async(&mut connection).await;
        match answered {
            Ok(()) => return Ok(connection),
            Err(error) if is_gone(&error) => kept.remove(&server),
            Err(error) => return Err(error),
        };
    }
    server.connection(ANSWER).await
}

/// True when the other end is gone.
fn is_gone(error: &RedisError) -> bool {
    error.is_connection_dropped() || error.is_connection_refusal()
}
