//! What a server has after a start: all its keys, read at once.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use redis::Value;

use crate::account::{StoredKey, StoredValue};

/// Reads the time and all keys of the first database in one step.
const READ_ALL: &str = "
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local value = {}
  if kind == 'string' then value = {redis.call('GET', key)}
  elseif kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  all[#all + 1] = {key, kind, redis.call('PTTL', key), value}
end
return {redis.call('TIME'), all}";

/// A server that does not answer within this time is frozen or gone.
const ANSWER: Duration = Duration::from_secs(2);

/// Name, type, remaining life, and value.
type Row = (Vec<u8>, String, i64, Vec<Value>);

/// What was read.
pub(super) struct Stored {
    pub(super) keys: Vec<StoredKey>,
    /// What the server's wall clock showed: microseconds since the Unix epoch.
    pub(super) wall_us: i64,
}

/// Reads what a server has.
///
/// # Errors
/// It does not answer, or refuses.
pub(super) async fn read(address: SocketAddr) -> io::Result<Stored> {
    let asked = async {
        let client = redis::Client::open(format!("redis://{address}"))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut script = redis::cmd("EVAL");
        script.arg(READ_ALL).arg(0);
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
            value: stored(&kind, value.iter().map(bytes).collect()),
            ttl_ms,
        });
    Ok(Stored {
        keys: keys.collect(),
        wall_us,
    })
}

fn bytes(value: &Value) -> Vec<u8> {
    redis::from_redis_value_ref(value).unwrap_or_default()
}

fn stored(kind: &str, mut words: Vec<Vec<u8>>) -> StoredValue {
    match kind {
        "string" => StoredValue::String(words.pop().unwrap_or_default()),
        "hash" => StoredValue::Made("HSET", words),
        "list" => StoredValue::Made("RPUSH", words),
        "set" => StoredValue::Made("SADD", words),
        _ => {
            // Read as member and score, written as score and member.
            let pairs = words.chunks_exact_mut(2);
            pairs.for_each(|pair| pair.swap(0, 1));
            StoredValue::Made("ZADD", words)
        }
    }
}
