//! `redlock`: a lock that is held on a majority of independent nodes.
//!
//! **Commands.** Acquire: `SET key token NX PX ms` to all nodes at once. Each has a tenth of the lease to answer. The
//! attempt succeeds if more than half took the key and there is validity left: the lease, minus the time that all this
//! took, minus the allowance for clock drift (a hundredth of the lease plus 2 ms). Otherwise `compare_and_delete.lua`
//! goes to all nodes, including those that did not seem to take it, and after a random delay there is another attempt
//! with a new token. Extend: `compare_and_pexpire.lua` to all, counted in the same way. Release:
//! `compare_and_delete.lua` to all. Scripts are sent as `EVALSHA`, with `SCRIPT LOAD` where needed.
//!
//! **From.** redis.io, "Distributed Locks with Redis", "The Redlock Algorithm".
//!
//! **Promises.** One holder at a time while a majority of nodes keep their keys and no node's clock runs faster than
//! the allowance. Available while a majority answers. A grant whose replies arrive too late is refused (as Kleppmann's
//! K4 requires).
//!
//! **Does not survive.**
//! - A holder that is slower than its validity, after the check (S1).
//! - A node of a bare majority that loses the key (restart without persistence, failover, eviction:
//!   S7, S8, S10), or loses it early because its clock jumps (S9, K3).

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::lease_duration::LeaseDuration;
use crate::options::{OptionKind, OptionSpec, OptionValue};
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::quorum::{Answers, Nodes};
use crate::stopwatch::{Deadline, Stopwatch};
use crate::{BuiltInLock, Context, Kind, Node};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "redlock",
    summary: "a majority of 5 independent nodes, validity on a monotonic clock",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| Box::new(Redlock::new(nodes, context, Rules::PUBLISHED)),
};

/// The options of Redlock.
pub(crate) const OPTIONS: &[&OptionSpec] =
    &[&RETRY_DELAY, &RETRY_JITTER, &DRIFT_FACTOR, &NODE_TIMEOUT];

pub(crate) const DRIFT_FACTOR: OptionSpec = OptionSpec {
    name: "drift_factor",
    meaning: "share of the lease reserved for clock drift, in addition to 2 ms",
    kind: OptionKind::Number(0.0, 1.0),
    default: OptionValue::Number(0.01),
};

pub(crate) const NODE_TIMEOUT: OptionSpec = OptionSpec {
    name: "node_timeout",
    meaning: "maximum time that each node may take to answer",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.1)),
};

/// The rules that make Redlock safe. The mutants of `redlock` break some of these rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Returns the quorum for this number of nodes.
    pub(crate) quorum: fn(usize) -> usize,
    /// If true, nodes that have not answered count towards the total of which a majority is needed.
    pub(crate) counts_silent_nodes: bool,
    /// If true, a release goes to every node instead of just a quorum.
    pub(crate) releases_every_node: bool,
    /// If true, a node that takes too long counts as failed.
    pub(crate) nodes_timed: bool,
    /// Returns the rest of a lease (first argument) after the elapsed time including the allowance for clock drift
    /// (second argument). Returns `None` if nothing is left, so that the grant is refused.
    pub(crate) validity: fn(Duration, Duration) -> Option<Duration>,
}

impl Rules {
    /// The published algorithm.
    pub(crate) const PUBLISHED: Rules = Rules {
        quorum: |nodes| nodes / 2 + 1,
        counts_silent_nodes: true,
        releases_every_node: true,
        nodes_timed: true,
        validity: |lease, spent| lease.checked_sub(spent).filter(|left| !left.is_zero()),
    };
}

/// The rules applied to one lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    lease: Lease,
    quorum: usize,
    node_timeout: Option<Duration>,
    drift: Duration,
    validity: fn(Duration, Duration) -> Option<Duration>,
}

impl Terms {
    /// Returns the end of the validity of a lease that was requested when `requested` was started, minus the allowance
    /// for clock drift. Returns `None` if no validity is left.
    fn valid_until(self, requested: Stopwatch) -> Option<Deadline> {
        let spent = requested.elapsed();
        let left = (self.validity)(self.lease.duration(), spent + self.drift)?;
        Some(requested.until(spent.saturating_add(left)))
    }

