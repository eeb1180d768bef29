//! Progress: a client that wants the lock gets it, as long as it reaches what the lock needs.
//!
//! A violation is a period, longer than the bound, in which a lock was wanted that no client could hold
//! any more, by workers that reached the nodes that the lock needs. The period begins at the latest of
//!
//! - the time since which the lock is wanted (see [`crate::check::progress::waiters`]);
//! - the end of every lease that could be outstanding (see [`crate::check::progress::outstanding`]);
//! - one TTL after any fault began or ended: until then a command that the fault delayed may have
//!   set a key. A lock that rounds its expiry up to a whole second is given that long.
//!
//! The period ends with the next grant, when no client wants the lock any more, with the next
//! fault, or with the run, at the first event that tells what was found afterwards. Waiting
//! exactly as long as the bound is allowed. How the attempts end does not matter: a lock that
//! refuses, fails or hangs although it has all that it needs is not available.
//!
//! A fault that is on excuses only the workers that it keeps from a quorum of the nodes (see
//! [`crate::check::progress::reach`]). If one of these waits for longer than the bound, and the fault never ends,
//! the property is `unknown`.
//!
//! After the run, a probe that waited for the bound and was not granted counts like one more
//! client. A key without expiry that was left behind is a violation if the probe did not get past
//! it, or if there was no probe: a lock may keep its expiry in the value.
//!
//! A dead client's value that other clients keep alive counts as no lease, whoever believes that he holds the
//! lock (see [`crate::check::progress::kept_alive`]).
//!
//! A wrong clock may keep a key alive for longer than its TTL, by as much as the clock jumps back.
//! If a clock was wrong, waiting too long is `unknown`. The time in which the machine stood still, or kept a
//! worker that could run from its processors, does not count, and waiting that was too long only with it is
//! `unknown`. The same holds if attempts of workers
//! that a fault struck left the lock in doubt for so long, and if a server or a worker stood still without a
//! fault. A fault that escaped leaves a client at work that counts as frozen or dead: `unknown`, too.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Finding, Judgement, Seen, Starvation};
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::progress::kept_alive::KeptAlive;
use crate::check::progress::outstanding::WantedKey;
use crate::check::progress::reach::Reach;
use crate::check::progress::starvation_excuse::StarvationExcuses;
use crate::check::progress::waiters::Waiters;
use crate::check::stalls::stall::Stall;
use crate::history::{Event, EventKind, Header, Misbehaviour};
use crate::key_history::KeyUpdate;
use crate::timeline::{AcquireFailure, Attempt, Step, Timeline, is_rounded_up, ms, spoils_clocks};

/// The checker.
#[derive(Default)]
pub(in crate::check) struct Progress {
    bound_ns: u64,
    ttl_ns: u64,
    /// How long a key lives by what was written: the TTL, or that rounded up to a whole second.
    lease_ns: u64,
    workers: usize,
    keys: Vec<WantedKey>,
    waiters: Waiters,
    reach: Reach,
    kept_alive: KeptAlive,
    /// When a command of a worker last changed a key.
    last_change_ns: u64,
    /// How many attempts were refused, and how many failed.
    denied: (u64, u64),
    faults_clear_ns: u64,
    /// A clock was set wrong, or set right again.
    clocks_spoilt: bool,
    run_over: bool,
    latest_ns: u64,
    found: Vec<Starvation>,
    undecided: Option<StarvationReason>,
    /// A fault escaped.
    escaped: bool,
    excuses: StarvationExcuses,
    /// A long stall in which nobody got the lock.
    stood_still: Option<InconclusiveReason>,
}

impl Progress {
    /// For how long the machine has kept clients waiting between two times.
    fn paused_ns(&self, from_ns: u64, until_ns: u64, after_ns: u64) -> u64 {
        let long_ns = self.ttl_ns / 10;
        let paused_ns = self.excuses.paused_ns(from_ns, until_ns, long_ns, after_ns);
        paused_ns.saturating_add(self.excuses.delayed_ns(from_ns, until_ns))
    }

