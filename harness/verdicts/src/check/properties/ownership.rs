//! Ownership: no client's release or renewal takes away or prolongs another client's lock.
//!
//! With key history, the servers show it:
//!
//! - *A command took a value.* A command that a client sent to release or to extend its lock removed, replaced or
//!   prolonged a value that another client's acquisition had written.
//! - *A late renewal.* If an attempt had taken a key and later prolongs another client's value there, the command
//!   counts as a renewal, too.
//! - *A removal during an acquisition.* It takes the lock over if the owner's lease had run out by then. That is judged
//!   by the property `lease`. If the owner's lease was still running, the removal counts as a release, whether or not
//!   the attempt writes the key afterwards. The attempt then undid a value that it had not written, deleted the key in
//!   order to take it, or the command is a delayed one of an earlier release.
//! - *A permit.* A permit of a semaphore, or a hold in the hash of a read/write lock, has no expiry on the server. When
//!   its owner's lease has run out, any command may remove it, and the release of another holder often does.
//! - *A late release of the own lock.* A release can also arrive so late that its own client holds the lock again. A
//!   removal counts as such a late release if it was sent outside every request and not by a script, if it removes a
//!   value of the same client whose lease was running, and if that client had released another hold of the lock at most
//!   one lease before. If the client was restarted in the meantime, the removal does not belong to an earlier release.
//! - *A value over another value.* A value that was written to a free key belongs to its writer, whether or not the
//!   writer learns that it has the lock. A value that replaced another value need not be a lock: `GETSET` writes even
//!   if another client has the lock. So a finding stays pending until the attempt that wrote the value is granted. If
//!   that attempt writes the value again, the grant does not rest on the first write.
//!
//! These values are not locks:
//!
//! - *A value without expiry.* A value that never expires and does not have the name of a lock, for example a counter
//!   or a list of waiting clients.
//! - *A queue.* A collection is a queue of waiting clients if its key never contained the token of a grant, although
//!   another key did. A release may take the next ticket from such a queue.
//! - *A constant.* If acquisitions write a key whose name contains the lock's name, a key whose name contains no lock's
//!   name, and into which several clients write the same value, is not a lock. An example is a key that each client
//!   sets for a moment to find out what the server supports.
//!
//! Without key history, ownership is judged from the clients' answers (`ownership_from_answers.rs`), and only until the
//! first overlap of two leases. After that, the two clients shared the lock anyway, and the answer to a release does
//! not show whose lock it released.

use std::collections::{BTreeSet, HashMap};

use picklock_scenarios::Phase;

use crate::check::checker::Checker;
use crate::check::claims::taken_value::{TakenValue, queues};
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{ForeignTaking, Judgement, Observation, Taking, key_history_gap};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::overlap;
use crate::check::ownership_from_answers::{self, ReleaseClaim};
use crate::check::properties::lease;
use crate::history::{Event, EventKind, Header, KeyName};
use crate::key_history::{KeyTable, KeyUpdate, Locks};
use crate::timeline::{Attempt, AttemptTracker, HoldEnd, Step, Timeline};

/// The checker.
#[derive(Default)]
pub(in crate::check) struct Ownership {
    key_history: bool,
    /// Why the key history of an observed run is incomplete, or `None` if it is complete.
    gap: Option<InconclusiveReason>,
    /// Without key history, the releases that reported success after another client had got the lock.
    claims: Vec<ReleaseClaim>,
    /// Without key history, the attempt that got each lock last.
    latest_grants: Vec<Option<u64>>,
    /// The latest attempt of each worker.
    attempts: Vec<AttemptState>,
    /// The latest attempt of each worker, with the numbers of the keys that it has written.
    written: Vec<(u64, Vec<usize>)>,
    /// The latest release of each worker.
    releases: Vec<LastRelease>,
    /// The attempts that wrote over another value and have not been granted the lock, by the number of the key.
    unproven: HashMap<usize, u64>,
    pending: Vec<PendingFinding>,
    found: Vec<ForeignTaking>,
    /// The findings about collections, each with the collection's node and key.
    collections: HashMap<ForeignTaking, (usize, KeyName)>,
    /// The names of the locks.
    names: Vec<String>,
    /// The locks, by their position in `names`, for which acquisitions wrote a key that contains the lock's name.
    named: BTreeSet<u32>,
    /// Every finding, with `true` if it is only about constants in keys whose name contains no lock's name.
    unnamed: HashMap<ForeignTaking, bool>,
}

