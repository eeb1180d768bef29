//! Ownership: no client's release or renewal takes away another client's lock, or takes part in it.
//!
//! With key history it is seen on the servers: a command that a client sent to release or to extend its
//! lock removed, replaced or prolonged a value that another client's acquisition had written. A renewal that
//! keeps another client's value alive takes part in a lock that is not its own. A value that
//! never expires and has not the name of a lock is none (a counter, a list of those who wait).
//!
//! An attempt that had taken a key and prolongs what stands there now renews it, too.
//!
//! A removal in an acquisition takes the lock over if the owner's lease had run out by then, or if the attempt is
//! the next to write there: that is a question of leases. One that removes a running lease and writes nothing
//! (it undoes what was not its own, or came late, from an earlier release) counts as a release.
//!
//! A value that was written on a free key is its writer's, whether or not its writer learns that it has
//! the lock. One that was written over another may be none: GETSET writes also where it finds that
//! another client has the lock. So a finding waits until the attempt that wrote it is granted, and if
//! that attempt writes the value once more, the first one was not what it was granted the lock with.
//!
//! Without key history it is judged from what clients said (`ownership_from_answers.rs`), and only as long as the
//! lock's own word held: once two leases overlapped, the two clients had the lock together anyway, and
//! the answer to a release does not show whose it was.

use std::collections::HashMap;

use picklock_scenarios::Phase;

use crate::check::checker::Checker;
use crate::check::claims::taken_value::TakenValue;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{ForeignRelease, Judgement, Seen, Taking};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::overlap;
use crate::check::ownership_from_answers::{self, Claim};
use crate::check::properties::lease;
use crate::history::{Header, KeyName};
use crate::key_history::{KeyTable, KeyUpdate};
use crate::timeline::{Attempt, AttemptTracker, HoldEnd, Step, Timeline};

/// The checker.
#[derive(Default)]
pub(in crate::check) struct Ownership {
    key_history: bool,
    /// Without key history: the releases that claimed success.
    claims: Vec<Claim>,
    /// The latest attempt of each worker.
    attempts: Vec<Asked>,
    /// The places that the latest attempt of each worker has written.
    written: Vec<(u64, Vec<usize>)>,
    /// The places of keys whose value was written over another, by an attempt that is not granted: which
    /// one.
    unproven: HashMap<usize, u64>,
    /// What was taken away, and is a finding only if something does not come, or comes.
    open: Vec<PendingFinding>,
    found: Vec<ForeignRelease>,
}

/// A command that took a value, of which it is not known yet whether that was another client's lock.
#[derive(Debug)]
struct PendingFinding {
    release: ForeignRelease,
    place: usize,
    /// Whose value it was, while that attempt is not granted.
    ungranted: Option<(usize, u64)>,
    /// The attempt that removed it in order to acquire, while nobody has written there since: it may take the lock
    /// over.
    takeover: Option<u64>,
}

