//! What a server has after a start: all its keys, read at once.

use std::io;
use std::time::Duration;

use redis::Value;
use tokio::net::TcpStream;

use crate::monitor_replay::{StoredKey, StoredValue};
use crate::proxy::is_resource_exhaustion;
use crate::servers::ServerAddress;

/// A server that does not answer within this time is frozen or gone.
pub(super) const ANSWER: Duration = Duration::from_secs(2);

/// Name, type, remaining life, and value.
type Row = (Vec<u8>, String, i64, Vec<Value>);

/// What was read.
pub(super) struct Stored {
    pub(super) keys: Vec<StoredKey>,
    /// What the server's wall clock showed: microseconds since the Unix epoch.
    pub(super) wall_us: i64,
}

/// What came of a look at a server's keys.
pub(super) enum KeyInspection {
    /// It has these.
    Keys(Stored),
    /// It is not there.
    Gone,
    /// It is there, and does not answer.
    Frozen,
    /// It refuses, or we could not ask: why, in words.
    Failed(String),
}

/// Looks at what a server has: of these keys, or of all where there are none.
pub(super) async fn look(address: ServerAddress, keys: &[Vec<u8>]) -> KeyInspection {
    let error = match read(address, keys).await {
        Ok(stored) => return KeyInspection::Keys(stored),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::TimedOut {
        return KeyInspection::Frozen;
    }
    // The error does not say whether there is a server.
    match TcpStream::connect(address.socket()).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => KeyInspection::Gone,
        Err(error) if is_resource_exhaustion(&error) => {
            KeyInspection::Failed(format!("the observer ran short: {error}"))
        }
        _ => KeyInspection::Failed(error.to_string()),
    }
}

/// Reads what a server has: of these keys, or of all where there are none.
/// `Err`: it does not answer, or refuses.
pub(super) async fn read(address: ServerAddress, keys: &[Vec<u8>]) -> io::Result<Stored> {
    let asked = async {
        let mut script = redis::cmd("EVAL");
        script.arg(StoredKey::READ_ALL).arg(keys.len()).arg(keys);
        let mut connection = address.connection(ANSWER).await?;
        script.query_async(&mut connection).await
    };
    let asked = tokio::time::timeout(ANSWER, asked).await;
    let read: redis::RedisResult<((i64, i64), Vec<Row>)> =
        asked.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    let ((seconds, micros), all) = read.map_err(io::Error::other)?;
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

/// How many keys a server has evicted since it has started; `None`: it does not say.
pub(super) async fn evicted(address: ServerAddress) -> Option<u64> {
    let asked = address.query::<String>(&["INFO", "stats"], ANSWER);
    let info = tokio::time::timeout(ANSWER, asked).await.ok()?.ok()?;
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let (_, count) = fields.find(|(name, _)| *name == "evicted_keys")?;
    count.trim().parse().ok()
}

fn bytes(value: &Value) -> Vec<u8> {
    redis::from_redis_value_ref(value).unwrap_or_default()
}