/// A command that took a value which may turn out not to be another client's lock.
#[derive(Debug)]
struct PendingFinding {
    taking: ForeignTaking,
    key_number: usize,
    /// The attempt that owned the value, until it is granted the lock; `None` afterwards.
    ungranted: Option<(usize, u64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct AttemptState {
    op: u64,
    lock: u32,
    answer: Answer,
    /// The earliest possible end of its lease.
    deadline_ns: u64,
    released_ns: Option<u64>,
}

/// The latest release of a worker.
#[derive(Debug, Clone, Copy, Default)]
struct LastRelease {
    op: u64,
    lock: u32,
    /// The last time at which a command still counts as part of this release: one lease after the release was sent. 0
    /// if the worker has released nothing.
    late_until_ns: u64,
}

/// The answer to an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Answer {
    #[default]
    Awaited,
    Granted,
    /// The attempt was denied, or will never be answered.
    Denied,
}

impl Ownership {
    /// Returns all foreign releases, and `true` if a further release is in doubt because a node had two masters.
    fn releases(mut self, timeline: &Timeline<'_>) -> (Vec<ForeignTaking>, bool) {
        if !self.key_history {
            return ownership_from_answers::foreign_takings(&self.claims, timeline);
        }
        let granted = (self.pending.into_iter()).filter(|pending| pending.ungranted.is_none());
        self.found.extend(granted.map(|pending| pending.taking));
        let queued = queues(timeline, self.collections.values());
        let is_of_queue = |taking: &ForeignTaking| {
            let place = self.collections.get(taking);
            place.is_some_and(|place| queued.contains(&place))
        };
        let is_beside_lock = |taking: &ForeignTaking| {
            self.unnamed.get(taking) == Some(&true) && self.named.contains(&taking.lock)
        };
        self.found
            .retain(|taking| !is_of_queue(taking) && !is_beside_lock(taking));
        (self.found, false)
    }

    /// Records that an attempt was granted the lock. So the values that other commands took from it before were its
    /// lock.
    fn confirm(&mut self, owner: &Attempt) {
        self.unproven.retain(|_, op| *op != owner.op);
        let owner = (owner.worker, owner.op);
        for pending in &mut self.pending {
            pending.ungranted = pending.ungranted.filter(|attempt| *attempt != owner);
        }
        self.settle();
    }

    /// Moves findings that no later event can change from `pending` to `found`.
    fn settle(&mut self) {
        let is_settled = |pending: &mut PendingFinding| pending.ungranted.is_none();
        let settled = self.pending.extract_if(.., is_settled);
        self.found.extend(settled.map(|pending| pending.taking));
    }

    /// Returns the state of an attempt if it is the latest of its worker.
    fn attempt(&self, (worker, op): (usize, u64)) -> Option<&AttemptState> {
        self.attempts.get(worker).filter(|attempt| attempt.op == op)
    }

    /// Records that a command took this value. If `is_unproven`, the value is its writer's lock only if that attempt is
    /// granted.
    fn record_taken(&mut self, taken: &TakenValue, is_unproven: bool) {
        if !self.is_foreign_taking(taken) {
            return;
        }
        let taking = self.foreign_taking(taken);
        // Several clients write the same value there: a constant, and no token.
        let is_constant = taken.is_of_acquisition() && taken.how == Taking::Prolonged;
        let is_unnamed = is_constant && !taken.is_permit() && self.named_by(&taken.key).is_none();
        *self.unnamed.entry(taking).or_insert(true) &= is_unnamed;
        if taken.is_collection {
            let place = (taken.node, taken.key.clone());
            self.collections.insert(taking, place);
        }
        self.pending.push(PendingFinding {
            taking,
            key_number: taken.key_number,
            ungranted: is_unproven.then_some(taken.owner),
        });
        self.settle();
    }

    /// Returns `true` if the command must not have affected the owner's value. A command of an acquisition may do so in
    /// two cases: after the owner's lease, and to prolong a value that its attempt has not written. Any command may
    /// remove a permit after its owner's lease.
    fn is_foreign_taking(&self, taken: &TakenValue) -> bool {
        let is_prolonged = taken.how == Taking::Prolonged;
        if taken.is_of_acquisition() && is_prolonged {
            // After writing the key itself, the attempt renews a value that is no longer its own.
            self.has_written(taken)
        } else if taken.is_of_acquisition() {
            self.lease_runs(taken)
        } else if taken.is_permit() && !is_prolonged {
            let owner = self.attempt(taken.owner);
            owner.is_some_and(|owner| taken.at_ns < owner.deadline_ns)
        } else {
            true
        }
    }

