//! A leader election that is renewed in the background, with or without a mistake. `leader` and its mutants are built
//! from it.

use std::time::Duration;

use redis::Cmd;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Notice, Taken};
use crate::lease::Lease;
use crate::locks::fenced::SET_AND_COUNT;
use crate::locks::set_nx_px::SetNxPx;
use crate::locks::watchdog;
use crate::renewal::{RenewalRules, Renewals};
use crate::stopwatch::{Deadline, Stopwatch};
use crate::{BuiltInLock, Context, DynLock, Kind, Node};

/// The mistake of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The client considers itself the leader until it resigns, whatever its renewals return.
    Believes,
    /// The client counts a renewal before the server has confirmed it, and does not undo this on a failure.
    RolledBack,
    /// The client checks that the key exists, but not that the key is its own.
    AnyKey,
    /// A renewal writes the key, whether or not it still exists.
    Revives,
    /// A candidate has the name of its host, and a candidate whose name is in the key may take it again.
    HostName,
    /// The counter of the epochs expires with the key.
    EpochExpires,
    /// The client neither stops renewing nor frees the key when it resigns.
    KeepsOn,
}

/// The leadership of this client.
#[derive(Debug, Clone)]
struct Term {
    token: String,
    /// The end of the lease as computed by the client. A leader never acts after it.
    until: Deadline,
    is_lost: bool,
}

/// A candidate of an election.
pub(crate) struct Leader {
    pub(crate) original: SetNxPx,
    renewals: Renewals,
    term: Option<Term>,
    mistake: Option<Mistake>,
}

/// Returns the table row of an election.
pub(crate) const fn election(
    name: &'static str,
    summary: &'static str,
    build: fn(Vec<Node>, Context) -> Box<dyn DynLock>,
) -> BuiltInLock {
    BuiltInLock {
        name,
        summary,
        nodes: 1,
        replicas: 0,
        kind: Kind::Leader,
        options: watchdog::OPTIONS,
        build,
    }
}

impl Leader {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, mistake: Option<Mistake>) -> Self {
        let believes = matches!(mistake, Some(Mistake::Believes | Mistake::AnyKey));
        let rules = RenewalRules {
            reports_loss: !believes,
            ends_at_release: mistake != Some(Mistake::KeepsOn),
            ..RenewalRules::SOUND
        };
        Leader {
            original: SetNxPx::new(nodes, context),
            renewals: Renewals::new(rules),
            term: None,
            mistake,
        }
    }

    /// Renews the lease of `grant` in the background until the client resigns.
    fn watch(&mut self, key: &str, grant: &Grant, lease: Lease) {
        let mut extension = self.original.extension(key, &grant.token, lease);
        let mut writer = self.original.redis.separate();
        let set = {
            let mut set = redis::cmd("SET");
            set.arg(key).arg(&grant.token);
            set.arg("PX").arg(lease.millis());
            set
        };
        let mistake = self.mistake;
        let renewal = async move || {
            let requested = Stopwatch::start();
            match mistake {
                Some(Mistake::Revives) => {
                    writer.ask::<()>(set.clone()).await?;
                    Ok(Some(lease.until(requested)))
                }
                Some(Mistake::RolledBack) => {
                    extension.ask().await?;
                    Ok(Some(lease.until(requested)))
                }
                _ => extension.ask().await,
            }
        };
        let options = &self.original.context.options;
        self.renewals
            .begin(options, grant, lease.duration(), renewal);
    }

    /// Increments the epoch, with a counter that expires with the key.
    async fn expiring_epoch(&mut self, key: &str, lease: Lease) -> Result<u64, LockError> {
        let counter = format!("{key}:epoch");
        let redis = &mut self.original.redis;
        let epoch: u64 = redis.ask(Cmd::incr(&counter, 1)).await?;
        let mut expire = redis::cmd("PEXPIRE");
        expire.arg(&counter).arg(lease.millis());
        redis.ask::<bool>(expire).await?;
        Ok(epoch)
    }

    /// Returns `true` if the key exists and is this client's. With the mistake `AnyKey`, the owner of the key is not
    /// checked.
    async fn owns_key(&mut self, key: &str, token: &str) -> Result<bool, LockError> {
        let value: Option<String> = self.original.redis.ask(Cmd::get(key)).await?;
        let is_any_key = self.mistake == Some(Mistake::AnyKey);
        Ok(value.is_some_and(|value| is_any_key || value == token))
    }
}

impl Attempts for Leader {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    fn name(&mut self) -> String {
        match self.mistake {
            // All candidates run in containers with one name.
            Some(Mistake::HostName) => "app-7c9d".to_owned(),
            _ => self.original.context.token(),
        }
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let grant = lease.grant(name, requested);
        if self.mistake == Some(Mistake::EpochExpires) {
            let taken = self.original.attempt(key, name, lease).await?;
            let Some(grant) = taken else { return Ok(None) };
            let fence = Some(self.expiring_epoch(key, lease).await?);
            return Ok(Some(Grant { fence, ..grant }));
        }
        if self.mistake == Some(Mistake::HostName) && self.owns_key(key, name).await? {
            return Ok(Some(grant));
        }
        let epoch: u64 = SET_AND_COUNT
            .key(key)
            .key(format!("{key}:epoch"))
            .arg(name)
            .arg(lease.millis())
            .invoke_async(self.original.redis.connection()?)
            .await?;
        let fence = Some(epoch);
        Ok((epoch > 0).then_some(Grant { fence, ..grant }))
    }
}

impl Lock for Leader {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let taken = attempts::acquire(self, key, ttl, wait).await?;
        if let Some(grant) = &taken {
            self.term = Some(Term {
                token: grant.token.clone(),
                until: grant.valid_until.unwrap_or(Deadline::after(ttl)),
                is_lost: false,
            });
            self.watch(key, grant, lease);
        }
        Ok(taken)
    }

    async fn may_act(&mut self, key: &str, grant: &Grant) -> Taken {
        let term = self.term.clone().filter(|term| term.token == grant.token);
        let is_over = term.is_none_or(|term| term.is_lost || term.until.left().is_zero());
        let leads = match self.mistake {
            Some(Mistake::Believes) => true,
            Some(Mistake::AnyKey) => self.owns_key(key, &grant.token).await?,
            Some(Mistake::RolledBack | Mistake::Revives) => !is_over,
            _ => !is_over && self.owns_key(key, &grant.token).await?,
        };
        Ok(leads.then(|| grant.clone()))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.term = None;
        self.renewals.end(grant);
        if self.mistake == Some(Mistake::KeepsOn) {
            return Ok(true);
        }
        Lock::release(&mut self.original, key, grant).await
    }

    async fn terminate(&mut self, held: &[(String, Grant)]) {
        for (key, grant) in held {
            // The client is ending, so a failure cannot be reported.
            Lock::release(self, key, grant).await.ok();
        }
    }

    fn kind(&self) -> Kind {
        Kind::Leader
    }

    async fn notice(&mut self) -> Notice {
        let notice = self.renewals.notice().await;
        if let Some(term) = &mut self.term {
            match &notice {
                Notice::Extended { token, valid_until } if *token == term.token => {
                    term.until = *valid_until;
                }
                Notice::Lost { token } if *token == term.token => term.is_lost = true,
                _ => {}
            }
        }
        notice
    }
}
