//! Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the
//! ends of their leases on the server's clock. A writer that waits keeps new readers out.

mod lock_contract;
mod picklock_adapter;
mod resp_client;
mod small_json;

use std::time::Duration;

use picklock_adapter::{serve_clients, try_for, Failure, Grant, Init, Kind, Lock};
use resp_client::{Reply, RespClient};

const TAKE: &str = "
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if string.sub(ARGV[1], 1, 1) == 'w' then
  if redis.call('ZCARD', KEYS[1]) > 0 then
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)
    return 0
  end
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  if redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
  for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(holder, 1, 1) == 'w' then return 0 end
  end
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1";

#[derive(Clone)]
struct MyReadWriteLock {
    redis: RespClient,
}

impl MyReadWriteLock {
    fn take(
        &self,
        mode: &str,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let token = format!("{mode}:{}", new_token()?);
        let (waiting, ttl_ms) = (format!("{key}:waiting"), ttl.as_millis().to_string());
        let command = ["EVAL", TAKE, "2", key, &waiting, &token, &ttl_ms];
        try_for(wait, || {
            let reply = self.redis.command(&command)?;
            Ok((reply == Reply::Number(1)).then(|| Grant::new(&token)))
        })
    }
}

impl Lock for MyReadWriteLock {
    const KIND: Kind = Kind::Rwlock;
    const CANCELS: bool = true;

    // For a writer.
    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        self.take("w", key, ttl, wait)
    }

    // For a reader.
    fn acquire_shared(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        self.take("r", key, ttl, wait)
    }

    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        let reply = self.redis.command(&["ZREM", key, token])?;
        Ok(Some(reply == Reply::Number(1)))
    }
}

/// Returns random bits of the operating system, as text.
fn new_token() -> Result<String, Failure> {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(uuid.trim().to_owned())
}

fn main() {
    let make_lock = |init: Init| {
        let redis = RespClient::new(&init.nodes[0], init.timeout)?;
        Ok(MyReadWriteLock { redis })
    };
    serve_clients(make_lock, "my-rwlock", "0.1.0", &[]);
}