    /// Returns `true` if the command's attempt had written the key before.
    fn has_written(&self, taken: &TakenValue) -> bool {
        let written = self.written.get(taken.by.worker);
        written.is_some_and(|(op, keys)| *op == taken.by.op && keys.contains(&taken.key_number))
    }

    /// Returns `true` if the owner's lease was certainly running when its value was removed.
    fn lease_runs(&self, taken: &TakenValue) -> bool {
        let owner = self.attempt(taken.owner);
        owner.is_some_and(|owner| {
            owner.answer != Answer::Denied
                && owner.released_ns.is_none()
                && taken.at_ns < owner.deadline_ns
        })
    }

    fn foreign_taking(&self, taken: &TakenValue) -> ForeignTaking {
        let taker = self.attempt((taken.by.worker, taken.by.op));
        // The command may belong to an earlier attempt of its client, for another lock than the current one.
        let known = self.attempt(taken.owner).map(|owner| owner.lock);
        let known = known.or_else(|| taken.key.lock());
        ForeignTaking {
            lock: known.or(taker.map(|taker| taker.lock)).unwrap_or(0),
            taker: taken.by.op,
            owner: taken.owner.1,
            owned_ns: taken.written_ns,
            sent_ns: (taker.and_then(|attempt| attempt.released_ns))
                .or(taken.by.sent_ns)
                .unwrap_or(taken.at_ns),
            took_effect_ns: taken.at_ns,
            how: taken.how,
        }
    }

    /// Records a step of an attempt. The latest attempt of a worker is remembered until its next one, because its
    /// commands may arrive late. Not inlined, so that a step costs little without a key history.
    #[inline(never)]
    fn record_step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.attempts.len() <= attempt.worker {
            self.attempts
                .resize(attempt.worker + 1, AttemptState::default());
        }
        let state = &mut self.attempts[attempt.worker];
        match step {
            Step::Requested => {
                *state = AttemptState {
                    op: attempt.op,
                    lock: attempt.lock,
                    deadline_ns: attempt.acquire_ns.saturating_add(attempt.ttl_ns),
                    ..AttemptState::default()
                };
            }
            Step::LeaseMoved if state.op == attempt.op => {
                state.deadline_ns = attempt.deadline_ns;
            }
            Step::Begun => {
                state.answer = Answer::Granted;
                state.deadline_ns = attempt.deadline_ns;
                self.confirm(attempt);
            }
            Step::Denied(_) | Step::Gone => {
                if state.answer == Answer::Awaited {
                    state.answer = Answer::Denied;
                }
                let owner = (attempt.worker, attempt.op);
                self.pending
                    .retain(|pending| pending.ungranted != Some(owner));
            }
            // A client that was killed has released nothing.
            Step::Ended(HoldEnd::Released) if state.op == attempt.op => {
                state.released_ns = Some(at_ns);
                if self.releases.len() <= attempt.worker {
                    self.releases
                        .resize(attempt.worker + 1, LastRelease::default());
                }
                self.releases[attempt.worker] = LastRelease {
                    op: attempt.op,
                    lock: attempt.lock,
                    late_until_ns: at_ns.saturating_add(attempt.ttl_ns),
                };
            }
            _ => {}
        }
    }

    /// Records the claim of an attempt that it has released its lock, unless the lock was certainly its own.
    #[inline(never)]
    fn record_claim(&mut self, at_ns: u64, attempt: &Attempt) {
        let latest = self.latest_grants.get(attempt.lock as usize);
        let is_latest = latest.is_some_and(|latest| *latest == Some(attempt.op));
        let claim = ReleaseClaim::new(attempt);
        self.claims
            .extend(claim.filter(|claim| !is_latest || !claim.is_over(at_ns)));
    }

    /// Returns `true` if a late release of an earlier hold removed the running value of its own client.
    fn is_late_release(&self, taken: &TakenValue) -> bool {
        let last = self.releases.get(taken.by.worker);
        let is_late = |last: &LastRelease| {
            let owner = self.attempt(taken.owner);
            owner.is_some_and(|owner| owner.lock == last.lock && owner.op != last.op)
                && taken.at_ns <= last.late_until_ns
        };
        let is_outside = taken.by.phase == Phase::Idle && !taken.by.is_script();
        is_outside && last.is_some_and(is_late) && self.lease_runs(taken)
    }

    /// Returns the lock whose name the key's name is or contains.
    fn named_by(&self, key: &KeyName) -> Option<u32> {
        let locks = Locks::by_name(&self.names);
        locks
            .named_by(key)
            .and_then(|lock| u32::try_from(lock).ok())
    }

