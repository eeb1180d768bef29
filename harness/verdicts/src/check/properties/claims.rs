//! Claims: what the lock says agrees with what it did to the servers' keys.
//!
//! A lock says four things, and the custody shows whether they are true:
//!
//! - "You have it, for so long." Its value was written to a quorum of the nodes, and the expiry on them
//!   is over no sooner than the client was told. An expiry is counted from the last moment at which it
//!   can have been set, so the bound is never too low. How long a value really stayed does not matter
//!   here: if it was lost, that is another property.
//! - "As long as you asked for." The expiry is the lease, or that rounded up to a whole second. A key
//!   without expiry is not judged: some locks measure the lease in another way.
//! - "It is free." After a release that claims success, the value is gone from so many nodes that
//!   another client can get a quorum. A value that the client's own command removes later was on its
//!   way to be removed.
//! - "It is this lock." No other lock uses the same key.
//!
//! Without custody nothing of this can be shown, and the property does not apply.

use std::collections::{HashMap, HashSet};

use picklock_scenarios::{Phase, Property};

use crate::check::checker::Checker;
use crate::check::description::Description;
use crate::check::finding::{Claim, FalseClaim, Finding, Judgement, Seen};
use crate::custody::{KeyTable, KeyUpdate, NodeClocks};
use crate::history::{Event, Header, KeyChange, KeyName};
use crate::timeline::{Attempt, Step, ms};

/// Servers count expiries in whole milliseconds, by a clock that they read once for each turn.
const SLACK_NS: u64 = 2_000_000;

/// The same in milliseconds, for an expiry as it was written.
const SLACK_MS: i64 = 1;

/// The checker.
pub(in crate::check) struct Claims {
    custody: bool,
    nodes: usize,
    locks: Vec<String>,
    table: KeyTable,
    clocks: NodeClocks,
    /// What each attempt that is under way has written.
    written: HashMap<u64, Written>,
    /// The nodes that any attempt has written to.
    nodes_used: HashSet<usize>,
    /// Which lock used a key first, and in which attempt.
    users: HashMap<(usize, KeyName), (u32, u64)>,
    /// Releases that claimed success while their value was still there.
    suspects: Vec<Suspect>,
    found: Vec<(u64, FalseClaim)>,
}

/// What one attempt has written.
#[derive(Debug, Clone, Default)]
struct Written {
    values: Vec<WrittenValue>,
    /// It took something away, too: perhaps that is how it takes the lock.
    took_away: bool,
}

/// One value that an attempt has written, with its last expiry.
#[derive(Debug, Clone)]
struct WrittenValue {
    node: usize,
    key: KeyName,
    set_ns: u64,
    ttl_ms: Option<i64>,
    /// The expiry was set in order to take the lock.
    at_first: bool,
}

/// A release that claimed success.
#[derive(Debug, Clone)]
struct Suspect {
    at_ns: u64,
    worker: usize,
    op: u64,
    /// Where its value was still there.
    kept: Vec<(usize, KeyName)>,
}

impl Claims {
    fn quorum(&self) -> usize {
        self.nodes / 2 + 1
    }

    fn found(&mut self, at_ns: u64, about: Claim, ops: Vec<u64>, statement: String) {
        let claim = FalseClaim {
            about,
            ops,
            statement,
        };
        self.found.push((at_ns, claim));
    }

    fn granted(&mut self, at_ns: u64, attempt: &Attempt) {
        let Some(written) = self.written.get(&attempt.op).cloned() else {
            return;
        };
        self.judge_expiry(at_ns, attempt, &written);
        self.judge_validity(at_ns, attempt, &written);
        self.judge_key(at_ns, attempt, &written);
    }

    /// "As long as you asked for."
    fn judge_expiry(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let asked_ms = i64::try_from(attempt.ttl_ns / 1_000_000).unwrap_or(i64::MAX);
        let most_ms = asked_ms.saturating_add(999) / 1000 * 1000;
        let wrong = written.lock_values().find_map(|value| {
            let ttl_ms = value.ttl_ms.filter(|_| value.at_first)?;
            let right = asked_ms - SLACK_MS..=most_ms + SLACK_MS;
            (!right.contains(&ttl_ms)).then_some((value.node, ttl_ms))
        });
        if let Some((node, ttl_ms)) = wrong {
            let statement = format!(
                "worker {} asked for a lease of {asked_ms} ms, and its key on node {node} was given {ttl_ms} ms",
                attempt.worker
            );
            self.found(at_ns, Claim::Expiry, vec![attempt.op], statement);
        }
    }