    /// Extends on all nodes. Returns the new end of the validity, or `None` if a majority answers that the client does
    /// not have the key, or if it is too late.
    ///
    /// # Errors
    /// Returns an error if the result depends on nodes that failed to answer.
    pub(crate) async fn extend(
        self,
        nodes: &mut Nodes,
        key: &str,
        token: &str,
    ) -> Result<Option<Deadline>, LockError> {
        let requested = Stopwatch::start();
        let answers = nodes
            .prolong(key, token, self.lease, self.node_timeout)
            .await;
        // A failed extension deletes nothing, because the rest of the old lease is still valid (L7).
        let extended = answers.decide(self.quorum)?;
        Ok(extended.then(|| self.valid_until(requested)).flatten())
    }
}

pub(crate) struct Redlock {
    nodes: Nodes,
    pub(crate) context: Context,
    rules: Rules,
    /// Time limit for a node's answer, for the lease that was requested last.
    node_timeout: Option<Duration>,
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

    /// Returns the same nodes over separate connections, for a background task.
    pub(crate) fn separate_nodes(&self) -> Nodes {
        self.nodes.separate()
    }

    /// Applies the rules to a lease.
    pub(crate) fn terms(&self, lease: Lease) -> Terms {
        let options = &self.context.options;
        let (whole, factor) = (lease.duration(), options.number(&DRIFT_FACTOR));
        let node_timeout = options.duration(&NODE_TIMEOUT, whole);
        Terms {
            lease,
            quorum: (self.rules.quorum)(self.nodes.len()),
            node_timeout: self.rules.nodes_timed.then_some(node_timeout),
            drift: whole.mul_f64(factor) + Duration::from_millis(2),
            validity: self.rules.validity,
        }
    }

    /// Makes one attempt, and cleans up on all nodes if it fails.
    async fn attempt(&mut self, key: &str, terms: Terms) -> Result<Grant, Answers> {
        let token = self.context.token();
        let requested = Stopwatch::start();
        let answers = self
            .nodes
            .take(key, &token, terms.lease, terms.node_timeout)
            .await;
        let quorum = if self.rules.counts_silent_nodes {
            terms.quorum
        } else {
            (self.rules.quorum)(answers.yes + answers.no)
        };
        if answers.yes >= quorum
            && let Some(valid_until) = terms.valid_until(requested)
        {
            return Ok(Grant {
                token,
                fence: None,
                valid_until: Some(valid_until),
            });
        }
        // Include nodes that did not answer, because they may have executed the command. The answers to the clean-up do
        // not matter: a key that it misses expires on its own.
        let (all, timeout) = (self.nodes.len(), terms.node_timeout);
        self.nodes.delete(all, key, &token, timeout).await;
        Err(answers)
    }
}

impl Lock for Redlock {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        self.nodes.must_not_be_empty()?;
        let terms = self.terms(lease);
        self.node_timeout = terms.node_timeout;
        let patience = self.context.patience(wait, ttl);
        loop {
            let answers = match self.attempt(key, terms).await {
                Ok(grant) => return Ok(Some(grant)),
                Err(answers) => answers,
            };
            if !self.context.another_attempt(patience).await {
                // If no majority could be reached, the service failed. Otherwise it refused.
                let reachable = self.nodes.len() - answers.failed.len();
                return if reachable < terms.quorum {
                    Err(answers.into_error())
                } else {
                    Ok(None)
                };
            }
        }
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        self.nodes.must_not_be_empty()?;
        let terms = self.terms(lease);
        self.node_timeout = terms.node_timeout;
        let extended = terms.extend(&mut self.nodes, key, &grant.token).await?;
        Ok(extended.map(|valid_until| Grant {
            valid_until: Some(valid_until),
            ..grant.clone()
        }))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.nodes.must_not_be_empty()?;
        let quorum = (self.rules.quorum)(self.nodes.len());
        let count = if self.rules.releases_every_node {
            self.nodes.len()
        } else {
            quorum
        };
        let (token, timeout) = (&grant.token, self.node_timeout);
        let answers = self.nodes.delete(count, key, token, timeout).await;
        answers.decide(quorum)
    }
}
