//! Reads all keys of a server at once.

use std::io;
use std::time::Duration;

use redis::Value;
use tokio::net::TcpStream;

use crate::monitor_replay::{StoredKey, StoredValue};
use crate::proxy::is_resource_exhaustion;
use crate::servers::ServerAddress;

/// How long to wait for an answer. A server that takes longer is frozen or gone.
pub(super) const ANSWER: Duration = Duration::from_secs(2);

/// Name, type, remaining lifetime in milliseconds, and value of a key.
type Row = (Vec<u8>, String, i64, Vec<Value>);

/// The keys of a server at one time.
pub(super) struct Stored {
    pub(super) keys: Vec<StoredKey>,
    /// Wall clock of the server, in microseconds since the Unix epoch.
    pub(super) wall_us: i64,
}

/// Result of reading a server's keys.
pub(super) enum KeyInspection {
    /// The keys.
    Keys(Stored),
    /// The server is gone.
    Gone,
    /// The server exists but does not answer.
    Frozen,
    /// The server refuses, or cannot be reached from here. Contains the reason.
    Failed(String),
}

/// Reads these keys of a server, or all if `keys` is empty.
pub(super) async fn inspect(address: ServerAddress, keys: &[Vec<u8>]) -> KeyInspection {
    let error = match read(address, keys).await {
        Ok(stored) => return KeyInspection::Keys(stored),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::TimedOut {
        return KeyInspection::Frozen;
    }
    // The error does not show whether the server exists.
    match TcpStream::connect(address.socket()).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => KeyInspection::Gone,
        Err(error) if is_resource_exhaustion(&error) => {
            KeyInspection::Failed(format!("the observer ran out of a resource: {error}"))
        }
        _ => KeyInspection::Failed(error.to_string()),
    }
}

/// Reads these keys of a server, or all if `keys` is empty.
///
/// # Errors
/// Returns an error if the server does not answer, or refuses.
pub(super) async fn read(address: ServerAddress, keys: &[Vec<u8>]) -> io::Result<Stored> {
    let query = async {
        let mut script = redis::cmd("EVAL");
        script.arg(StoredKey::READ_ALL).arg(keys.len()).arg(keys);
        let mut connection = address.connection(ANSWER).await?;
        script.query_async(&mut connection).await
    };
    let reply: redis::RedisResult<((i64, i64), Vec<Row>)> = tokio::time::timeout(ANSWER, query)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    let ((seconds, micros), all) = reply.map_err(io::Error::other)?;
    let wall_us = seconds.saturating_mul(1_000_000).saturating_add(micros);
    let keys = all
        .into_iter()
        .map(|(name, kind, ttl_ms, value)| StoredKey {
            name,
            value: StoredValue::parse(&kind, value.iter().map(bytes).collect()),
            ttl_ms,
        });
    Ok(Stored {
        keys: keys.collect(),
        wall_us,
    })
}

/// Returns the number of keys that a server has evicted since its start, or `None` if it does not report it.
pub(super) async fn evicted(address: ServerAddress) -> Option<u64> {
    let query = address.query::<String>(&["INFO", "stats"], ANSWER);
    let info = tokio::time::timeout(ANSWER, query).await.ok()?.ok()?;
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let (_, count) = fields.find(|(name, _)| *name == "evicted_keys")?;
    count.trim().parse().ok()
}

fn bytes(value: &Value) -> Vec<u8> {
    redis::from_redis_value_ref(value).unwrap_or_default()
}
