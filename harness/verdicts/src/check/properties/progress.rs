//! Progress: after faults and leases end, a client that wants the lock gets it.
//!
//! A violation is a period, longer than the bound, in which some worker wanted a lock that no
//! client could hold any more. The period begins at the latest of
//!
//! - the time since which that worker wants the lock (see [`crate::check::wants`]);
//! - the last time at which a client held the lock or was releasing it;
//! - the end of every lease that could be outstanding: a hold that was killed, or whose release
//!   failed, or an attempt without a certain answer may have left a key. The server drops it at
//!   most one TTL later, since no command of that attempt can have set or renewed it afterwards. An
//!   attempt that was refused, or a release that was answered, left nothing: the lock says so, and
//!   it is judged by that;
//! - one TTL after any fault began or ended: until then a command that the fault delayed may have
//!   set a key. Nothing is judged while a fault is active.
//!
//! The period ends with the next grant, when no client wants the lock any more, with the next
//! fault, or with the run, at the first event that tells what was found afterwards. Waiting
//! exactly as long as the bound is allowed.
//!
//! After the run, a probe that waited for the bound and was not granted counts like one more
//! client. A key without expiry that was left behind is a violation if the probe did not get past
//! it, or if there was no probe: a lock may keep its expiry in the value.
//!
//! A wrong clock may keep a key alive for longer than its TTL, by as much as the clock jumps back.
//! If a clock was wrong, waiting too long is `unknown`. The same holds if the machine stood still
//! while a client waited, and if a fault that never ended may be the reason: no lock can be
//! granted while its Redis is out of reach.

use picklock_scenarios::Property;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Finding, Judgement, Seen, Stall};
use crate::check::wants::Wants;
use crate::history::{Event, Header, Misbehaviour, What};
use crate::timeline::{Attempt, HoldEnd, Step, ms, spoils_clocks, strikes_once};

#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    holding: u32,
    releasing: u32,
    /// All leases have certainly expired by then.
    clear_ns: u64,
    /// The current stall has been reported.
    stalled: bool,
    /// See [`Stall::doubt`].
    doubt: Option<(usize, u64)>,
    /// When a key without expiry was found.
    unexpiring_ns: Option<u64>,
    /// A key was found after the run.
    left: bool,
    probe_granted: Option<bool>,
}

/// The checker.
pub(in crate::check) struct Progress {
    bound_ns: u64,
    ttl_ns: u64,
    keys: Vec<KeyState>,
    wants: Wants,
    faults_on: Vec<u32>,
    faults_clear_ns: u64,
    /// A clock was set wrong, or set right again.
    clocks_spoilt: bool,
    run_over: bool,
    latest_ns: u64,
    violations: u64,
    first: Option<Stall>,
    undecided: Option<String>,
    /// A node that failed by itself, and how.
    lost_node: Option<String>,
    /// When the machine stood still: from, until.
    machine_stalls: Vec<(u64, u64)>,
}

impl Progress {
    /// Why the first violation may be due to the machine and not to the lock.
    fn excuse(&self, first: &Stall) -> Option<String> {
        // It is not known since when the node was gone, so no waiting can be held against the lock.
        if self.lost_node.is_some() {
            return self.lost_node.clone();
        }
        let meanwhile = |(from_ns, until_ns): &&(u64, u64)| {
            *from_ns <= first.until_ns && first.from_ns <= *until_ns
        };
        let (from_ns, until_ns) = self.machine_stalls.iter().find(meanwhile)?;
        Some(format!(
            "no client got the lock for longer than the bound, but the machine was stalled for {} ms of that time",
            (until_ns - from_ns) / 1_000_000
        ))
    }

    /// A client wanted the key from `since_ns` until now: was that too long?
    fn look(&mut self, at_ns: u64, key: u32, since_ns: u64, worker: Option<usize>) {
        let state = &mut self.keys[key as usize];
        let from_ns = since_ns.max(state.clear_ns).max(self.faults_clear_ns);
        let limit_ns = from_ns.saturating_add(self.bound_ns);
        if at_ns <= limit_ns || state.holding + state.releasing > 0 || state.stalled {
            return;
        }
        if !self.faults_on.is_empty() {
            // During the run the fault may still end, and then the period starts again.
            if self.run_over {
                self.undecided.get_or_insert_with(|| {
                    "no client got the lock for longer than the bound, but a fault was still active".into()
                });
            }
            return;
        }
        if self.clocks_spoilt {
            self.undecided.get_or_insert_with(|| {
                "no client got the lock for longer than the bound, but a clock was wrong, and a key may have lived longer by as much".into()
            });
            return;
        }
        state.stalled = true;
        let doubt = state.doubt;
        self.violated(Stall {
            key,
            from_ns,
            until_ns: limit_ns,
            worker,
            doubt,
            has_unexpiring_key: false,
        });
    }

