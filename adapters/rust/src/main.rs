//! Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
//! before it deletes or extends the key.

mod lock_contract;
mod picklock_adapter;
mod resp_client;
mod small_json;

use std::time::Duration;

use picklock_adapter::{serve_clients, try_for, Failure, Grant, Init, Lock};
use resp_client::{Reply, RespClient};

// With the redis crate:  redis::Client::open(nodes[0])?.get_connection_with_timeout(timeout)?, and
// redis::cmd("SET").arg(&[key, &token, "NX", "PX", &ttl_ms]) to acquire.

// A lock that renews in the background calls picklock_adapter::extended(token, ttl, asked_at) after each renewal, and
// picklock_adapter::lost(token) before its lease ends unrenewed. It needs `renews = true` in picklock.toml.

const IF_MINE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

#[derive(Clone)]
struct MyLock {
    redis: RespClient,
}

impl Lock for MyLock {
    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let (token, ttl_ms) = (new_token()?, ttl.as_millis().to_string());
        try_for(wait, || {
            let reply = self
                .redis
                .command(&["SET", key, &token, "NX", "PX", &ttl_ms])?;
            Ok((reply == Reply::Text("OK".into())).then(|| Grant::new(&token)))
        })
    }

    const CANCELS: bool = true;
    const EXTENDS: bool = true;

    fn extend(&mut self, key: &str, token: &str, ttl: Duration) -> Result<Option<Grant>, Failure> {
        let script = format!("{IF_MINE}redis.call('PEXPIRE', KEYS[1], ARGV[2])");
        try_for(Duration::ZERO, || {
            let ttl_ms = ttl.as_millis().to_string();
            let reply = self
                .redis
                .command(&["EVAL", &script, "1", key, token, &ttl_ms])?;
            Ok((reply == Reply::Number(1)).then(|| Grant::new(token)))
        })
    }

    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        let script = format!("{IF_MINE}redis.call('DEL', KEYS[1])");
        let reply = self.redis.command(&["EVAL", &script, "1", key, token])?;
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
        Ok(MyLock { redis })
    };
    serve_clients(make_lock, "my-lock", "0.1.0", &[]);
}
