//! The keys of the server, and how many connections it has accepted.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};

use super::evidence::KeysSeen;
use crate::clock::Clock;
use crate::servers::ServerAddress;

/// Opens the connection of the check itself.
///
/// # Errors
/// The server does not answer.
pub(super) async fn connect(address: ServerAddress) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(ANSWER_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN));
    address
        .client()?
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// A server of ours on loopback answers at once.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Looks at all keys. There are few: the server is ours.
///
/// # Errors
/// The server does not answer.
pub(super) async fn look(
    connection: &mut MultiplexedConnection,
    clock: &Clock,
) -> RedisResult<KeysSeen> {
    // `KEYS` of a key that ends meanwhile is not in the answer of `PTTL`: that is -2.
    let names: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query_async(connection).await?;
    let mut seen = KeysSeen::default();
    for name in names {
        let ttl_ms: i64 = redis::cmd("PTTL")
            .arg(&name)
            .query_async(connection)
            .await?;
        if ttl_ms != -2 {
            let name = String::from_utf8_lossy(&name).into_owned();
            seen.ttl_ms.insert(name, ttl_ms);
        }
    }
    seen.at = clock.elapsed();
    let stats: String = redis::cmd("INFO")
        .arg("stats")
        .query_async(connection)
        .await?;
    let accepted = stats
        .lines()
        .find_map(|line| line.strip_prefix("total_connections_received:"));
    seen.connections = accepted
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or_default();
    Ok(seen)
}

/// Removes keys.
///
/// # Errors
/// The server does not answer.
pub(super) async fn remove(
    connection: &mut MultiplexedConnection,
    keys: impl IntoIterator<Item = &str>,
) -> RedisResult<()> {
    for key in keys {
        let _: i64 = redis::cmd("DEL").arg(key).query_async(connection).await?;
    }
    Ok(())
}
