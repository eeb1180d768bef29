//! Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders,
//! by the ends of their leases on the server's clock.

mod lock_contract;
mod picklock_adapter;
mod resp_client;
mod small_json;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use picklock_adapter::{serve_clients, try_for, Failure, Grant, Init, Kind, Lock};
use resp_client::{Reply, RespClient};

const TAKE: &str = "
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1";

#[derive(Clone)]
struct MySemaphore {
    redis: RespClient,
    capacity: u32,
    /// Number of permits of each grant, by its token.
    permits_of: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Lock for MySemaphore {
    const KIND: Kind = Kind::Semaphore;
    const CANCELS: bool = true;

    fn set_capacity(&mut self, permits: u32) {
        self.capacity = permits;
    }

    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        self.acquire_permits(key, 1, ttl, wait)
    }

    // Remove both if an acquisition of your semaphore takes one permit.
    const SEVERAL_PERMITS: bool = true;

    fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let capacity = self.capacity;
        if !(1..=capacity).contains(&permits) {
            let problem = format!("{permits} permits were requested, and there are {capacity}");
            return Err(Failure::Definite(problem));
        }
        let token = new_token()?;
        if let Ok(mut all) = self.permits_of.lock() {
            all.insert(token.clone(), permits);
        }
        let (ttl_ms, capacity) = (ttl.as_millis().to_string(), capacity.to_string());
        let permits = permits.to_string();
        let command = ["EVAL", TAKE, "1", key, &token, &ttl_ms, &capacity, &permits];
        try_for(wait, || {
            let reply = self.redis.command(&command)?;
            Ok((reply == Reply::Number(1)).then(|| Grant::new(&token)))
        })
    }

    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        let known = self.permits_of.lock();
        let permits = known.map_or(0, |all| all.get(token).copied().unwrap_or(0));
        let names: Vec<String> = (1..=permits)
            .map(|permit| format!("{token}:{permit}"))
            .collect();
        let words = ["ZREM", key].into_iter();
        let command: Vec<&str> = words.chain(names.iter().map(String::as_str)).collect();
        let reply = self.redis.command(&command)?;
        Ok(Some(reply == Reply::Number(i64::from(permits))))
    }
}

/// Returns random bits of the operating system, as text.
fn new_token() -> Result<String, Failure> {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(uuid.trim().to_owned())
}

fn main() {
    let make_lock = |init: Init| {
        Ok(MySemaphore {
            redis: RespClient::new(&init.nodes[0], init.timeout)?,
            capacity: 1,
            permits_of: Arc::default(),
        })
    };
    serve_clients(make_lock, "my-semaphore", "0.1.0", &[]);
}
