//! Ownership: no client's release or renewal takes away another client's lock.
//!
//! With custody it is seen on the servers: a command that a client sent to release or to extend its
//! lock removed or replaced a value that another client's acquisition had written. An attempt that
//! deletes another client's value while it takes its own back counts as a release too. A value that
//! never expires and has not the name of a lock is none (a counter, a list of those who wait). Neither
//! is a value that its writer was not granted the lock with: GETSET writes also where it finds that
//! another client has the lock. So a finding waits until the attempt that wrote the value is granted.
//!
//! Without custody it is judged from what clients said (`bare_ownership.rs`), and only as long as the
//! lock's own word held: once two leases overlapped, the two clients had the lock together anyway, and
//! the answer to a release does not show whose it was.

use std::collections::HashSet;

use picklock_scenarios::{Phase, Property};

use crate::check::bare_ownership::BareOwnership;
use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Finding, ForeignRelease, Judgement, Seen};
use crate::custody::{KeyTable, KeyUpdate};
use crate::history::{Event, Header, History, KeyChange, KeyCommand, KeyName};
use crate::timeline::{Attempt, AttemptTracker, Step};

/// The checker.
pub(in crate::check) struct Ownership {
    custody: bool,
    table: KeyTable,
    bare: BareOwnership,
    /// The latest attempt of each worker.
    attempts: Vec<Asked>,
    /// Values that were taken away before the attempts that wrote them were granted.
    waiting: Vec<Taken>,
    /// Attempts that were not granted, and left a value behind.
    losers: HashSet<u64>,
    violations: u64,
    first: Option<ForeignRelease>,
    /// All of them, where they are asked for.
    all: Option<Vec<ForeignRelease>>,
}

/// What is known of an attempt.
#[derive(Debug, Clone, Copy)]
struct Asked {
    op: u64,
    key: u32,
    granted: bool,
    released_ns: Option<u64>,
}

/// A value that another client's command took away.
#[derive(Debug, Clone)]
struct Taken {
    node: usize,
    key: KeyName,
    by: KeyCommand,
    /// Who had written it.
    owner: (usize, u64),
    at_ns: u64,
    extended: bool,
}

impl Ownership {
    fn found(&mut self, release: ForeignRelease) {
        self.violations += 1;
        if self
            .first
            .is_none_or(|first| release.struck_ns < first.struck_ns)
        {
            self.first = Some(release);
        }
        if let Some(all) = &mut self.all {
            all.push(release);
        }
    }

    /// An attempt is granted the lock: what was taken away from it before was its own.
    fn confirm(&mut self, owner: &Attempt) {
        let owner = (owner.worker, owner.op);
        let (own, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|taken| taken.owner == owner);
        self.waiting = waiting;
        let own: Vec<Taken> = own;
        own.iter().for_each(|taken| self.took(taken));
    }

    fn took(&mut self, taken: &Taken) {
        let by = &taken.by;
        let asked = self.attempts.get(by.worker);
        let asked = asked.filter(|asked| asked.op == by.op);
        self.found(ForeignRelease {
            key: asked.map_or(0, |asked| asked.key),
            releaser: by.op,
            owner: taken.owner.1,
            sent_ns: asked
                .and_then(|asked| asked.released_ns)
                .unwrap_or(taken.at_ns),
            struck_ns: taken.at_ns,
            extended: taken.extended,
        });
    }

    /// The last attempt of a worker is kept until its next: its commands may come late.
    fn note(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.attempts.len() <= attempt.worker {
            let none = Asked {
                op: 0,
                key: 0,
                granted: false,
                released_ns: None,
            };
            self.attempts.resize(attempt.worker + 1, none);
        }
        let asked = &mut self.attempts[attempt.worker];
        match step {
            Step::Asked => {
                *asked = Asked {
                    op: attempt.op,
                    key: attempt.key,
                    granted: false,
                    released_ns: None,
                };
            }
            Step::Begun => {
                asked.granted = true;
                self.confirm(attempt);
            }
            Step::Denied(_) | Step::Gone => {
                let owner = (attempt.worker, attempt.op);
                self.waiting.retain(|taken| taken.owner != owner);
                if !asked.granted && self.table.is_author(owner.0, owner.1) {
                    self.losers.insert(owner.1);
                }
            }
            Step::Ended(_) if asked.op == attempt.op => asked.released_ns = Some(at_ns),
            _ => {}
        }
    }
}