    fn violated(&mut self, stall: Stall) {
        self.violations += 1;
        if self
            .first
            .is_none_or(|first| stall.until_ns < first.until_ns)
        {
            self.first = Some(stall);
        }
    }

    /// Looks at all clients that are asking for this key. Cheap unless the key was idle for long.
    fn look_at_key(&mut self, at_ns: u64, key: u32) {
        let idle_since_ns = self.keys[key as usize].clear_ns.max(self.faults_clear_ns);
        if at_ns <= idle_since_ns.saturating_add(self.bound_ns) {
            return;
        }
        if let Some((worker, since_ns)) = self.wants.longest(key) {
            self.look(at_ns, key, since_ns, Some(worker));
        }
    }

    fn look_at_all(&mut self, at_ns: u64) {
        for key in 0..self.keys.len() {
            self.look_at_key(at_ns, key as u32);
        }
    }

    fn occupied_until(&mut self, key: u32, until_ns: u64) {
        let state = &mut self.keys[key as usize];
        state.clear_ns = state.clear_ns.max(until_ns);
    }

    fn fault_at(&mut self, at_ns: u64) {
        self.faults_clear_ns = at_ns.saturating_add(self.ttl_ns);
    }

    fn run_over(&mut self, at_ns: u64) {
        if !self.run_over {
            self.run_over = true;
            self.look_at_all(at_ns);
            self.wants.forget_all();
        }
    }

    fn probed(&mut self, at_ns: u64, key: u32, granted: bool, waited_ms: u64) {
        let known = &mut self.keys[key as usize].probe_granted;
        *known = Some(known.unwrap_or(false) || granted);
        if granted {
            return;
        }
        let before = self.violations;
        let stalled = self.keys[key as usize].stalled;
        if ms(waited_ms) >= self.bound_ns {
            // The probe's bound is met when it is reached, hence one nanosecond more.
            self.look(
                at_ns.saturating_add(1),
                key,
                at_ns.saturating_sub(ms(waited_ms)),
                None,
            );
        }
        if self.violations == before && !stalled {
            self.undecided.get_or_insert_with(|| {
                "the probe after the run did not get the lock, but a lease or a fault may have blocked it"
                    .into()
            });
        }
    }

