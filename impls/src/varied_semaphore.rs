//! A semaphore that overrides some operations of `semaphore`, for the mutants.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::semaphores::by_server_time::{Clock, Semaphore};
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Kind, Node};

/// Takes a permit, with a mistake.
static TAKE_ANY_PERMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("mutants/take_any_permit.lua")));

/// Gives back a permit that may be another client's.
static RELEASE_OLDEST: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("mutants/release_oldest_permit.lua")));

/// The mistake of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// An acquisition grants one permit more than there are.
    OneTooMany,
    /// An acquisition counts in one command, and takes a permit in the next one.
    CountsThenAdds,
    /// An acquisition never removes the permits of dead holders.
    KeepsExpired,
    /// A release gives back the oldest permit.
    ReleasesOldest,
}

/// `semaphore` with a mistake.
pub(crate) struct VariedSemaphore {
    original: Semaphore,
    mistake: Mistake,
}

/// Returns the table row of a mutant.
pub(crate) const fn varied(
    name: &'static str,
    summary: &'static str,
    build: fn(Vec<Node>, Context) -> Box<dyn crate::DynLock>,
) -> BuiltInLock {
    BuiltInLock::on_one_node(name, summary, build).of_kind(Kind::Semaphore)
}

impl VariedSemaphore {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, mistake: Mistake) -> Self {
        let original = Semaphore::new(nodes, context, Clock::Server);
        VariedSemaphore { original, mistake }
    }

    /// Takes a permit by one script, with a mistake.
    async fn take(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let asked = Stopwatch::start();
        let taken: bool = TAKE_ANY_PERMIT
            .key(key)
            .arg(name)
            .arg(lease.millis())
            .arg(self.original.context.capacity)
            .arg(u32::from(self.mistake == Mistake::OneTooMany))
            .arg(u32::from(self.mistake != Mistake::KeepsExpired))
            .invoke_async(self.original.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(name, asked)))
    }

    /// Counts the permits, and takes one in a second command if one was left.
    async fn count_and_add(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let asked = Stopwatch::start();
        let redis = &mut self.original.redis;
        let now_ms = redis.remove_expired(key).await?;
        let taken: u32 = redis.ask(Cmd::zcard(key)).await?;
        if taken >= self.original.context.capacity {
            return Ok(None);
        }
        redis
            .ask::<u64>(Cmd::zadd(key, name, now_ms + lease.millis()))
            .await?;
        Ok(Some(lease.grant(name, asked)))
    }
}

impl Attempts for VariedSemaphore {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        match self.mistake {
            Mistake::CountsThenAdds => self.count_and_add(key, name, lease).await,
            _ => self.take(key, name, lease).await,
        }
    }
}

impl Lock for VariedSemaphore {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if self.mistake != Mistake::ReleasesOldest {
            return Lock::release(&mut self.original, key, grant).await;
        }
        let connection = self.original.redis.connection()?;
        Ok(RELEASE_OLDEST.key(key).invoke_async(connection).await?)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
