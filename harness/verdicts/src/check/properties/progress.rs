//! Progress: a client that requests the lock gets it, as long as the client reaches the nodes that the lock needs.
//!
//! A violation is a period, longer than the bound, in which no client could hold the lock any more, while workers that
//! reached the nodes that the lock needs wanted it:
//!
//! - *The beginning of the period.* The latest of
//!   - the time since which the lock is wanted (see [`crate::check::progress::waiters`]);
//!   - the end of every lease that could be outstanding (see [`crate::check::progress::outstanding`]);
//!   - one TTL after any fault began or ended: until then a command that the fault delayed may have set a key. For a
//!     lock that rounds its expiry up, the TTL is a whole second.
//! - *Its end.* The period ends with the next grant, when no client wants the lock any more, with the next fault, or
//!   with the run, at the first event that reports a result of the final inspection. Waiting exactly as long as the
//!   bound is allowed. How the attempts end does not matter: a lock that refuses, fails or hangs although it has all
//!   that it needs is not available.
//! - *Faults.* An active fault excuses only the workers that it keeps from a quorum of the nodes (see
//!   [`crate::check::progress::reach`]). If one of these waits for longer than the bound, and the fault never ends, the
//!   property is `unknown`.
//! - *The probe.* After the run, a probe that waited for the bound and was not granted counts like one more client. A
//!   key without expiry that was left behind is a violation if the probe did not get the lock in spite of it, or if
//!   there was no probe. A lock may store its expiry in the value.
//! - *Values kept alive.* A dead client's value that other clients keep alive does not count as a lease, even if the
//!   lock of another client reports that it holds the lock (see [`crate::check::progress::kept_alive`]).
//!
//! Three more observations are violations:
//!
//! - *Overtaking.* Too many readers overtake a writer (see [`crate::check::progress::overtaking`]).
//! - *Deadlocks.* Clients that hold a lock and wait for another lock can wait for each other. Such a cycle is a
//!   violation if it outlasts the bound (see [`crate::check::progress::deadlocks`]).
//! - *Deaths.* A client that dies without a fault can no longer get the lock or its stock. A death by a signal from
//!   outside, or before the client was ready, is not the client's doing (see
//!   [`crate::check::progress::client_deaths`]).
//!
//! The property is `unknown` in these cases:
//!
//! - A wait was too long with a wrong clock. A clock that is set back may keep a key alive for longer than its TTL.
//! - A wait exceeded the bound only with the time for which the machine was stalled, or kept a runnable worker from its
//!   CPUs. This time does not count.
//! - Attempts of workers that a fault affected left the lock in doubt for the whole wait.
//! - A server or a worker stalled without a fault, or a client that was supposed to be frozen or dead was running.

mod judgement;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Judgement, Starvation};
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::progress::client_deaths::ClientDeaths;
use crate::check::progress::deadlocks::Deadlocks;
use crate::check::progress::kept_alive::KeptAlive;
use crate::check::progress::outstanding::WantedLock;
use crate::check::progress::overtaking::Overtaking;
use crate::check::progress::reach::Reach;
use crate::check::progress::starvation_excuse::StarvationExcuses;
use crate::check::progress::waiters::Waiters;
use crate::check::stalls::stall::Stall;
use crate::history::{Declarations, Event, EventKind, Header, KeyName, Misbehaviour};
use crate::key_history::KeyUpdate;
use crate::timeline::{
    AcquireFailure, Attempt, Step, Timeline, is_rounded_up, ms_from_ns, ns_from_ms, spoils_clocks,
};

/// The checker.
#[derive(Default)]
pub(in crate::check) struct Progress {
    bound_ns: u64,
    ttl_ns: u64,
    /// Lifetime of a key according to the written expiry: the TTL, or the TTL rounded up to a whole second.
    lease_ns: u64,
    workers: usize,
    locks: Vec<WantedLock>,
    waiters: Waiters,
    reach: Reach,
    kept_alive: KeptAlive,
    /// When a command of a worker last changed a key.
    last_change_ns: u64,
    /// Number of refused attempts, and of failed ones.
    denied: (u64, u64),
    /// The time from which no command that a fault delayed can set a key any more.
    faults_clear_ns: u64,
    /// Whether a fault set a clock wrong, or corrected it.
    clocks_spoilt: bool,
    run_over: bool,
    latest_ns: u64,
    found: Vec<Starvation>,
    undecided: Option<StarvationReason>,
    /// Whether a client that was supposed to be frozen or dead was running.
    freeze_breached: bool,
    excuses: StarvationExcuses,
    deaths: ClientDeaths,
    overtaking: Overtaking,
    deadlocks: Deadlocks,
    /// A long stall during which a client waited too long.
    stall: Option<InconclusiveReason>,
}