    fn count_unexpiring_keys(&mut self) {
        for key in 0..self.keys.len() {
            let state = self.keys[key];
            if let Some(at_ns) = state.unexpiring_ns
                && state.probe_granted != Some(true)
                && !state.stalled
            {
                self.violated(Stall {
                    key: key as u32,
                    from_ns: at_ns,
                    until_ns: at_ns,
                    worker: None,
                    doubt: state.doubt,
                    has_unexpiring_key: true,
                });
            }
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
        page: include_str!("../../../../../docs/explain/progress.md"),
    };

    fn new(header: &Header) -> Self {
        let bound_ns = ms(header.progress_within_ms);
        Progress {
            bound_ns,
            ttl_ns: ms(header.ttl_ms),
            keys: vec![KeyState::default(); header.keys.len()],
            wants: Wants::new(header.workers, header.keys.len(), bound_ns),
            faults_on: Vec::new(),
            faults_clear_ns: 0,
            clocks_spoilt: false,
            run_over: false,
            latest_ns: 0,
            violations: 0,
            first: None,
            undecided: None,
            lost_node: None,
            machine_stalls: Vec::new(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let key = attempt.key;
        if key as usize >= self.keys.len() {
            return;
        }
        self.latest_ns = at_ns;
        self.ttl_ns = self.ttl_ns.max(attempt.ttl_ns);
        // A subject may extend by more than it was asked to take.
        let longest_ns = attempt.deadline_ns.saturating_sub(attempt.begun_ns());
        let until_ns = at_ns.saturating_add(attempt.ttl_ns.max(longest_ns));
        match step {
            Step::Asked => self.wants.asked(at_ns, attempt),
            Step::Denied(denial) => {
                if let Some(since_ns) = self.wants.denied(at_ns, attempt) {
                    self.look(at_ns, key, since_ns, Some(attempt.worker));
                }
                if !denial.is_definite() {
                    self.look_at_key(at_ns, key);
                    self.occupied_until(key, until_ns);
                    self.keys[key as usize].doubt = Some((attempt.worker, at_ns));
                }
            }
            Step::Begun => {
                self.look_at_key(at_ns, key);
                self.wants.satisfied(attempt);
                let state = &mut self.keys[key as usize];
                state.holding += 1;
                (state.stalled, state.doubt) = (false, None);
            }
            Step::LeaseMoved { .. } => {}
            Step::Ended(how) => {
                self.occupied_until(key, at_ns);
                let state = &mut self.keys[key as usize];
                state.holding = state.holding.saturating_sub(1);
                state.releasing += u32::from(how == HoldEnd::Released);
            }
            Step::Answered { released, .. } => {
                let state = &mut self.keys[key as usize];
                state.releasing = state.releasing.saturating_sub(1);
                let gone = released.is_some();
                self.occupied_until(key, if gone { at_ns } else { until_ns });
            }
            Step::Gone => {
                self.look_at_key(at_ns, key);
                let releasing = matches!(attempt.ended, Some((_, HoldEnd::Released)));
                let state = &mut self.keys[key as usize];
                state.releasing = state.releasing.saturating_sub(u32::from(releasing));
                self.occupied_until(key, until_ns);
                self.wants.satisfied(attempt);
            }
        }
    }

    fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        self.latest_ns = at_ns;
        match &event.what {
            What::WorkerDown { worker, .. } => self.wants.forget(*worker),
            What::Misbehaved { worker, kind, .. } if *kind != Misbehaviour::Hung => {
                self.wants.forget(*worker);
            }
            What::FaultBegan { id, fault, .. } => {
                self.look_at_all(at_ns);
                self.clocks_spoilt |= spoils_clocks(fault);
                if !strikes_once(fault) {
                    self.faults_on.push(*id);
                }
                self.fault_at(at_ns);
            }
            What::FaultEnded { id } => {
                self.look_at_all(at_ns);
                self.faults_on.retain(|on| on != id);
                self.fault_at(at_ns);
            }
            What::Probe {
                key,
                granted,
                waited_ms,
            } if (*key as usize) < self.keys.len() => {
                self.run_over(at_ns.saturating_sub(ms(*waited_ms)));
                self.probed(at_ns, *key, *granted, *waited_ms);
            }
            What::KeyLeft { key, ttl_ms, .. } => {
                self.run_over(at_ns);
                if let Some(state) = self.keys.get_mut(*key as usize) {
                    state.left = true;
                    if *ttl_ms == -1 {
                        state.unexpiring_ns.get_or_insert(at_ns);
                    }
                }
            }
            What::NodeLost { node, reason } => {
                self.lost_node
                    .get_or_insert_with(|| format!("node {node} failed on its own: {reason}"));
            }
            What::Stalled { late_ms } => self
                .machine_stalls
                .push((at_ns.saturating_sub(ms(*late_ms)), at_ns)),
            What::End { .. } => self.run_over(at_ns),
            _ => {}
        }
    }

    fn finish(mut self) -> Judgement {
        self.run_over(self.latest_ns);
        self.count_unexpiring_keys();
        let Some(mut first) = self.first else {
            return self.undecided.map_or(Judgement::Held, Judgement::Unknown);
        };
        let state = self.keys[first.key as usize];
        first.has_unexpiring_key = state.unexpiring_ns.is_some();
        // If the probe found no key and was not granted either, an attempt in doubt explains
        // nothing.
        let kept = state.left || state.probe_granted == Some(true);
        first.doubt = first.doubt.filter(|_| kept);
        if let (false, Some(reason)) = (first.has_unexpiring_key, self.excuse(&first)) {
            return Judgement::Unknown(reason);
        }
        Judgement::Violated {
            count: self.violations,
            first: Finding {
                property: Property::Progress,
                at_ns: first.until_ns,
                seen: Seen::Stall(first),
            },
        }
    }
}