    /// The key was wanted since then, by this worker (the number after the last one is the probe) or by others
    /// before it, until now: was that too long?
    fn look(&mut self, at_ns: u64, key: u32, worker: usize, since_ns: u64) {
        let state = &self.keys[key as usize];
        if state.starved {
            return;
        }
        if !self.reach.has_quorum(worker, key) {
            // A fault keeps it away, and may still end. Then the period starts again.
            let clear_ns = state.outstanding.clear_but_for_kept_away_ns(&self.reach);
            return self.look_at_kept_away(at_ns, key, since_ns, clear_ns);
        }
        let clear_ns = state.outstanding.clear_since_ns(&self.reach);
        let Some(clear_ns) = clear_ns.or_else(|| self.kept_alive_since_ns(key)) else {
            // Commands of the last holder may still come.
            let idle_ns = state.outstanding.idle_since_ns();
            return self.look_at_kept_away(at_ns, key, since_ns, idle_ns);
        };
        let from_ns = since_ns.max(clear_ns).max(self.faults_clear_ns);
        let limit_ns = from_ns.saturating_add(self.bound_ns);
        let paused_ns = self.paused_ns(from_ns, at_ns, self.lease_ns);
        if at_ns <= limit_ns.saturating_add(paused_ns) {
            if at_ns > limit_ns {
                let stood_ns = self.paused_ns(from_ns, at_ns, 0);
                let by = StarvationReason::HarnessStall(stood_ns / 1_000_000);
                self.undecided.get_or_insert(by);
            }
            if self.run_over && self.was_in_doubt(at_ns, key, since_ns) {
                self.undecided
                    .get_or_insert(StarvationReason::AttemptsInDoubt);
            }
            return;
        }
        if self.clocks_spoilt {
            self.undecided.get_or_insert(StarvationReason::WrongClock);
            return;
        }
        let doubt = state.outstanding.doubt_before(from_ns);
        let first_requested_at_ns = self.waiters.first_requested_at_ns(worker, key);
        self.keys[key as usize].starved = true;
        self.found.push(Starvation {
            key,
            from_ns,
            until_ns: limit_ns.saturating_add(paused_ns),
            worker: (worker < self.workers).then_some(worker),
            in_turn: first_requested_at_ns.is_some_and(|requested_at_ns| requested_at_ns > from_ns),
            doubt,
            has_unexpiring_key: false,
        });
    }

    /// Since when the lock would be free, if others did not keep a dead client's value alive.
    fn kept_alive_since_ns(&self, key: u32) -> Option<u64> {
        let (nodes, due_ns) = self.kept_alive.of_lock(key)?;
        let suffices = self.reach.is_taken_away_by(&nodes, key);
        suffices.then_some(due_ns)
    }

    /// A client has wanted the key until now, and a fault keeps it away or delays what may free the lock, which
    /// has been free since `free_ns` otherwise. If that fault never ends, it is not decided.
    fn look_at_kept_away(&mut self, at_ns: u64, key: u32, since_ns: u64, free_ns: Option<u64>) {
        let since_ns = since_ns.max(self.faults_clear_ns);
        let limit_ns = free_ns.map(|free_ns| since_ns.max(free_ns).saturating_add(self.bound_ns));
        self.keys[key as usize].kept_away |= limit_ns.is_some_and(|limit_ns| at_ns > limit_ns);
    }

    /// Only attempts without a certain answer, more than one, kept the client from being judged.
    fn was_in_doubt(&self, at_ns: u64, key: u32, since_ns: u64) -> bool {
        let outstanding = &self.keys[key as usize].outstanding;
        outstanding.idle_since_ns().is_some_and(|idle_ns| {
            let from_ns = since_ns.max(idle_ns).max(self.faults_clear_ns);
            let excused_ns = self.bound_ns.saturating_add(self.lease_ns);
            outstanding.is_in_doubt() && at_ns > from_ns.saturating_add(excused_ns)
        })
    }

