//! What a server has after a start: all its keys, read at once.

use std::io;
use std::net::SocketAddr;

use redis::Value;

use crate::account::{StoredKey, StoredValue};

/// Reads all keys of the first database in one step.
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
return all";

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
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await?;
        let all: Vec<(Vec<u8>, String, i64, Vec<Value>)> = redis::cmd("EVAL")
            .arg(READ_ALL)
            .arg(0)
            .query_async(&mut connection)
            .await?;
        Ok::<_, redis::RedisError>((seconds * 1_000_000 + micros, all))
    };
    let (wall_us, all) = asked.await.map_err(io::Error::other)?;
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