    fn record_written(&mut self, (worker, op): (usize, u64), key_number: usize) {
        if self.written.len() <= worker {
            self.written.resize_with(worker + 1, Default::default);
        }
        let (latest, keys) = &mut self.written[worker];
        if *latest != op {
            (*latest, *keys) = (op, Vec::new());
        }
        if !keys.contains(&key_number) {
            keys.push(key_number);
        }
    }

    /// Handles a value that an attempt has written, possibly again.
    fn handle_written(&mut self, update: &KeyUpdate<'_>, writer: (usize, u64)) {
        let op = writer.1;
        let expires = update.now.is_some_and(|now| now.expiry.is_some());
        if update.key.may_hold_lock(expires) {
            let named = self.named_by(update.key);
            self.named.extend(named);
        }
        let author = update.now.and_then(|now| now.author);
        if author.is_some_and(|author| author.is_of(writer.0, op)) {
            self.record_written(writer, update.key_number);
        }
        self.pending.retain(|pending| {
            (pending.key_number, pending.ungranted) != (update.key_number, Some(writer))
        });
        let is_new =
            update.before.as_ref().map(|before| before.serial) != update.now.map(|now| now.serial);
        let on_free_key = update.now.is_some_and(|now| now.on_free_key);
        let is_granted =
            (self.attempt(writer)).is_some_and(|attempt| attempt.answer == Answer::Granted);
        if is_new && !on_free_key && !is_granted {
            self.unproven.insert(update.key_number, op);
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
            names: header.keys.clone(),
            latest_grants: vec![None; header.keys.len()],
            ..Ownership::default()
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        match step {
            _ if self.key_history => self.record_step(at_ns, attempt, step),
            Step::Begun => {
                if let Some(latest) = self.latest_grants.get_mut(attempt.lock as usize) {
                    *latest = Some(attempt.op);
                }
            }
            Step::Answered {
                released: Some(true),
                ..
            } => self.record_claim(at_ns, attempt),
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        self.gap = self.gap.take().or_else(|| key_history_gap(&event.what));
        if let EventKind::WorkerDown { worker, .. } = event.what
            && let Some(release) = self.releases.get_mut(worker)
        {
            *release = LastRelease::default();
        }
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        // A command that only prolongs a value does not change whether its writer's lock is proven.
        let is_unproven = if update.ends_value() {
            self.unproven.remove(&update.key_number).is_some()
        } else {
            self.unproven.contains_key(&update.key_number)
        };
        if let Some(own) = TakenValue::removed_own(at_ns, update)
            && self.is_late_release(&own)
        {
            let taking = self.foreign_taking(&own);
            self.found.push(taking);
        }
        if let Some(taken) = TakenValue::from_update(at_ns, update) {
            let owner = self.attempt(taken.owner);
            let is_unanswered = owner.is_some_and(|owner| owner.answer == Answer::Awaited);
            if !is_unproven || is_unanswered {
                self.record_taken(&taken, is_unproven);
            }
        }
        if let Some(command) = update.command()
            && command.phase == Phase::Acquire
            && update.now.is_some()
        {
            self.handle_written(update, (command.worker, command.op));
        }
    }

    fn finish(mut self, timeline: &Timeline<'_>) -> Judgement {
        let key_history = self.key_history;
        let gap = self.gap.take();
        let (found, in_doubt) = self.releases(timeline);
        if in_doubt && found.is_empty() {
            return Judgement::Unknown(InconclusiveReason::TwoMasters);
        }
        let observations = found
            .into_iter()
            .map(|taking| (taking.took_effect_ns, Observation::ForeignTaking(taking)));
        let judgement = Judgement::from_observations(observations.collect());
        let Judgement::Violated { first, .. } = &judgement else {
            return gap.map_or(judgement, Judgement::Unknown);
        };
        let capacity = timeline.history().header.capacity;
        match lease::judge_leases(timeline.holds(), capacity, overlap::ALL_PAIRS) {
            // The client may have released its own lock, because both clients had been let in.
            Judgement::Violated { first: shared, .. }
                if !key_history && shared.at_ns <= first.at_ns =>
            {
                Judgement::Unknown(InconclusiveReason::OwnerUnknown)
            }
            _ => judgement,
        }
    }
}

/// Returns all foreign releases of a history, in the order in which they became certain.
pub(in crate::check) fn foreign_takings(timeline: &Timeline<'_>) -> Vec<ForeignTaking> {
    let history = timeline.history();
    let mut tracker = AttemptTracker::new(&history.header);
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