    /// Looks at the clients that are asking for this key: at those that reach what the lock needs, and at
    /// the one that has waited longest of the others. Cheap unless the key was idle for long.
    fn look_at_key(&mut self, at_ns: u64, key: u32) {
        let outstanding = &self.keys[key as usize].outstanding;
        let idle_since_ns = outstanding.clear_ns().max(self.faults_clear_ns);
        if !self.run_over && at_ns <= idle_since_ns.saturating_add(self.bound_ns) {
            return;
        }
        self.recount(key);
        let longest = self.waiters.longest(key, true).map(|(worker, _)| worker);
        let reaching = longest.zip(self.waiters.wanted_since_ns(key));
        let kept_away = self.waiters.longest(key, false);
        for (worker, since_ns) in reaching.into_iter().chain(kept_away) {
            self.look(at_ns, key, worker, since_ns);
        }
    }

    /// Without a fault that is on, every worker reaches what it needs.
    fn recount(&mut self, key: u32) {
        let reach = &self.reach;
        if reach.is_obstructed() {
            let reaches = |worker| reach.has_quorum(worker, key);
            self.waiters.recount(key, reaches);
        }
    }

    /// Looks at the client whose attempt is being denied, also if it leaves a doubt each time.
    fn look_at_denied(&mut self, at_ns: u64, attempt: &Attempt) {
        let (worker, key) = (attempt.worker, attempt.key);
        // Cheap unless the key was idle for long.
        let idle_since_ns = self.keys[key as usize].outstanding.held_since_ns();
        let idle_since_ns = idle_since_ns.max(self.faults_clear_ns);
        if at_ns <= idle_since_ns.saturating_add(self.bound_ns) {
            return;
        }
        self.recount(key);
        let since_ns = match self.reach.has_quorum(worker, key) {
            true => self.waiters.wanted_since_ns(key),
            false => self.waiters.first_requested_at_ns(worker, key),
        };
        if let Some(since_ns) = since_ns {
            self.look(at_ns, key, worker, since_ns);
        }
    }

    fn look_at_all(&mut self, at_ns: u64) {
        for key in 0..self.keys.len() {
            self.look_at_key(at_ns, key as u32);
        }
    }

    fn run_over(&mut self, at_ns: u64) {
        if !self.run_over {
            self.run_over = true;
            self.look_at_all(at_ns);
            self.waiters.forget_all();
            // What a worker sent that could not be ended counts as its own.
            let ended_ns = at_ns.max(self.last_change_ns);
            for state in &mut self.keys {
                state.outstanding.workers_ended(ended_ns);
            }
        }
    }

    fn probed(&mut self, at_ns: u64, key: u32, granted: bool, waited_ms: u64) {
        let known = &mut self.keys[key as usize].probe_granted;
        *known = Some(known.unwrap_or(false) || granted);
        if granted {
            return;
        }
        let before = self.found.len();
        let starved = self.keys[key as usize].starved;
        if ms(waited_ms) >= self.bound_ns {
            // The probe's bound is met when it is reached, hence one nanosecond more.
            let since_ns = at_ns.saturating_sub(ms(waited_ms));
            self.look(at_ns.saturating_add(1), key, self.workers, since_ns);
        }
        if self.found.len() == before && !starved {
            self.undecided.get_or_insert(StarvationReason::ProbeBlocked);
        }
    }

    /// A fault or a long stall began or ended: from now on the locks are judged anew.
    fn begin_anew(&mut self, at_ns: u64) {
        self.faults_clear_ns = at_ns.saturating_add(self.lease_ns);
        for state in &mut self.keys {
            state.outstanding.forgive();
            state.kept_away = false;
        }
        let reaches = |worker, key| self.reach.has_quorum(worker, key);
        self.waiters.begin_anew(at_ns, reaches);
    }