    /// "You have it, for so long."
    fn judge_validity(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        if !attempt.told {
            return;
        }
        let quorum = self.quorum();
        let mut over_ns: Vec<u64> = written.over_ns().collect();
        over_ns.sort_unstable_by(|one, other| other.cmp(one));
        let Some(worth_ns) = over_ns.get(quorum - 1).copied() else {
            if !written.took_away {
                let statement = format!(
                    "worker {} was told that it has the lock, and its value was written to {} of {} nodes",
                    attempt.worker,
                    over_ns.len(),
                    self.nodes
                );
                self.found(at_ns, Claim::Grant, vec![attempt.op], statement);
            }
            return;
        };
        let told_ns = attempt.deadline_ns;
        // A lease that is over when it is told promises nothing.
        if told_ns > at_ns && told_ns > worth_ns.saturating_add(SLACK_NS) {
            let more_ms = (told_ns - worth_ns) / 1_000_000;
            let statement = format!(
                "worker {} was told a lease that ends {more_ms} ms after the expiry that was written",
                attempt.worker
            );
            self.found(at_ns, Claim::Validity, vec![attempt.op], statement);
        }
    }

    /// "It is this lock."
    fn judge_key(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        for value in written.lock_values() {
            let place = (value.node, value.key.clone());
            let user = (attempt.key, attempt.op);
            let &mut (lock, op) = self.users.entry(place).or_insert(user);
            if lock != attempt.key {
                let name = |lock: u32| self.locks.get(lock as usize).map_or("?", String::as_str);
                let statement = format!(
                    "the locks `{}` and `{}` use one key, `{}`",
                    name(lock),
                    name(attempt.key),
                    value.key.text(&self.locks)
                );
                return self.found(at_ns, Claim::Key, vec![op, attempt.op], statement);
            }
        }
    }

    /// "It is free."
    fn released(&mut self, at_ns: u64, attempt: &Attempt) {
        let clocks = &self.clocks;
        let kept: Vec<(usize, KeyName)> = self
            .table
            .holdings()
            .filter(|(_, _, holding)| {
                let author = holding.author.as_ref();
                author.is_some_and(|author| {
                    author.op == attempt.op && author.worker == attempt.worker
                })
            })
            // A counter stays, and so does what has no expiry and another name.
            .filter(|(_, key, holding)| holding.ttl_ms.is_some() || matches!(key, KeyName::Lock(_)))
            .filter(|(node, _, holding)| {
                holding.ttl_ms.is_none_or(|ttl_ms| {
                    let ttl_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
                    clocks.over_ns(*node, holding.expiry_set_ns, ttl_ns) > at_ns + SLACK_NS
                })
            })
            .map(|(node, key, _)| (node, key.clone()))
            .collect();
        if kept.len() > self.nodes - self.quorum() {
            self.suspects.push(Suspect {
                at_ns,
                worker: attempt.worker,
                op: attempt.op,
                kept,
            });
        }
    }

    fn changed(&mut self, update: &Changed) {
        let Changed {
            node,
            key,
            worker,
            op,
            ..
        } = update;
        if !update.gone {
            self.nodes_used.insert(*node);
        }
        if update.gone {
            for suspect in &mut self.suspects {
                if suspect.op == *op && suspect.worker == *worker {
                    suspect.kept.retain(|kept| kept != &(*node, key.clone()));
                }
            }
            let keeps = self.nodes - self.quorum();
            self.suspects.retain(|suspect| suspect.kept.len() > keeps);
        }
        let written = self.written.entry(*op).or_default();
        let place = |value: &WrittenValue| value.node == *node && value.key == *key;
        match (update.gone, written.values.iter().position(place)) {
            (true, Some(index)) => {
                written.values.remove(index);
            }
            (true, None) => written.took_away = true,
            (false, known) => {
                let value = WrittenValue {
                    node: *node,
                    key: key.clone(),
                    set_ns: update.at_ns,
                    ttl_ms: update.ttl_ms,
                    at_first: update.phase == Phase::Acquire,
                };
                match known {
                    Some(index) => written.values[index] = value,
                    None => written.values.push(value),
                }
            }
        }
    }
}

