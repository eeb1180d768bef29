//! `semaphore-list`: a list of the free tokens.
//!
//! **Commands.** Acquire: `take_token.lua` (`SETNX key:made 1`, and if it was new, `RPUSH key` for each token; `LPOP
//! key`). Release: `RPUSH key token`.
//!
//! **From.** Articles, and libraries such as redis-semaphore for Ruby, which keeps the tokens in a list on which
//! `BLPOP` waits, and a key that marks their creation.
//!
//! **Promises.** No more holders than tokens, as long as no client gives a token back twice. Waiting needs no polling,
//! if `BLPOP` takes the place of `LPOP`.
//!
//! **Does not survive.**
//! - A holder that dies, a lost reply, or a lost release: its token is gone.
//! - A release without a permit, or a release that is sent twice: the list then has an additional token.
//! - Loss of the list, but not of the mark: no client gets a token any more. Loss of both: all tokens exist twice (S7
//!   to S10).

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::{BuiltInLock, Context, Kind, Node, patience};

static TAKE_TOKEN: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take_token.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore-list",
    summary: "semaphore: LPOP from a list of tokens; releases by RPUSH",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(SemaphoreList::new(nodes, context, &TAKE_TOKEN)),
};

pub(crate) struct SemaphoreList {
    redis: SingleNode,
    context: Context,
    take: &'static LazyLock<Script>,
}

impl SemaphoreList {
    /// Creates a client that takes a token with this script.
    pub(crate) fn new(nodes: Vec<Node>, context: Context, take: &'static LazyLock<Script>) -> Self {
        SemaphoreList {
            redis: SingleNode::first_of(nodes),
            context,
            take,
        }
    }
}

/// Returns the token in the name of a grant, which is `TOKEN/NAME`, because each token is granted many times.
fn token_of(grant: &Grant) -> &str {
    grant
        .token
        .split_once('/')
        .map_or("token-0", |(token, _)| token)
}

impl Attempts for SemaphoreList {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, _: Lease) -> Taken {
        let token: Option<String> = self
            .take
            .key(key)
            .key(format!("{key}:made"))
            .arg(self.context.capacity)
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(token.map(|token| Grant {
            token: format!("{token}/{name}"),
            fence: None,
            valid_until: None,
        }))
    }
}

impl Lock for SemaphoreList {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.redis
            .ask::<i64>(Cmd::rpush(key, token_of(grant)))
            .await?;
        Ok(true)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
