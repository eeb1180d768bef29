//! Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the
//! epochs next to it, renews the key in a thread, and checks whose key it is before each act.

mod lock_contract;
mod picklock_adapter;
mod resp_client;
mod small_json;

use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use picklock_adapter::{
    extended, lost, serve_clients, try_for, Acting, Failure, Grant, Init, Kind, Lock,
};
use resp_client::{Reply, RespClient};

const LEAD: &str = "
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])";

const IF_MINE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

/// The term of a leader.
struct Term {
    epoch: u64,
    /// Dropped when the leader resigns, which ends the renewal.
    renewal: Option<Sender<()>>,
}

#[derive(Clone)]
struct MyLeader {
    redis: RespClient,
    /// The terms by the tokens of their grants.
    terms: Arc<Mutex<BTreeMap<String, Term>>>,
}

impl MyLeader {
    fn renew(
        &self,
        key: &str,
        token: &str,
        ttl: Duration,
        mut renewed_at: Instant,
        resigned: &Receiver<()>,
    ) {
        let script = format!("{IF_MINE}redis.call('PEXPIRE', KEYS[1], ARGV[2])");
        let ttl_ms = ttl.as_millis().to_string();
        let mut pause = ttl / 3;
        while resigned.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let asked_at = Instant::now();
            let reply = (self.redis).command(&["EVAL", &script, "1", key, token, &ttl_ms]);
            if resigned.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            pause = ttl / 3;
            let is_mine = match reply {
                Ok(reply) => reply == Reply::Number(1),
                Err(_) => {
                    // The next attempt may still come in time.
                    pause = ttl / 20;
                    if renewed_at.elapsed() < ttl * 4 / 5 {
                        continue;
                    }
                    false
                }
            };
            if !is_mine {
                return lost(token);
            }
            renewed_at = asked_at;
            extended(token, ttl, asked_at);
        }
    }
}

impl Lock for MyLeader {
    const KIND: Kind = Kind::Leader;
    const CANCELS: bool = true;

    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let (token, ttl_ms) = (new_token()?, ttl.as_millis().to_string());
        let epoch_key = format!("{key}:epoch");
        let command = ["EVAL", LEAD, "2", key, &epoch_key, &token, &ttl_ms];
        let grant = try_for(wait, || {
            let Reply::Number(epoch @ 1..) = self.redis.command(&command)? else {
                return Ok(None);
            };
            Ok(Some(Grant {
                fence: u64::try_from(epoch).ok(),
                ..Grant::new(&token)
            }))
        })?;
        if let Some(Grant {
            fence: Some(epoch),
            asked_at: Some(asked_at),
            ..
        }) = grant
        {
            let (renewal, resigned) = channel();
            let renewal = Some(renewal);
            if let Ok(mut all) = self.terms.lock() {
                all.insert(token.clone(), Term { epoch, renewal });
            }
            let (leader, key) = (self.clone(), key.to_owned());
            std::thread::spawn(move || leader.renew(&key, &token, ttl, asked_at, &resigned));
        }
        Ok(grant)
    }

    // Returns the epoch if the client may act now, or `None` if it does not lead any more.
    fn act(&mut self, key: &str, token: &str) -> Result<Option<Acting>, Failure> {
        let holder = self.redis.command(&["GET", key])?;
        let terms = self.terms.lock();
        let epoch = terms.ok().and_then(|all| Some(all.get(token)?.epoch));
        Ok((holder == Reply::Text(token.into())).then_some(Acting { epoch }))
    }

    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        if let Ok(mut all) = self.terms.lock() {
            all.entry(token.into())
                .and_modify(|term| term.renewal = None);
        }
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
        Ok(MyLeader {
            redis: RespClient::new(&init.nodes[0], init.timeout)?,
            terms: Arc::default(),
        })
    };
    serve_clients(make_lock, "my-leader", "0.1.0", &[]);
}