impl Written {
    /// The values that are a lock's: they expire, or have its name.
    fn lock_values(&self) -> impl Iterator<Item = &WrittenValue> {
        self.values
            .iter()
            .filter(|value| value.ttl_ms.is_some() || matches!(value.key, KeyName::Lock(_)))
    }

    /// When the value on each node is over, by what was written.
    fn over_ns(&self) -> impl Iterator<Item = u64> {
        let mut nodes: HashMap<usize, u64> = HashMap::new();
        for value in self.lock_values() {
            let over_ns = value.ttl_ms.map_or(u64::MAX, |ttl_ms| {
                let ttl_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
                value.set_ns.saturating_add(ttl_ns)
            });
            let node = nodes.entry(value.node).or_insert(over_ns);
            *node = over_ns.min(*node);
        }
        nodes.into_values()
    }
}

/// A change that a worker's command made.
struct Changed {
    at_ns: u64,
    node: usize,
    key: KeyName,
    worker: usize,
    op: u64,
    phase: Phase,
    gone: bool,
    ttl_ms: Option<i64>,
}

impl Changed {
    /// `None`: no worker's command made it, or it changed another client's value.
    fn of(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let KeyChange::Command(command) = update.why else {
            return None;
        };
        let holding = update.now.or(update.before.as_ref())?;
        let author = holding.author.as_ref()?;
        let own = author.worker == command.worker && author.op == command.op;
        (own || update.now.is_none()).then(|| Changed {
            at_ns,
            node: update.node,
            key: update.key.clone(),
            worker: command.worker,
            op: command.op,
            phase: command.phase,
            gone: update.now.is_none(),
            ttl_ms: update.now.and_then(|now| now.ttl_ms),
        })
    }
}

impl Checker for Claims {
    const DESCRIPTION: Description = Description {
        letter: 'C',
        severity: 1,
        held: "what the lock said agrees with what it did",
        violated: "the lock said something untrue",
        not_applicable: "the history has no account of the servers' keys",
        page: include_str!("../../../../../docs/explain/claims.md"),
    };

    fn new(header: &Header) -> Self {
        Claims {
            custody: header.custody,
            nodes: header.nodes.max(1),
            locks: header.keys.clone(),
            table: KeyTable::default(),
            clocks: NodeClocks::default(),
            written: HashMap::new(),
            nodes_used: HashSet::new(),
            users: HashMap::new(),
            suspects: Vec::new(),
            found: Vec::new(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if !self.custody {
            return;
        }
        match step {
            Step::Begun => self.granted(at_ns, attempt),
            Step::LeaseMoved { .. } => {
                if let Some(written) = self.written.get(&attempt.op).cloned() {
                    self.judge_validity(at_ns, attempt, &written);
                }
            }
            Step::Answered { released, .. } => {
                if released == Some(true) {
                    self.released(at_ns, attempt);
                }
                self.written.remove(&attempt.op);
            }
            Step::Denied(_) | Step::Gone => {
                self.written.remove(&attempt.op);
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        if !self.custody {
            return;
        }
        self.clocks.event(event);
        let mut changed = None;
        self.table.event(event, |update| {
            changed = Changed::of(event.at_ns, &update);
        });
        if let Some(changed) = changed {
            self.changed(&changed);
        }
    }

    fn finish(mut self) -> Judgement {
        if !self.custody {
            return Judgement::NotApplicable;
        }
        for suspect in std::mem::take(&mut self.suspects) {
            let statement = format!(
                "worker {} was told that the lock is free, and its value stayed on {} of {} nodes",
                suspect.worker,
                suspect.kept.len(),
                self.nodes
            );
            self.found(suspect.at_ns, Claim::Release, vec![suspect.op], statement);
        }
        // A lock that only ever used one of several nodes asks for no majority.
        if self.nodes_used.len() == 1 && self.nodes > 1 {
            self.found.retain(|(_, claim)| claim.about != Claim::Grant);
        }
        let count = self.found.len() as u64;
        let first = self.found.into_iter().min_by_key(|(at_ns, _)| *at_ns);
        let first = first.map(|(at_ns, claim)| Finding {
            property: Property::Claims,
            at_ns,
            seen: Seen::FalseClaim(claim),
        });
        Judgement::of(first, count)
    }
}