/// What is known of an attempt.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    op: u64,
    key: u32,
    answer: Answer,
    /// Until when its lease runs at least.
    deadline_ns: u64,
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
    /// All foreign releases, and whether another one may have been of another master.
    fn releases(mut self, timeline: &Timeline<'_>) -> (Vec<ForeignRelease>, bool) {
        match self.key_history {
            true => {
                let open = self.open.into_iter();
                let granted = open.filter(|open| open.ungranted.is_none());
                self.found.extend(granted.map(|open| open.release));
                (self.found, false)
            }
            false => ownership_from_answers::foreign_releases(&self.claims, timeline),
        }
    }

    /// An attempt is granted the lock: what was taken away from it before was its own.
    fn confirm(&mut self, owner: &Attempt) {
        self.unproven.retain(|_, op| *op != owner.op);
        let owner = (owner.worker, owner.op);
        for open in &mut self.open {
            open.ungranted = open.ungranted.filter(|of| *of != owner);
        }
        self.close();
    }

    /// What nothing can change any more is a finding.
    fn close(&mut self) {
        let is_open =
            |open: &mut PendingFinding| open.ungranted.is_none() && open.takeover.is_none();
        let closed = self.open.extract_if(.., is_open);
        self.found.extend(closed.map(|open| open.release));
    }

    /// An attempt, if it is the last of its worker.
    fn asked(&self, (worker, op): (usize, u64)) -> Option<&Asked> {
        self.attempts.get(worker).filter(|asked| asked.op == op)
    }

    /// A command took this value. `is_unproven`: it is its writer's lock only if that attempt is granted.
    fn took(&mut self, taken: &TakenValue, is_unproven: bool) {
        let acquires = taken.is_of_acquisition();
        let is_finding = match (taken.how, acquires) {
            // Who waits may keep what it finds alive. An attempt that had taken the key renews what is not its own.
            (Taking::Prolonged, true) => {
                let written = self.written.get(taken.by.worker);
                written
                    .is_some_and(|(op, places)| *op == taken.by.op && places.contains(&taken.place))
            }
            (_, true) => self.lease_runs(taken),
            (_, false) => true,
        };
        if is_finding {
            let may_take_over = acquires && taken.how != Taking::Prolonged;
            self.open.push(PendingFinding {
                release: self.foreign(taken),
                place: taken.place,
                ungranted: is_unproven.then_some(taken.owner),
                takeover: may_take_over.then_some(taken.by.op),
            });
            self.close();
        }
    }

    /// The key that an attempt has freed is written again: by itself, or it took nothing over.
    fn settle_takeovers(&mut self, update: &KeyUpdate<'_>) {
        let by = update.command();
        let takes = |op: u64| by.is_some_and(|by| (by.op, by.phase) == (op, Phase::Acquire));
        let is_here = |open: &PendingFinding| open.place == update.place;
        self.open
            .retain(|open| !(is_here(open) && open.takeover.is_some_and(takes)));
        for open in self.open.iter_mut().filter(|open| is_here(open)) {
            open.takeover = None;
        }
        self.close();
    }

    /// True if the owner's lease was certainly running when its value was removed.
    fn lease_runs(&self, taken: &TakenValue) -> bool {
        let owner = self.asked(taken.owner);
        owner.is_some_and(|owner| {
            owner.answer != Answer::Denied
                && owner.released_ns.is_none()
                && taken.at_ns < owner.deadline_ns
        })
    }

    fn foreign(&self, taken: &TakenValue) -> ForeignRelease {
        let releaser = self.asked((taken.by.worker, taken.by.op));
        let named = match taken.key {
            KeyName::Lock(lock) => lock,
            KeyName::Other(_) => 0,
        };
        let key = releaser.or(self.asked(taken.owner));
        ForeignRelease {
            key: key.map_or(named, |asked| asked.key),
            releaser: taken.by.op,
            owner: taken.owner.1,
            owned_ns: taken.written_ns,
            sent_ns: (releaser.and_then(|asked| asked.released_ns)).unwrap_or(taken.at_ns),
            fired_at_ns: taken.at_ns,
            how: taken.how,
        }
    }

    /// The last attempt of a worker is kept until its next: its commands may come late.
    fn note(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.attempts.len() <= attempt.worker {
            self.attempts.resize(attempt.worker + 1, Asked::default());
        }
        let asked = &mut self.attempts[attempt.worker];
        match step {
            Step::Requested => {
                *asked = Asked {
                    op: attempt.op,
                    key: attempt.key,
                    deadline_ns: attempt.acquire_ns.saturating_add(attempt.ttl_ns),
                    ..Asked::default()
                };
            }
            Step::LeaseMoved { .. } if asked.op == attempt.op => {
                asked.deadline_ns = attempt.deadline_ns;
            }
            Step::Begun => {
                asked.answer = Answer::Granted;
                asked.deadline_ns = attempt.deadline_ns;
                self.confirm(attempt);
            }
            Step::Denied(_) | Step::Gone => {
                if asked.answer == Answer::Awaited {
                    asked.answer = Answer::Denied;
                }
                let owner = (attempt.worker, attempt.op);
                self.open.retain(|open| open.ungranted != Some(owner));
            }
            // A client that was killed has given nothing back.
            Step::Ended(HoldEnd::Released) if asked.op == attempt.op => {
                asked.released_ns = Some(at_ns);
            }
            _ => {}
        }
    }

    fn record_written(&mut self, (worker, op): (usize, u64), place: usize) {
        if self.written.len() <= worker {
            self.written.resize_with(worker + 1, Default::default);
        }
        let (latest, places) = &mut self.written[worker];
        if *latest != op {
            (*latest, *places) = (op, Vec::new());
        }
        if !places.contains(&place) {
            places.push(place);
        }
    }

    /// An attempt has written a value, or written it once more.
    fn wrote(&mut self, update: &KeyUpdate<'_>, writer: (usize, u64)) {
        let op = writer.1;
        let author = update.now.and_then(|now| now.author);
        if author.is_some_and(|author| author.is_of(writer.0, op)) {
            self.record_written(writer, update.place);
        }
        self.open
            .retain(|open| (open.place, open.ungranted) != (update.place, Some(writer)));
        let is_new =
            update.before.as_ref().map(|before| before.serial) != update.now.map(|now| now.serial);
        let on_free_key = update.now.is_some_and(|now| now.on_free_key);
        let asked = self.asked(writer);
        let is_granted = asked.is_some_and(|asked| asked.answer == Answer::Granted);
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
        page: include_str!("../../../explain/ownership.md"),
    };

    fn new(header: &Header) -> Self {
        Ownership {
            key_history: header.key_history,
            ..Ownership::default()
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.key_history {
            return self.note(at_ns, attempt, step);
        }
        self.claims.extend(Claim::from_step(attempt, step));
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        if update.now.is_some() && !self.open.is_empty() {
            self.settle_takeovers(update);
        }
        // Who prolongs a value leaves it as unproven as it was.
        let unproven = match update.ends_value() {
            true => self.unproven.remove(&update.place),
            false => self.unproven.get(&update.place).copied(),
        };
        if let Some(taken) = TakenValue::from_update(at_ns, update) {
            let owner = self.asked(taken.owner);
            let is_asking = owner.is_some_and(|owner| owner.answer == Answer::Awaited);
            match unproven {
                None => self.took(&taken, false),
                Some(_) if is_asking => self.took(&taken, true),
                Some(_) => {}
            }
        }
        if let Some(command) = update.command()
            && command.phase == Phase::Acquire
            && update.now.is_some()
        {
            self.wrote(update, (command.worker, command.op));
        }
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        let key_history = self.key_history;
        let (found, in_doubt) = self.releases(timeline);
        if in_doubt && found.is_empty() {
            return Judgement::Unknown(InconclusiveReason::TwoMasters);
        }
        let found = found.into_iter();
        let found = found.map(|release| (release.fired_at_ns, Seen::ForeignRelease(release)));
        let judgement = Judgement::of(found.collect());
        let Judgement::Violated { first, .. } = &judgement else {
            return judgement;
        };
        match lease::judge_leases(timeline.holds(), overlap::ALL) {
            // It may have been of the client's own lock: both had been let in.
            Judgement::Violated { first: shared, .. }
                if !key_history && shared.at_ns <= first.at_ns =>
            {
                Judgement::Unknown(InconclusiveReason::OwnerUnknown)
            }
            _ => judgement,
        }
    }
}

/// All foreign releases of a history, in the order in which they showed.
pub(in crate::check) fn foreign_releases(timeline: &Timeline<'_>) -> Vec<ForeignRelease> {
    let history = timeline.history();
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut checker = Ownership::new(&history.header);
    let mut keys = KeyTable::default();
    for event in &history.events {
        tracker.event(event, |attempt, step| {
            checker.step(event.at_ns, attempt, step);
        });
        if history.header.key_history {
            keys.event(event, |update| checker.key_changed(event.at_ns, &update));
        }
    }
    checker.releases(timeline).0
}