/// What a command took away, if another client's acquisition had written it.
fn taken(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Taken> {
    let KeyChange::Command(command) = update.why else {
        return None;
    };
    let before = update.before.as_ref()?;
    let author = before.author.as_ref()?;
    let is_lock = before.ttl_ms.is_some() || matches!(update.key, KeyName::Lock(_));
    let takes_away = match command.phase {
        // A lock that is taken over is a question of leases.
        Phase::Acquire => update.now.is_none(),
        Phase::Idle | Phase::Extend | Phase::Release => true,
    };
    let foreign = author.worker != command.worker && author.phase == Phase::Acquire;
    (is_lock && takes_away && foreign && update.ends_value()).then(|| Taken {
        node: update.node,
        key: update.key.clone(),
        by: command.clone(),
        owner: (author.worker, author.op),
        at_ns,
        extended: update.now.is_some(),
    })
}

/// Whose attempt wrote a value in order to take the lock.
fn writer(update: &KeyUpdate<'_>) -> Option<(usize, u64)> {
    let author = update.now?.author.as_ref()?;
    (author.phase == Phase::Acquire).then_some((author.worker, author.op))
}

impl Checker for Ownership {
    const DESCRIPTION: Description = Description {
        letter: 'O',
        severity: 1,
        held: "no client released another client's lock",
        violated: "released another client's lock",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../../../docs/explain/ownership.md"),
    };

    fn new(header: &Header) -> Self {
        let keys = if header.custody { 0 } else { header.keys.len() };
        Ownership {
            custody: header.custody,
            table: KeyTable::default(),
            bare: BareOwnership::new(keys),
            attempts: Vec::new(),
            waiting: Vec::new(),
            losers: HashSet::new(),
            violations: 0,
            first: None,
            all: None,
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.custody {
            return self.note(at_ns, attempt, step);
        }
        self.bare.step(at_ns, attempt, step);
        let found: Vec<ForeignRelease> = self.bare.take().collect();
        for release in found {
            self.found(release);
        }
    }

    fn event(&mut self, event: &Event) {
        let (mut now_taken, mut written) = (None, None);
        self.table.event(event, |update| {
            now_taken = taken(event.at_ns, &update);
            written = writer(&update).map(|owner| (update.node, update.key.clone(), owner));
        });
        // It wrote the value once more: the first one was not what it was granted the lock with.
        if let Some((node, key, owner)) = written {
            self.waiting
                .retain(|taken| (taken.node, &taken.key, taken.owner) != (node, &key, owner));
        }
        let Some(taken) = now_taken else {
            return;
        };
        match self.attempts.get(taken.owner.0) {
            Some(owner) if owner.op == taken.owner.1 && !owner.granted => self.waiting.push(taken),
            _ if self.losers.contains(&taken.owner.1) => {}
            _ => self.took(&taken),
        }
    }

    fn finish(self) -> Judgement {
        let finding = self.first.map(|first| Finding {
            property: Property::Ownership,
            at_ns: first.struck_ns,
            seen: Seen::ForeignRelease(first),
        });
        Judgement::of(finding, self.violations)
    }
}

/// All foreign releases of a history, in the order in which they showed.
pub(in crate::check) fn foreign_releases(history: &History) -> Vec<ForeignRelease> {
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut checker = Ownership::new(&history.header);
    checker.all = Some(Vec::new());
    for event in &history.events {
        let followed = tracker.event(event, |attempt, step| {
            checker.step(event.at_ns, attempt, step);
        });
        if !followed {
            checker.event(event);
        }
    }
    checker.all.unwrap_or_default()
}
