//! `leader-timer`: a leader election by SETNX, whose leader refreshes the key by a timer and leads until it resigns.
//!
//! **Commands.** Candidacy: SETNX with the candidate's token, then PEXPIRE. Refresh, at half the lease: PEXPIRE. Before
//! an act: nothing. Resignation: DEL.
//!
//! **From.** The pattern of most articles about leader election on Redis: "SETNX, and refresh the expiry while you are
//! alive". n8n's leader did the same until PR#7964.
//!
//! **Promises.** One leader, as long as nothing goes wrong and no leader stops for longer than a lease.
//!
//! **Does not survive.**
//! - A pause of the leader (S2): it continues to lead next to its successor, whose key it refreshes (S4) and deletes.
//! - Loss of the key (S7, S8, S10): PEXPIRE returns 0, but the leader ignores the result.
//! - A crash between SETNX and PEXPIRE (L1): no candidate ever leads again.
//! - The lock has no epochs, so no resource can refuse a late act.

use std::time::Duration;

use redis::Cmd;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Notice, Taken};
use crate::lease::Lease;
use crate::renewal::{RenewalRules, Renewals};
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::varied_leader::election;
use crate::{BuiltInLock, Context, Kind, Node};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-timer",
    "SETNX, then PEXPIRE by a timer; leads until it resigns with a DEL",
    |nodes, context| Box::new(TimerLeader::new(nodes, context)),
);

struct TimerLeader {
    redis: SingleNode,
    context: Context,
    renewals: Renewals,
}

/// Returns the command that sets the expiry of a key, whoever wrote it.
fn refresh(key: &str, lease: Lease) -> Cmd {
    let mut expire = redis::cmd("PEXPIRE");
    expire.arg(key).arg(lease.millis());
    expire
}

impl TimerLeader {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        let rules = RenewalRules {
            respects_lease: false,
            reports_loss: false,
            ..RenewalRules::SOUND
        };
        TimerLeader {
            redis: SingleNode::first_of(nodes),
            context,
            renewals: Renewals::new(rules),
        }
    }
}

impl Attempts for TimerLeader {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let is_taken: bool = self.redis.ask(Cmd::set_nx(key, name)).await?;
        if !is_taken {
            return Ok(None);
        }
        self.redis.ask::<bool>(refresh(key, lease)).await?;
        Ok(Some(lease.grant(name, requested)))
    }
}

impl Lock for TimerLeader {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let taken = attempts::acquire(self, key, ttl, wait).await?;
        if let Some(grant) = &taken {
            let mut redis = self.redis.separate();
            let command = refresh(key, lease);
            let renewal = async move || {
                let requested = Stopwatch::start();
                redis.ask::<bool>(command.clone()).await?;
                Ok(Some(lease.until(requested)))
            };
            self.renewals
                .begin(&self.context.options, grant, ttl, renewal);
        }
        Ok(taken)
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.renewals.end(grant);
        let deleted: u64 = self.redis.ask(Cmd::del(key)).await?;
        Ok(deleted == 1)
    }

    fn kind(&self) -> Kind {
        Kind::Leader
    }

    async fn notice(&mut self) -> Notice {
        self.renewals.notice().await
    }
}
