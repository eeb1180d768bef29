//! Commands that the backend sends to a server directly, not through the proxy.

use std::net::SocketAddr;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisError, RedisResult};
use tokio::time::timeout;

use super::error::not_ready;
use super::external_fault::short;
use super::{BackendError, Password, ServerAddress};
use crate::clock::wall_clock;
use crate::record;

/// How long to wait for an answer. A server on loopback that is not frozen answers in less than a millisecond.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a replica may take to load its master's (empty) data set.
const LINK_PATIENCE: Duration = Duration::from_secs(20);

/// How long a restarted server may take to load its data.
const LOADING_PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two requests to a server that is not ready.
const POLL: Duration = Duration::from_millis(5);

/// Sends one command on a separate connection, and returns the reply.
pub(super) async fn ask<T: FromRedisValue>(
    address: ServerAddress,
    words: &[&str],
    question: &'static str,
) -> Result<T, BackendError> {
    let reply = address.query(words, ANSWER_PATIENCE).await;
    reply.map_err(unanswered(address, question))
}

/// Opens a connection. In an error, `question` describes the purpose of the connection.
pub(super) async fn connection(
    address: ServerAddress,
    question: &'static str,
) -> Result<MultiplexedConnection, BackendError> {
    let connected = address.connection(ANSWER_PATIENCE).await;
    connected.map_err(unanswered(address, question))
}

pub(super) fn unanswered(
    address: ServerAddress,
    question: &'static str,
) -> impl FnOnce(RedisError) -> BackendError {
    move |source| BackendError::Unanswered {
        address,
        question,
        source,
    }
}

/// Queries the server's name and version. For compatibility, Valkey reports the name Redis, and its real name in
/// another field.
pub(super) async fn identify(address: ServerAddress) -> Result<record::Redis, BackendError> {
    let info: String = ask(address, &["INFO", "server"], "INFO server").await?;
    Ok(name_and_version(&info))
}

fn name_and_version(info: &str) -> record::Redis {
    let field = |name: &str| {
        let mut fields = info.lines().filter_map(|line| line.trim().split_once(':'));
        let found = fields.find(|(key, _)| *key == name);
        found.map(|(_, value)| short(value))
    };
    match (field("server_name"), field("valkey_version")) {
        (_, Some(version)) => record::Redis {
            server: "valkey".into(),
            version,
        },
        (name, None) => record::Redis {
            server: name.unwrap_or_else(|| "redis".into()),
            version: field("redis_version").unwrap_or_else(|| "unknown".into()),
        },
    }
}

/// Makes a server a replica of another one, and waits until the link is up and the first synchronisation is complete.
/// `master` is the address at which the replica reaches the master.
pub(super) async fn follow(replica: ServerAddress, master: SocketAddr) -> Result<(), BackendError> {
    let mut connection = connection(replica, "REPLICAOF").await?;
    let () = redis::cmd("REPLICAOF")
        .arg(master.ip().to_string())
        .arg(master.port())
        .query_async(&mut connection)
        .await
        .map_err(unanswered(replica, "REPLICAOF"))?;
    let mut seen = String::new();
    let linked = async {
        loop {
            seen = link_state(&mut connection).await?;
            if seen == "connected" {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match timeout(LINK_PATIENCE, linked).await {
        Ok(result) => result.map_err(unanswered(replica, "ROLE")),
        Err(_) => Err(BackendError::NotInTime {
            what: format!("the replica at {replica} did not reach its master"),
            after: LINK_PATIENCE,
            seen: format!(": {seen}"),
        }),
    }
}

/// Sets the user and password that the server sends to its master.
pub(super) async fn follow_as(
    server: ServerAddress,
    user: &str,
    password: Password,
) -> Result<(), BackendError> {
    const QUESTION: &str = "CONFIG SET masterauth";
    let mut connection = connection(server, QUESTION).await?;
    let password = password.text();
    // Before version 7.0, Redis sets only one parameter per command.
    for (name, value) in [("masteruser", user), ("masterauth", &password)] {
        let mut command = redis::cmd("CONFIG");
        command.arg("SET").arg(name).arg(value);
        let set: RedisResult<()> = command.query_async(&mut connection).await;
        set.map_err(unanswered(server, QUESTION))?;
    }
    Ok(())
}

/// Returns `true` while the server is a replica, with or without a link to its master, and `false` after its promotion.
pub(super) async fn is_replica(address: ServerAddress) -> Result<bool, BackendError> {
    let mut connection = connection(address, "ROLE").await?;
    let state = link_state(&mut connection).await;
    Ok(state.map_err(unanswered(address, "ROLE"))? != "master")
}

/// Returns `master`, or the state of a replica's link, which eventually becomes `connected`.
async fn link_state(connection: &mut MultiplexedConnection) -> RedisResult<String> {
    let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(connection).await?;
    let field = |at: usize| -> RedisResult<String> {
        Ok(match role.get(at) {
            Some(value) => redis::from_redis_value_ref(value)?,
            None => String::new(),
        })
    };
    match field(0)?.as_str() {
        "slave" => field(3),
        other => Ok(other.to_owned()),
    }
}

/// Returns how many nanoseconds the server's wall clock is ahead of the clock of this process. The error is at most
/// half of the time that the reply takes.
pub(super) async fn lead_of_wall_clock(address: ServerAddress) -> Result<i64, BackendError> {
    let exchange = async {
        let mut connection = address.connection(ANSWER_PATIENCE).await?;
        let before = wall_clock();
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query_async(&mut connection).await?;
        let theirs = Duration::from_secs(seconds) + Duration::from_micros(micros);
        Ok((theirs, (before + wall_clock()) / 2))
    };
    let (theirs, ours) = exchange.await.map_err(unanswered(address, "TIME"))?;
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    Ok(nanos(theirs).saturating_sub(nanos(ours)))
}

/// Waits until the server answers PING. This is needed because the engine's port forwarding may accept connections
/// before the server listens, and because a server that is loading its data refuses every command.
pub(super) async fn await_answer(node: &str, address: ServerAddress) -> Result<(), BackendError> {
    let answered = async {
        let ping = async || address.query::<String>(&["PING"], ANSWER_PATIENCE).await;
        while ping().await.is_err() {
            tokio::time::sleep(POLL).await;
        }
    };
    timeout(LOADING_PATIENCE, answered)
        .await
        .map_err(|_| not_ready(node, LOADING_PATIENCE, "it does not answer PING"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_version_are_those_of_the_server_and_short() {
        let redis =
            name_and_version("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n");
        assert_eq!((&*redis.server, &*redis.version), ("redis", "7.0.15"));
        let valkey = name_and_version(
            "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n",
        );
        assert_eq!((&*valkey.server, &*valkey.version), ("valkey", "8.0.1"));
        let long = name_and_version(&format!("redis_version:{}", "7".repeat(5_000_000)));
        assert!(long.version.chars().count() < 1_000);
        let unknown = name_and_version("");
        assert_eq!((&*unknown.server, &*unknown.version), ("redis", "unknown"));
    }
}
