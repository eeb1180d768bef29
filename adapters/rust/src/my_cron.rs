//! Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX.
//! Its release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

mod lock_contract;
mod picklock_adapter;
mod resp_client;
mod small_json;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use picklock_adapter::{serve_clients, try_for, Failure, Grant, Init, Lock};
use resp_client::{Reply, RespClient};

const IF_MINE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

#[derive(Clone)]
struct MyCronLock {
    redis: RespClient,
    /// Time of each request, by the token of its grant.
    requested_at: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Lock for MyCronLock {
    /// The minimum time from the request to the end of the key, longer than clocks and timers can differ.
    const MIN_HOLD: Duration = Duration::from_millis(600);
    const CANCELS: bool = true;

    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let (token, ttl_ms) = (new_token()?, ttl.as_millis().to_string());
        if let Ok(mut all) = self.requested_at.lock() {
            all.insert(token.clone(), Instant::now());
        }
        let command = ["SET", key, &token, "NX", "PX", &ttl_ms];
        try_for(wait, || {
            let reply = self.redis.command(&command)?;
            Ok((reply == Reply::Text("OK".into())).then(|| Grant::new(&token)))
        })
    }

    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        let known = self.requested_at.lock();
        let requested_at = known.ok().and_then(|all| all.get(token).copied());
        let held = requested_at.map_or(Duration::ZERO, |it| it.elapsed());
        let left_ms = Self::MIN_HOLD.saturating_sub(held).as_millis();
        let end = if left_ms > 0 {
            "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
        } else {
            "redis.call('DEL', KEYS[1])"
        };
        let (script, left_ms) = (format!("{IF_MINE}{end}"), left_ms.to_string());
        let command = ["EVAL", &script, "1", key, token, &left_ms];
        let reply = self.redis.command(&command)?;
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
        Ok(MyCronLock {
            redis: RespClient::new(&init.nodes[0], init.timeout)?,
            requested_at: Arc::default(),
        })
    };
    serve_clients(make_lock, "my-cron", "0.1.0", &[]);
}
