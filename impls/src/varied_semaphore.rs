//! A semaphore that overrides some operations of `semaphore`, for the mutants.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::Attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::permits::{self, TakesPermits};
use crate::semaphores::by_server_time::{Clock, Semaphore};
use crate::stopwatch::{Deadline, Stopwatch};
use crate::{BuiltInLock, Context, Kind, Node};

/// Maximum length of a `BLPOP`, which is shorter than the client's time limit for replies.
const NAP: Duration = Duration::from_millis(50);

/// Takes a permit, with a mistake.
static TAKE_ANY_PERMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("mutants/take_any_permit.lua")));

/// Gives back a permit that may be another client's.
static RELEASE_OLDEST: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("mutants/release_oldest_permit.lua")));

/// The mistake of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// An acquisition grants one permit more than exist.
    OneTooMany,
    /// An acquisition counts in one command, and takes a permit in the next one.
    CountsThenAdds,
    /// An acquisition never removes the permits of dead holders.
    KeepsExpired,
    /// A release gives back the oldest permit.
    ReleasesOldest,
    /// A waiter sleeps until it has received one signal per requested permit, but a release sends only one.
    SignalsOnce,
    /// An acquisition sets the expiry of all permits to twice its own lease, even if another lease is longer.
    CutsLeases,
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
        let requested = Stopwatch::start();
        let taken: bool = TAKE_ANY_PERMIT
            .key(key)
            .arg(name)
            .arg(lease.millis())
            .arg(self.original.context.capacity)
            .arg(u32::from(self.mistake == Mistake::OneTooMany))
            .arg(u32::from(self.mistake != Mistake::KeepsExpired))
            .arg(self.original.permits)
            .invoke_async(self.original.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }

    /// Counts the permits, and takes one in a second command if one is free.
    async fn count_and_add(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let redis = &mut self.original.redis;
        let now_ms = redis.remove_expired(key).await?;
        let taken: u32 = redis.ask(Cmd::zcard(key)).await?;
        if taken + self.original.permits > self.original.context.capacity {
            return Ok(None);
        }
        let grant = lease.grant(name, requested);
        for permit in permits::names(&grant) {
            redis
                .ask::<u64>(Cmd::zadd(key, permit, now_ms + lease.millis()))
                .await?;
        }
        Ok(Some(grant))
    }

    /// Takes a permit, and sets the expiry of all permits.
    async fn take_and_cut(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let taken = self.original.attempt(key, name, lease).await?;
        if taken.is_some() {
            let expire = Cmd::pexpire(key, lease.millis().cast_signed() * 2);
            self.original.redis.ask::<bool>(expire).await?;
        }
        Ok(taken)
    }

    /// Sleeps until one signal per requested permit has arrived, or the wait is over.
    async fn sleep(&mut self, key: &str, until: Deadline) -> Result<(), LockError> {
        for _ in 0..self.original.permits {
            let mut signal: Option<(String, String)> = None;
            while signal.is_none() && !until.left().is_zero() {
                let wait = Cmd::blpop(signals(key), NAP.as_secs_f64());
                signal = self.original.redis.ask(wait).await?;
            }
        }
        Ok(())
    }

    /// Tries again after each sleep.
    async fn acquire_by_signals(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let (until, name) = (Deadline::after(wait), Attempts::name(self));
        loop {
            let taken = self.take(key, &name, lease).await?;
            if taken.is_some() || until.left().is_zero() {
                return Ok(taken);
            }
            self.sleep(key, until).await?;
        }
    }
}

/// Returns the key of the signals.
fn signals(key: &str) -> String {
    format!("{key}:signals")
}

impl Attempts for VariedSemaphore {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    fn name(&mut self) -> String {
        Attempts::name(&mut self.original)
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        match self.mistake {
            Mistake::CountsThenAdds => self.count_and_add(key, name, lease).await,
            Mistake::CutsLeases => self.take_and_cut(key, name, lease).await,
            _ => self.take(key, name, lease).await,
        }
    }
}

impl TakesPermits for VariedSemaphore {
    fn set_permits(&mut self, permits: u32) {
        self.original.permits = permits;
    }
}

impl Lock for VariedSemaphore {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.acquire_permits(key, 1, ttl, wait).await
    }

    fn takes_several_permits(&self) -> bool {
        true
    }

    async fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> Taken {
        if self.mistake == Mistake::SignalsOnce {
            self.set_permits(permits);
            return self.acquire_by_signals(key, ttl, wait).await;
        }
        permits::acquire(self, key, permits, (ttl, wait)).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if self.mistake != Mistake::ReleasesOldest {
            let released = Lock::release(&mut self.original, key, grant).await?;
            if self.mistake == Mistake::SignalsOnce {
                let signal = Cmd::rpush(signals(key), 1);
                self.original.redis.ask::<u64>(signal).await?;
            }
            return Ok(released);
        }
        let connection = self.original.redis.connection()?;
        Ok(RELEASE_OLDEST.key(key).invoke_async(connection).await?)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
