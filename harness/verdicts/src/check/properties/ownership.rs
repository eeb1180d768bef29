//! Ownership: no client's release or renewal takes away another client's lock.
//!
//! With custody it is seen on the servers: a command that a client sent to release or to extend its
//! lock removed or replaced a value that another client's acquisition had written. An attempt that
//! deletes another client's value while it takes its own back counts as a release too. A value that
//! never expires and has not the name of a lock is none (a counter, a list of those who wait).
//!
//! A value that was written on a free key is its writer's, whether or not its writer learns that it has
//! the lock. One that was written over another may be none: GETSET writes also where it finds that
//! another client has the lock. So a finding waits until the attempt that wrote it is granted, and if
//! that attempt writes the value once more, the first one was not what it was granted the lock with.
//!
//! Without custody it is judged from what clients said (`bare_ownership.rs`), and only as long as the
//! lock's own word held: once two leases overlapped, the two clients had the lock together anyway, and
//! the answer to a release does not show whose it was. Nor does it where a node had two masters
//! (`two_masters.rs`).

use std::collections::HashMap;

use picklock_scenarios::{Phase, Property};

use crate::check::bare_ownership::BareOwnership;
use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Finding, ForeignRelease, Judgement, Seen};
use crate::check::taken_value::TakenValue;
use crate::check::two_masters::TwoMasters;
use crate::check::unjudged::Unjudged;
use crate::custody::{KeyTable, KeyUpdate};
use crate::history::{Event, Header, History, KeyName};
use crate::timeline::{Attempt, AttemptTracker, Hold, Step};

/// Why a release that succeeded is no proof.
/// The checker.
pub(in crate::check) struct Ownership {
    custody: bool,
    bare: BareOwnership,
    two_masters: TwoMasters,
    /// A release seemed to take another client's lock, and may have been of another master.
    in_doubt: bool,
    /// The latest attempt of each worker.
    attempts: Vec<Asked>,
    /// The places of keys whose value was written over another, by an attempt that is not granted: which
    /// one.
    unproven: HashMap<usize, u64>,
    /// Such values that were taken away while their attempts were under way.
    waiting: Vec<TakenValue>,
    violations: u64,
    first: Option<ForeignRelease>,
    /// All of them, where they are asked for.
    all: Option<Vec<ForeignRelease>>,
}

/// What is known of an attempt.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    op: u64,
    key: u32,
    answer: Answer,
    released_ns: Option<u64>,
}

/// What an attempt was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Answer {
    #[default]
    Awaited,
    Granted,
    /// It was denied, or will never be answered.
    Denied,
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
        self.unproven.retain(|_, op| *op != owner.op);
        let of_owner = |taken: &TakenValue| taken.owner == (owner.worker, owner.op);
        let (own, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(of_owner);
        self.waiting = waiting;
        own.iter().for_each(|taken| self.took(taken));
    }

    /// An attempt, if it is the last of its worker.
    fn asked(&self, (worker, op): (usize, u64)) -> Option<&Asked> {
        self.attempts.get(worker).filter(|asked| asked.op == op)
    }

    fn took(&mut self, taken: &TakenValue) {
        let releaser = self.asked((taken.by.worker, taken.by.op));
        let named = match taken.key {
            KeyName::Lock(lock) => lock,
            KeyName::Other(_) => 0,
        };
        let key = releaser.or(self.asked(taken.owner));
        self.found(ForeignRelease {
            key: key.map_or(named, |asked| asked.key),
            releaser: taken.by.op,
            owner: taken.owner.1,
            owned_ns: taken.written_ns,
            sent_ns: releaser
                .and_then(|asked| asked.released_ns)
                .unwrap_or(taken.at_ns),
            struck_ns: taken.at_ns,
            extended: taken.extended,
        });
    }

    /// The last attempt of a worker is kept until its next: its commands may come late.
    fn note(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.attempts.len() <= attempt.worker {
            self.attempts.resize(attempt.worker + 1, Asked::default());
        }
        let asked = &mut self.attempts[attempt.worker];
        match step {
            Step::Asked => {
                *asked = Asked {
                    op: attempt.op,
                    key: attempt.key,
                    answer: Answer::Awaited,
                    released_ns: None,
                };
            }
            Step::Begun => {
                asked.answer = Answer::Granted;
                self.confirm(attempt);
            }
            Step::Denied(_) | Step::Gone => {
                if asked.answer == Answer::Awaited {
                    asked.answer = Answer::Denied;
                }
                let owner = (attempt.worker, attempt.op);
                self.waiting.retain(|taken| taken.owner != owner);
            }
            Step::Ended(_) if asked.op == attempt.op => asked.released_ns = Some(at_ns),
            _ => {}
        }
    }

    /// An attempt has written a value, or written it once more.
    fn written(&mut self, update: &KeyUpdate<'_>, writer: (usize, u64)) {
        let op = writer.1;
        self.waiting
            .retain(|taken| (taken.place, taken.owner.1) != (update.place, op));
        let is_new =
            update.before.as_ref().map(|before| before.serial) != update.now.map(|now| now.serial);
        let on_free_key = update.now.is_some_and(|now| now.on_free_key);
        let is_granted = self
            .asked(writer)
            .is_some_and(|asked| asked.answer == Answer::Granted);
        if is_new && !on_free_key && !is_granted {
            self.unproven.insert(update.place, op);
        }
    }
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
            bare: BareOwnership::new(keys),
            two_masters: TwoMasters::default(),
            in_doubt: false,
            attempts: Vec::new(),
            unproven: HashMap::new(),
            waiting: Vec::new(),
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
            match self.two_masters.touch(release.owned_ns, release.struck_ns) {
                true => self.in_doubt = true,
                false => self.found(release),
            }
        }
    }

    fn event(&mut self, event: &Event) {
        if !self.custody {
            self.two_masters.event(event);
        }
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        let unproven = match update.ends_value() && !self.unproven.is_empty() {
            true => self.unproven.remove(&update.place),
            false => None,
        };
        if let Some(taken) = TakenValue::of(at_ns, update) {
            let owner = self.asked(taken.owner);
            let is_asking = owner.is_some_and(|owner| owner.answer == Answer::Awaited);
            match unproven {
                None => self.took(&taken),
                Some(_) if is_asking => self.waiting.push(taken),
                Some(_) => {}
            }
        }
        if let Some(command) = update.command()
            && command.phase == Phase::Acquire
            && update.now.is_some()
        {
            self.written(update, (command.worker, command.op));
        }
    }

    fn finish(self, _: &[Hold]) -> Judgement {
        if self.in_doubt && self.first.is_none() {
            return Judgement::Unknown(Unjudged::TwoMasters);
        }
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
    let mut keys = history.header.custody.then(KeyTable::default);
    checker.all = Some(Vec::new());
    for event in &history.events {
        let followed = tracker.event(event, |attempt, step| {
            checker.step(event.at_ns, attempt, step);
        });
        if let (false, Some(keys)) = (followed, &mut keys) {
            keys.event(event, |update| checker.key_changed(event.at_ns, &update));
        }
        if !followed {
            checker.event(event);
        }
    }
    checker.all.unwrap_or_default()
}