    /// A server or a worker stood still until now. What nobody got meanwhile proves nothing. Long ones begin
    /// anew what is judged: a lock that nobody gets afterwards either is violated all the same.
    fn stood_still(&mut self, stall: Stall) {
        if !stall.is_long(self.ttl_ns) {
            return self.excuses.stood_still(stall);
        }
        self.look_at_all(stall.until_ns);
        let withdrawn = self.withdraw(stall.from_ns, stall.until_ns);
        if withdrawn.is_some() {
            self.stood_still.get_or_insert(stall.reason());
        }
        self.begin_anew(stall.until_ns);
    }

    /// Takes back what was found of waits that lasted into this time: since when they lasted. `None`: there was nothing.
    fn withdraw(&mut self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let (keys, mut since_ns) = (&mut self.keys, None);
        self.found.retain(|found| {
            let rests_on_it = from_ns <= found.until_ns && found.from_ns <= until_ns;
            if rests_on_it {
                keys[found.key as usize].starved = false;
                since_ns = since_ns.into_iter().chain([found.from_ns]).min();
            }
            !rests_on_it
        });
        since_ns
    }

    /// A worker waited for the processor since then, and nobody knew until now: who still waits is looked at again.
    fn delayed(&mut self, since_ns: u64, at_ns: u64) {
        if let Some(wanted_ns) = self.withdraw(since_ns, at_ns) {
            let waited_ms = self.excuses.delayed_ns(wanted_ns, at_ns) / 1_000_000;
            let by = StarvationReason::HarnessStall(waited_ms);
            self.undecided.get_or_insert(by);
            self.look_at_all(at_ns);
        }
    }
}

impl Checker for Progress {
    const DESCRIPTION: Description = Description {
        letter: 'P',
        severity: 4,
        held: "every client that still wanted the lock got it",
        violated: "no client got the lock",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/progress.md"),
    };

    fn new(header: &Header) -> Self {
        let bound_ns = ms(header.progress_within_ms);
        Progress {
            bound_ns,
            ttl_ns: ms(header.ttl_ms),
            lease_ns: ms(header.ttl_ms),
            workers: header.workers,
            keys: vec![WantedKey::default(); header.keys.len()],
            waiters: Waiters::new(header.workers, header.keys.len(), bound_ns),
            reach: Reach::new(header),
            excuses: StarvationExcuses::new(header.workers),
            ..Progress::default()
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.reach.step(attempt, step);
        self.kept_alive.step(attempt, step);
        let key = attempt.key;
        if key as usize >= self.keys.len() {
            return;
        }
        self.latest_ns = at_ns;
        self.ttl_ns = self.ttl_ns.max(attempt.ttl_ns);
        self.lease_ns = self.lease_ns.max(self.ttl_ns);
        match step {
            Step::Requested => {
                let reaches = self.reach.has_quorum(attempt.worker, key);
                self.waiters.asked(at_ns, attempt, reaches);
            }
            Step::Denied(denial) => {
                match denial {
                    AcquireFailure::Refused => self.denied.0 += 1,
                    AcquireFailure::Failed { .. } => self.denied.1 += 1,
                }
                self.look_at_denied(at_ns, attempt);
                self.waiters.denied(at_ns, attempt);
                if !denial.is_definite() {
                    self.look_at_key(at_ns, key);
                }
            }
            Step::Begun | Step::Gone => {
                self.look_at_key(at_ns, key);
                self.waiters.satisfied(attempt);
                if step == Step::Begun {
                    self.keys[key as usize].starved = false;
                }
            }
            // The lock may have been free before its release was answered.
            Step::Answered { .. } => self.look_at_key(at_ns, key),
            Step::LeaseMoved { .. } | Step::Ended(_) => {}
        }
        let outstanding = &mut self.keys[key as usize].outstanding;
        outstanding.step(at_ns, attempt, step, &self.reach);
    }

    fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        self.latest_ns = at_ns;
        self.excuses.event(event);
        if let EventKind::FaultBegan { .. } | EventKind::FaultEnded { .. } = event.what {
            self.look_at_all(at_ns);
            self.reach.event(at_ns, &event.what);
            self.begin_anew(at_ns);
        }
        if let Some(stall) = Stall::from_event(event) {
            self.stood_still(stall);
        }
        match &event.what {
            EventKind::WorkerDown { worker, .. } => {
                self.waiters.forget(*worker);
                self.kept_alive.died(*worker);
            }
            EventKind::Misbehaved { worker, kind, .. } if *kind != Misbehaviour::Hung => {
                self.waiters.forget(*worker);
            }
            EventKind::FaultBegan { fault, .. } => self.clocks_spoilt |= spoils_clocks(fault),
            EventKind::Probe {
                key,
                granted,
                waited_ms,
            } if (*key as usize) < self.keys.len() => {
                self.run_over(at_ns.saturating_sub(ms(*waited_ms)));
                self.probed(at_ns, *key, *granted, *waited_ms);
            }
            EventKind::KeyLeft { key, ttl_ms, .. } => {
                self.run_over(at_ns);
                if let Some(state) = self.keys.get_mut(*key as usize) {
                    state.left = true;
                    if *ttl_ms == -1 {
                        state.unexpiring_ns.get_or_insert(at_ns);
                    }
                }
            }
            EventKind::FreezeBreach { .. } => self.escaped = true,
            EventKind::WorkerDelayed { since_ns, .. } => self.delayed(*since_ns, at_ns),
            // What the workers have sent is counted when they are about to be ended.
            EventKind::End { .. } | EventKind::CommandsSent { .. } => self.run_over(at_ns),
            _ => {}
        }
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.reach.key_changed(update);
        self.kept_alive.key_changed(update);
        if update.command().is_some_and(|by| by.worker < self.workers) {
            self.last_change_ns = at_ns;
            if self.run_over {
                let all = self.keys.iter_mut();
                all.for_each(|key| key.outstanding.still_working(at_ns));
            }
        }
        if let Some(ttl_ms) = update.now.and_then(|now| Some(now.expiry?.ttl_ms)) {
            let written_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
            if is_rounded_up(written_ns, self.ttl_ns) && written_ns > self.lease_ns {
                self.lease_ns = written_ns;
                for state in &mut self.keys {
                    state.outstanding.rounded_up(written_ns);
                }
            }
        }
    }

