//! `redlock`: a lock that is held by a majority of independent nodes.
//!
//! **Commands.** Acquire: `SET key token NX PX ms` to all nodes at once, each with a tenth of the
//! lease to answer. It counts if more than half took it and there is validity left: the lease,
//! less the time that all this took, less the allowance for drifting clocks (a hundredth of the
//! lease plus 2 ms). If it does not count, `compare_and_delete.lua` goes to all nodes, those
//! included that seemed not to have it, and after a random delay it is tried anew with a new
//! token. Extend: `compare_and_pexpire.lua` to all, counted in the same way. Release:
//! `compare_and_delete.lua` to all. Scripts go as `EVALSHA`, with `SCRIPT LOAD` where needed.
//!
//! **From.** redis.io, "Distributed Locks with Redis", "The Redlock Algorithm".
//!
//! **Promises.** One holder at a time while a majority of nodes keep their keys and no node's
//! clock runs faster than the allowance; available while a majority answers. A grant whose
//! replies come too late is refused (what Kleppmann's K4 needs).
//!
//! **Does not survive.**
//! - A holder that is slower than its validity, after the check (S1).
//! - A node of a bare majority that loses the key: restart without persistence, failover,
//!   eviction (S7, S8, S10), or that loses it early because its clock leaps (S9, K3).

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError};
use crate::lease::Lease;
use crate::patience::Patience;
use crate::quorum::{Answers, Nodes};
use crate::stopwatch::Stopwatch;
use crate::token::random_token;
use crate::{Context, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "redlock",
    summary: "a majority of 5 independent nodes, validity on a monotonic clock",
    nodes: 5,
    build: |nodes, context| Box::new(Redlock::new(nodes, context, Rules::PUBLISHED)),
};

/// The rules that make it safe. Mutants break one each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How many of so many nodes are enough.
    pub(crate) quorum: fn(usize) -> usize,
    /// How long a node may take to answer.
    pub(crate) node_timeout: fn(Lease) -> Option<Duration>,
    /// Refuse a grant whose validity is used up.
    pub(crate) validity_checked: bool,
}

impl Rules {
    /// As the algorithm was published.
    pub(crate) const PUBLISHED: Rules = Rules {
        quorum: |nodes| nodes / 2 + 1,
        node_timeout: |lease| Some(lease.duration() / 10),
        validity_checked: true,
    };
}

pub(crate) struct Redlock {
    nodes: Nodes,
    context: Context,
    rules: Rules,
    /// How long a node may take to answer, by the lease that was last asked for.
    node_timeout: Option<Duration>,
}

/// What is left of the lease, clock drift allowed for.
fn validity(lease: Lease, elapsed: Duration) -> Duration {
    let drift = lease.duration() / 100 + Duration::from_millis(2);
    lease.left_after(elapsed + drift)
}

impl Redlock {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, rules: Rules) -> Self {
        Redlock {
            nodes: Nodes::new(nodes),
            context,
            rules,
            node_timeout: None,
        }
    }

    fn quorum(&self) -> usize {
        (self.rules.quorum)(self.nodes.len())
    }

    /// What a majority's answers are worth; `None` if it is too late for them.
    fn granted(&self, token: &str, lease: Lease, elapsed: Duration) -> Option<Grant> {
        let validity = validity(lease, elapsed);
        if self.rules.validity_checked && validity.is_zero() {
            return None;
        }
        Some(Grant {
            token: token.to_owned(),
            fence: None,
            valid_for: Some(validity),
        })
    }

    /// One attempt, with everything cleaned up if it fails.
    async fn attempt(&mut self, key: &str, lease: Lease) -> Result<Grant, Answers> {
        let token = random_token(&mut self.context.entropy);
        let asked = Stopwatch::start();
        let answers = self.nodes.take(key, &token, lease, self.node_timeout).await;
        if answers.yes >= self.quorum()
            && let Some(grant) = self.granted(&token, lease, asked.elapsed())
        {
            return Ok(grant);
        }
        // Also where a node did not answer: it may have carried out what we asked. What the
        // clean-up itself answers changes nothing for us; what it misses runs out by itself.
        self.nodes.delete(key, &token, self.node_timeout).await;
        Err(answers)
    }
}

impl Lock for Redlock {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        self.nodes.must_not_be_empty()?;
        self.node_timeout = (self.rules.node_timeout)(lease);
        let patience = Patience::start(wait);
        loop {
            let answers = match self.attempt(key, lease).await {
                Ok(grant) => return Ok(Some(grant)),
                Err(answers) => answers,
            };
            if !patience.another_attempt(&mut self.context.entropy).await {
                // A majority that cannot be had whoever holds the lock is a failure of the
                // service; else it was a refusal.
                let reachable = self.nodes.len() - answers.failed.len();
                return if reachable < self.quorum() {
                    Err(answers.into_error())
                } else {
                    Ok(None)
                };
            }
        }
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        self.nodes.must_not_be_empty()?;
        self.node_timeout = (self.rules.node_timeout)(lease);
        let asked = Stopwatch::start();
        let answers = self
            .nodes
            .prolong(key, &grant.token, lease, self.node_timeout)
            .await;
        // A failed extension deletes nothing: what is left of the old lease is still ours (L7).
        let extended = answers.decide(self.quorum())?;
        Ok(extended
            .then(|| self.granted(&grant.token, lease, asked.elapsed()))
            .flatten())
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.nodes.must_not_be_empty()?;
        let answers = self
            .nodes
            .delete(key, &grant.token, self.node_timeout)
            .await;
        answers.decide(self.quorum())
    }
}