impl Progress {
    /// Judges a wait for a lock that has lasted from `since_ns` until now. `worker` wants the lock; other clients may
    /// have wanted it before. The probe has the number after the last worker.
    fn judge_wait(&mut self, at_ns: u64, lock: u32, worker: usize, since_ns: u64) {
        let state = &self.locks[lock as usize];
        if state.starved {
            return;
        }
        if !self.reach.has_quorum(worker, lock) {
            // A fault keeps the client away. When the fault ends, the period starts again.
            let clear_ns = state.outstanding.clear_but_for_kept_away_ns(&self.reach);
            return self.judge_kept_away(at_ns, lock, since_ns, clear_ns);
        }
        let clear_ns = state.outstanding.clear_since_ns(&self.reach);
        let Some(clear_ns) = clear_ns.or_else(|| self.kept_alive_since_ns(lock)) else {
            // Commands of the last holder may still arrive.
            let idle_ns = state.outstanding.idle_since_ns();
            return self.judge_kept_away(at_ns, lock, since_ns, idle_ns);
        };
        let from_ns = since_ns.max(clear_ns).max(self.faults_clear_ns);
        let limit_ns = from_ns.saturating_add(self.bound_ns);
        let excused_ns = self
            .excuses
            .waited_ns((from_ns, at_ns), self.ttl_ns, self.lease_ns);
        if at_ns <= limit_ns.saturating_add(excused_ns) {
            if at_ns > limit_ns {
                let stalled_ns = self.excuses.waited_ns((from_ns, at_ns), self.ttl_ns, 0);
                let by = StarvationReason::MachineTooSlow(ms_from_ns(stalled_ns));
                self.undecided.get_or_insert(by);
            }
            if self.run_over && self.was_in_doubt(at_ns, lock, since_ns) {
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
        let first_requested_at_ns = self.waiters.first_requested_at_ns(worker, lock);
        self.locks[lock as usize].starved = true;
        self.found.push(Starvation {
            lock,
            from_ns,
            until_ns: limit_ns.saturating_add(excused_ns),
            worker: (worker < self.workers).then_some(worker),
            late_timeout: false,
            in_turn: first_requested_at_ns.is_some_and(|requested_at_ns| requested_at_ns > from_ns),
            doubt,
            has_unexpiring_key: false,
        });
    }

    /// Returns when the lock would have become free if others did not keep a dead client's value alive, or `None` if no
    /// such value blocks it.
    fn kept_alive_since_ns(&self, lock: u32) -> Option<u64> {
        let (nodes, due_ns) = self.kept_alive.values_of_lock(lock)?;
        let is_blocked = self.reach.is_taken_away_by(&nodes, lock);
        is_blocked.then_some(due_ns)
    }

    /// Handles a command that renews the value of a holder while a fault stops that holder.
    fn renewed_while_stopped(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        let author = update.now.and_then(|now| now.author);
        let Some(author) = author.filter(|by| self.reach.stopped_since_ns(by.worker).is_some())
        else {
            return;
        };
        let is_new = update.before.is_none() || update.ends_value();
        if update.command().is_some() && (is_new || update.prolongs()) {
            self.judge_all_locks(at_ns);
            let all = self.locks.iter_mut();
            all.for_each(|lock| lock.outstanding.renewed(at_ns, author.op));
        }
    }

    /// Judges a wait for a lock while a fault keeps the client away, or delays commands that may free the lock. Apart
    /// from the fault, the lock has been free since `free_ns`. If the fault never ends, the wait is `unknown`.
    fn judge_kept_away(&mut self, at_ns: u64, lock: u32, since_ns: u64, free_ns: Option<u64>) {
        let since_ns = since_ns.max(self.faults_clear_ns);
        let limit_ns = free_ns.map(|free_ns| since_ns.max(free_ns).saturating_add(self.bound_ns));
        self.locks[lock as usize].kept_away |= limit_ns.is_some_and(|limit_ns| at_ns > limit_ns);
    }

    /// Returns `true` if the wait is too long when attempts without a definite answer are ignored. Those attempts may
    /// have taken the lock one after the other.
    fn was_in_doubt(&self, at_ns: u64, lock: u32, since_ns: u64) -> bool {
        let outstanding = &self.locks[lock as usize].outstanding;
        outstanding.idle_since_ns().is_some_and(|idle_ns| {
            let from_ns = since_ns.max(idle_ns).max(self.faults_clear_ns);
            let excused_ns = self.bound_ns.saturating_add(self.lease_ns);
            outstanding.is_in_doubt() && at_ns > from_ns.saturating_add(excused_ns)
        })
    }

    /// Judges the waits of the clients that are requesting this lock, if the lock was idle for longer than the bound.
    fn judge_lock(&mut self, at_ns: u64, lock: u32) {
        let outstanding = &self.locks[lock as usize].outstanding;
        let idle_since_ns = outstanding.clear_ns().max(self.faults_clear_ns);
        if self.run_over || at_ns > idle_since_ns.saturating_add(self.bound_ns) {
            self.judge_waits(at_ns, lock);
        }
    }

    /// Judges the common wait of the clients that reach what this lock needs, and the longest wait of the others.
    #[cold]
    fn judge_waits(&mut self, at_ns: u64, lock: u32) {
        self.recount(lock);
        let longest = self.waiters.longest(lock, true).map(|(worker, _)| worker);
        let reaching = longest.zip(self.waiters.wanted_since_ns(lock));
        let kept_away = self.waiters.longest(lock, false);
        for (worker, since_ns) in reaching.into_iter().chain(kept_away) {
            self.judge_wait(at_ns, lock, worker, since_ns);
        }
    }

    /// Recounts the waiters that reach what they need. Without an active fault, all of them do.
    fn recount(&mut self, lock: u32) {
        let reach = &self.reach;
        if reach.is_obstructed() {
            let reaches = |worker| reach.has_quorum(worker, lock);
            self.waiters.recount(lock, reaches);
        }
    }

    /// Judges the wait of the client whose attempt is being denied, even if each of its attempts ends without a
    /// definite answer.
    fn judge_denied(&mut self, at_ns: u64, attempt: &Attempt) {
        let (worker, lock) = (attempt.worker, attempt.lock);
        // Return early unless the lock was idle for longer than the bound.
        let held_until_ns = self.locks[lock as usize].outstanding.held_until_ns();
        let idle_since_ns = held_until_ns.max(self.faults_clear_ns);
        if at_ns <= idle_since_ns.saturating_add(self.bound_ns) {
            return;
        }
        self.recount(lock);
        let since_ns = if self.reach.has_quorum(worker, lock) {
            self.waiters.wanted_since_ns(lock)
        } else {
            self.waiters.first_requested_at_ns(worker, lock)
        };
        if let Some(since_ns) = since_ns {
            self.judge_wait(at_ns, lock, worker, since_ns);
        }
    }

    fn judge_all_locks(&mut self, at_ns: u64) {
        for lock in 0..self.locks.len() {
            self.judge_lock(at_ns, lock as u32);
        }
    }

    fn run_over(&mut self, at_ns: u64) {
        if !self.run_over {
            self.run_over = true;
            self.judge_all_locks(at_ns);
            self.with_deadlocks(|deadlocks, stalled_ns| deadlocks.run_over(at_ns, stalled_ns));
            self.waiters.forget_all();
            // If a worker could not be stopped, its commands after this event still count.
            let ended_ns = at_ns.max(self.last_change_ns);
            for state in &mut self.locks {
                state.outstanding.workers_ended(ended_ns);
            }
        }
    }

    /// Restarts the observation of all locks, because a fault or a long stall began or ended.
    fn restart(&mut self, at_ns: u64) {
        self.faults_clear_ns = at_ns.saturating_add(self.lease_ns);
        self.deadlocks.restart(self.faults_clear_ns);
        for state in &mut self.locks {
            state.outstanding.forgive();
            state.kept_away = false;
        }
        let reaches = |worker, lock| self.reach.has_quorum(worker, lock);
        self.waiters.restart(at_ns, reaches);
    }

    /// Handles a stall of a server or a worker that ends now. Waiting during the stall proves nothing. A long stall
    /// restarts the observation: if still no client gets the lock afterwards, that is a violation.
    fn stalled(&mut self, stall: Stall) {
        if !stall.is_long(self.ttl_ns) {
            return self.excuses.record_short_stall(stall);
        }
        self.judge_all_locks(stall.until_ns);
        let withdrawn = self.withdraw(stall.from_ns, stall.until_ns);
        if withdrawn.is_some() {
            self.stall.get_or_insert(stall.reason());
        }
        self.restart(stall.until_ns);
    }

    /// Withdraws the findings about waits that overlap this span. Returns the time at which the first of these waits
    /// began, or `None` if there were no such findings.
    fn withdraw(&mut self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let (locks, mut since_ns) = (&mut self.locks, None);
        self.found.retain(|found| {
            let rests_on_it = from_ns <= found.until_ns && found.from_ns <= until_ns;
            if rests_on_it {
                locks[found.lock as usize].starved = false;
                since_ns = since_ns.into_iter().chain([found.from_ns]).min();
            }
            !rests_on_it
        });
        since_ns
    }

    /// Handles the report, which arrives late, that a worker has waited for a CPU since `since_ns`. Withdraws findings
    /// that overlap the wait, and judges clients that are still waiting again.
    fn cpu_wait_reported(&mut self, since_ns: u64, at_ns: u64) {
        if let Some(wanted_ns) = self.withdraw(since_ns, at_ns) {
            let waited_ms = ms_from_ns(self.excuses.delayed_ns(wanted_ns, at_ns));
            let by = StarvationReason::MachineTooSlow(waited_ms);
            self.undecided.get_or_insert(by);
            self.judge_all_locks(at_ns);
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
        let Declarations {
            min_hold_ms,
            lease_margin_ms,
        } = header.declares;
        let bound_ns = ns_from_ms(header.progress_within_ms.saturating_add(min_hold_ms));
        let lease_ns = ns_from_ms(header.ttl_ms.saturating_add(lease_margin_ms));
        Progress {
            bound_ns,
            ttl_ns: ns_from_ms(header.ttl_ms),
            lease_ns,
            workers: header.workers,
            locks: WantedLock::all(header),
            waiters: Waiters::new(header.workers, header.keys.len(), bound_ns),
            reach: Reach::new(header),
            excuses: StarvationExcuses::new(header.workers),
            overtaking: Overtaking::new(header),
            deadlocks: Deadlocks::new(header, bound_ns),
            kept_alive: KeptAlive::new(header),
            ..Progress::default()
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.reach.step(attempt, step);
        self.deaths.step(attempt, step);
        self.kept_alive.step(attempt, step);
        self.overtaking.step(at_ns, attempt, step);
        let lock = attempt.lock;
        if lock as usize >= self.locks.len() {
            return;
        }
        if self.deadlocks.are_possible() {
            self.with_deadlocks(|deadlocks, stalled_ns| {
                deadlocks.judge_step(at_ns, attempt, step, stalled_ns);
            });
        }
        self.deadlocks.step(at_ns, attempt, step);
        self.latest_ns = at_ns;
        self.ttl_ns = self.ttl_ns.max(attempt.ttl_ns);
        self.lease_ns = self.lease_ns.max(self.ttl_ns);
        match step {
            Step::Requested => {
                let reaches = self.reach.has_quorum(attempt.worker, lock);
                self.waiters.requested(at_ns, attempt, reaches);
            }
            Step::Denied(denial) => {
                match denial {
                    AcquireFailure::Refused => self.denied.0 += 1,
                    AcquireFailure::Failed { .. } => self.denied.1 += 1,
                }
                self.judge_denied(at_ns, attempt);
                self.waiters.denied(at_ns, attempt);
                if !denial.is_definite() {
                    self.judge_lock(at_ns, lock);
                }
            }
            Step::Begun | Step::Gone => {
                self.judge_lock(at_ns, lock);
                self.waiters.satisfied(attempt);
                if step == Step::Begun {
                    self.locks[lock as usize].starved = false;
                }
            }
            // The lock may have become free before its release was answered.
            Step::Answered { .. } => self.judge_lock(at_ns, lock),
            Step::LeaseMoved | Step::Acted | Step::Ended(_) => {}
        }
        let outstanding = &mut self.locks[lock as usize].outstanding;
        outstanding.step(at_ns, attempt, step, &self.reach);
    }

    fn accessed(&mut self, event: &Event) {
        self.latest_ns = event.at_ns;
    }

    fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        self.latest_ns = at_ns;
        self.excuses.event(event);
        self.overtaking.event(event);
        self.deaths.event(event);
        if let EventKind::FaultBegan { .. } | EventKind::FaultEnded { .. } = event.what {
            self.judge_all_locks(at_ns);
            self.reach.event(at_ns, &event.what);
            self.restart(at_ns);
        }
        if let Some(stall) = Stall::from_event(event) {
            self.stalled(stall);
        }
        match &event.what {
            EventKind::WorkerDown { worker, .. } => {
                self.waiters.forget(*worker);
                self.kept_alive.died(*worker);
            }
            EventKind::Misbehaved { worker, kind, .. }
                if !matches!(kind, Misbehaviour::Hung | Misbehaviour::Stopped) =>
            {
                self.waiters.forget(*worker);
            }
            EventKind::FaultBegan { fault, .. } => self.clocks_spoilt |= spoils_clocks(fault),
            EventKind::Probe {
                key,
                granted,
                waited_ms,
                ..
            } if (*key as usize) < self.locks.len() => {
                self.run_over(at_ns.saturating_sub(ns_from_ms(*waited_ms)));
                self.probed(at_ns, *key, *granted, *waited_ms);
            }
            EventKind::KeyLeft { key, ttl_ms, .. } => {
                self.run_over(at_ns);
                if let Some(state) = self.locks.get_mut(*key as usize) {
                    state.record_left(at_ns, *ttl_ms);
                }
            }
            EventKind::FreezeBreach { .. } => self.freeze_breached = true,
            EventKind::WorkerDelayed { since_ns, .. } => self.cpu_wait_reported(*since_ns, at_ns),
            // The commands of the workers are counted when the workers are about to be ended.
            EventKind::End { .. } | EventKind::CommandsSent { .. } => self.run_over(at_ns),
            _ => {}
        }
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.reach.key_changed(update);
        self.kept_alive.key_changed(update);
        self.renewed_while_stopped(at_ns, update);
        if update.command().is_some_and(|by| by.worker < self.workers) {
            self.last_change_ns = at_ns;
            if self.run_over {
                let all = self.locks.iter_mut();
                all.for_each(|lock| lock.outstanding.still_working(at_ns));
            }
        }
        // A waiting list may live longer than a lease.
        let holds_lock = !matches!(update.key, KeyName::Beside { .. });
        let written = update.now.filter(|_| holds_lock);
        if let Some(ttl_ms) = written.and_then(|now| Some(now.expiry?.ttl_ms)) {
            let written_ns = ns_from_ms(u64::try_from(ttl_ms).unwrap_or(0));
            if is_rounded_up(written_ns, self.ttl_ns) && written_ns > self.lease_ns {
                self.lease_ns = written_ns;
                for state in &mut self.locks {
                    state.outstanding.rounded_up(written_ns);
                }
            }
        }
    }

    fn finish(mut self, timeline: &Timeline<'_>) -> Judgement {
        self.run_over(self.latest_ns);
        if self.locks.iter().any(|lock| lock.kept_away) {
            self.undecided
                .get_or_insert(StarvationReason::NodesOutOfReach);
        }
        let locks = self.locks.iter().zip(0..);
        let left = locks.filter_map(|(state, lock)| state.unexpiring(lock));
        self.found.extend(left);
        let deaths = std::mem::take(&mut self.deaths);
        let mut cycles = self.deadlocks.take_found();
        // A client that counted as dead may have held a lock.
        if self.freeze_breached {
            cycles.clear();
        }
        let overtaking = std::mem::take(&mut self.overtaking);
        let waits = overtaking.judge(self.judge_starvations(timeline));
        deaths.judge(waits.with(cycles))
    }
}