    fn finish(mut self, timeline: &Timeline<'_>) -> Judgement {
        self.run_over(self.latest_ns);
        if self.keys.iter().any(|key| key.kept_away) {
            self.undecided
                .get_or_insert(StarvationReason::NodesOutOfReach);
        }
        let keys = self.keys.iter().zip(0..);
        let left = keys.filter_map(|(state, key)| state.unexpiring(key));
        self.found.extend(left);
        let first = self.found.iter().min_by_key(|found| found.until_ns);
        let Some(mut first) = first.copied() else {
            if let Some(stood_still) = self.stood_still {
                return Judgement::Unknown(stood_still);
            }
            let (refused, failed) = self.denied;
            return match self.undecided {
                Some(by) => Judgement::Unknown(InconclusiveReason::Starved { by }),
                None if refused + failed == 0 => Judgement::Held,
                None => Judgement::HeldThough { refused, failed },
            };
        };
        if self.escaped {
            let by = StarvationReason::FreezeBreach;
            return Judgement::Unknown(InconclusiveReason::Starved { by });
        }
        let state = &self.keys[first.key as usize];
        first.has_unexpiring_key = state.unexpiring_ns.is_some();
        // If the probe found no key and was not granted either, an attempt in doubt explains
        // nothing.
        let kept = state.left || state.probe_granted == Some(true);
        first.doubt = first.doubt.filter(|_| kept);
        let operations = timeline.operations();
        let excuse = self.excuses.excuse_for(&first, self.bound_ns, operations);
        if let (false, Some(reason)) = (first.has_unexpiring_key, excuse) {
            return Judgement::Unknown(reason);
        }
        Judgement::Violated {
            count: self.found.len() as u64,
            first: Finding {
                at_ns: first.until_ns,
                seen: Seen::Starvation(first),
            },
        }
    }
}
