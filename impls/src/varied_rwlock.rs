//! A read/write lock that overrides some operations of `rwlock`, for the mutants.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::rwlocks::by_server_time::ReadWriteLock;
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Kind, Node};

/// Grants the lock to a reader or a writer, with a mistake.
static TAKE_ANY_HOLD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("mutants/take_any_hold.lua")));

/// The mistake of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A reader does not check for a writer.
    ReaderIgnoresWriter,
    /// A writer does not check for readers.
    WriterIgnoresReaders,
    /// An acquisition checks for other holders in one command, and adds its own hold in the next.
    CountsThenAdds,
    /// An acquisition never removes dead holders.
    KeepsExpired,
    /// A release ends the holds of all clients.
    ReleasesAll,
    /// The release of a writer ends the hold of any client.
    WriterReleasesAny,
    /// A waiting writer leaves no mark.
    StarvesWriters,
}

impl Mistake {
    /// Returns the argument of the script.
    fn argument(self) -> &'static str {
        match self {
            Mistake::ReaderIgnoresWriter => "reader-ignores-writer",
            Mistake::WriterIgnoresReaders => "writer-ignores-readers",
            Mistake::KeepsExpired => "keeps-expired",
            Mistake::StarvesWriters => "starves-writers",
            Mistake::CountsThenAdds | Mistake::ReleasesAll | Mistake::WriterReleasesAny => "",
        }
    }
}

/// `rwlock` with a mistake.
pub(crate) struct VariedReadWriteLock {
    original: ReadWriteLock,
    mistake: Mistake,
}

/// Returns the table row of a mutant.
pub(crate) const fn varied(
    name: &'static str,
    summary: &'static str,
    build: fn(Vec<Node>, Context) -> Box<dyn crate::DynLock>,
) -> BuiltInLock {
    BuiltInLock::on_one_node(name, summary, build).of_kind(Kind::ReadWrite)
}

impl VariedReadWriteLock {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, mistake: Mistake) -> Self {
        let original = ReadWriteLock::new(nodes, context);
        VariedReadWriteLock { original, mistake }
    }

    /// Takes the lock with one script, with a mistake.
    async fn take(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let holder = self.original.holder(name);
        let taken: bool = TAKE_ANY_HOLD
            .key(key)
            .key(format!("{key}:waiting"))
            .arg(&holder)
            .arg(lease.millis())
            .arg(self.mistake.argument())
            .invoke_async(self.original.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(holder, requested)))
    }

    /// Checks for other holders, and adds its own hold in a second command if no holder excludes it.
    async fn count_and_add(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let holder = self.original.holder(name);
        let is_reader = self.original.is_reader;
        let redis = &mut self.original.redis;
        let now_ms = redis.remove_expired(key).await?;
        let holders: Vec<String> = redis.ask(Cmd::zrange(key, 0, -1)).await?;
        let excludes = |other: &String| !is_reader || other.starts_with('w');
        if holders.iter().any(excludes) {
            return Ok(None);
        }
        redis
            .ask::<u64>(Cmd::zadd(key, &holder, now_ms + lease.millis()))
            .await?;
        Ok(Some(lease.grant(holder, requested)))
    }
}

impl Attempts for VariedReadWriteLock {
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

impl Lock for VariedReadWriteLock {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.original.is_reader = false;
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn acquire_shared(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.original.is_reader = true;
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let deletes_key = match self.mistake {
            Mistake::ReleasesAll => true,
            Mistake::WriterReleasesAny => grant.token.starts_with('w'),
            _ => false,
        };
        if !deletes_key {
            return Lock::release(&mut self.original, key, grant).await;
        }
        let removed: u64 = self.original.redis.ask(Cmd::del(key)).await?;
        Ok(removed == 1)
    }

    fn kind(&self) -> Kind {
        Kind::ReadWrite
    }
}
