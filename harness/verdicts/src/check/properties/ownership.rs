//! Ownership: no client's release or renewal takes away another client's lock.
//!
//! With custody it is seen on the servers: a command that a client sent to release or to extend its
//! lock removed or replaced a value that another client's acquisition had written. An attempt that
//! deletes another client's value while it takes its own back counts as a release too. A value that
//! never expires and has not the name of a lock is none (a counter, a list of those who wait).
//!
//! Without custody it is judged from what clients said (`bare_ownership.rs`), and only as long as the
//! lock's own word held: once two leases overlapped, the two clients had the lock together anyway, and
//! the answer to a release does not show whose it was.

use picklock_scenarios::{Phase, Property};

use crate::check::bare_ownership::BareOwnership;
use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Finding, ForeignRelease, Judgement, Seen};
use crate::custody::{KeyTable, KeyUpdate};
use crate::history::{Event, Header, History, KeyChange, KeyName};
use crate::timeline::{Attempt, AttemptTracker, Step};

/// The checker.
pub(in crate::check) struct Ownership {
    custody: bool,
    table: KeyTable,
    bare: BareOwnership,
    /// The lock's key of each attempt that is under way, and when its release was sent.
    attempts: Vec<Asked>,
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
    released_ns: Option<u64>,
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

    /// The last attempt of a worker is kept until its next: its commands may come late.
    fn note(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.attempts.len() <= attempt.worker {
            let none = Asked {
                op: 0,
                key: 0,
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
                    released_ns: None,
                };
            }
            Step::Ended(_) if asked.op == attempt.op => asked.released_ns = Some(at_ns),
            _ => {}
        }
    }
}

/// The command, if it took away what another client's acquisition had written.
fn foreign(update: &KeyUpdate<'_>) -> Option<(u64, usize, u64, bool)> {
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
    (is_lock && takes_away && foreign && update.ends_value()).then_some((
        command.op,
        command.worker,
        author.op,
        update.now.is_some(),
    ))
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
        let mut found = None;
        self.table.event(event, |update| found = foreign(&update));
        let Some((op, worker, owner, extended)) = found else {
            return;
        };
        let asked = self.attempts.get(worker).filter(|asked| asked.op == op);
        self.found(ForeignRelease {
            key: asked.map_or(0, |asked| asked.key),
            releaser: op,
            owner,
            sent_ns: asked
                .and_then(|asked| asked.released_ns)
                .unwrap_or(event.at_ns),
            struck_ns: event.at_ns,
            extended,
        });
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
