//! Attempts: the state of one attempt to buy, and how events change it.

use std::sync::Arc;

use picklock_scenarios::Phase;

use super::acquired_places::{AcquiredPlace, AcquiredPlaces};
use super::grant_order;
use super::last_answer::LastAnswer;
use super::last_write::LastWrite;
use super::lease_deadline::LeaseDeadline;
use super::lifetime::Lifetime;
use super::nanoseconds::{ms_from_ns, ns_from_ms};
use super::request_read::{RequestRead, is_void};
use super::step::{AcquireFailure, HoldEnd, Step};
use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

/// The state of one attempt to buy.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The worker that makes the attempt.
    pub worker: usize,
    /// The number that all events of the attempt carry.
    pub op: u64,
    /// The lock, by its position in `Header::keys`.
    pub lock: u32,
    /// When the request was sent.
    pub acquire_ns: u64,
    /// When the buyer arrived; only in an open loop.
    pub intended_ns: Option<u64>,
    /// The part of the lock's capacity that a grant takes.
    pub weight: u32,
    /// The requested lease time.
    pub ttl_ns: u64,
    /// Maximum time that the lock may spend trying to acquire.
    pub wait_ns: u64,
    /// When the grant arrived, if it has.
    pub begin_ns: Option<u64>,
    /// Earliest possible end of the lease (see `lease_deadline.rs`); 0 before the grant.
    pub deadline_ns: u64,
    /// Latest possible end of the lease; 0 before the grant.
    pub latest_deadline_ns: u64,
    /// The earliest and latest time at which the lock may have written its latest report.
    pub report_window_ns: (u64, u64),
    /// The longest lease that was reported, measured from the report.
    pub(super) longest_reported_ns: u64,
    /// The longest expiry that was written for the attempt, or 0 if none was written.
    pub(super) longest_written_ns: u64,
    /// The end of the first expiry that was written since the latest lease report, or `u64::MAX` if none was written.
    pub(super) runs_out_ns: u64,
    /// Whether the lock reported the deadline itself.
    pub lease_reported: bool,
    /// Whether the lock reported no validity, but the key history of a single node shows when its lease began.
    pub lease_observed: bool,
    /// Set while an answer is processed that reports an impossible `elapsed_ms`: the reported time and the shorter
    /// time that the driver had waited, in milliseconds.
    pub void_elapsed: Option<(u64, u64)>,
    pub(super) read: RequestRead,
    pub(super) last_write: LastWrite,
    /// The values of the lock that the attempt wrote in order to acquire it.
    pub written: AcquiredPlaces,
    /// When the holder's pending request to extend was sent, if there is one.
    pub extend_ns: Option<u64>,
    /// The earliest and latest time of the last key change that the pending extension made.
    pub(super) extend_written_ns: (u64, u64),
    /// Every other grant that had arrived before this time was made before this grant (see `grant_order.rs`).
    pub follows_grants_before_ns: u64,
    /// The fencing token.
    pub fence: Option<u64>,
    /// Whether the client is a leader that requests permission from its lock before each act.
    asks_to_act: bool,
    pub(super) last_answer: LastAnswer,
    /// When and how the hold ended, if it has.
    pub ended: Option<(u64, HoldEnd)>,
    /// When the last command of the release was sent, once the release has been answered.
    pub last_command_ns: Option<u64>,
}

/// The effect of an event on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    /// The event has no effect here.
    Not,
    /// The attempt continues.
    UnderWay,
    /// The attempt is over.
    Over,
}

impl Attempt {
    /// Returns the attempt that begins with this event, or `None` if the event does not begin an attempt. `key_history`
    /// states whether the history has one.
    pub(super) fn from_event(event: &Event, key_history: bool) -> Option<Self> {
        let at_ns = event.at_ns;
        let EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms,
            wait_ms,
            intended_ns,
            weight,
        } = event.what
        else {
            return None;
        };
        Some(Attempt {
            worker,
            op,
            lock: key,
            acquire_ns: at_ns,
            intended_ns,
            weight,
            ttl_ns: ns_from_ms(ttl_ms),
            wait_ns: ns_from_ms(wait_ms),
            begin_ns: None,
            deadline_ns: 0,
            latest_deadline_ns: 0,
            report_window_ns: (at_ns, at_ns),
            longest_reported_ns: 0,
            longest_written_ns: 0,
            runs_out_ns: u64::MAX,
            lease_reported: false,
            lease_observed: false,
            void_elapsed: None,
            read: RequestRead::at_once(at_ns),
            last_write: LastWrite::Nowhere,
            written: AcquiredPlaces::new(key_history),
            extend_ns: None,
            extend_written_ns: (0, 0),
            follows_grants_before_ns: at_ns,
            fence: None,
            asks_to_act: false,
            last_answer: LastAnswer::after_request(at_ns, ns_from_ms(ttl_ms)),
            ended: None,
            last_command_ns: None,
        })
    }

    /// Processes an event of this attempt, and calls `see` for every step that it causes. `leases_broken` states
    /// whether a fault has lost keys or spoilt a clock since the request.
    pub(super) fn follow(
        &mut self,
        event: &Event,
        leases_broken: bool,
        see: &mut impl FnMut(&Attempt, Step),
    ) -> Followed {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Granted {
                token,
                fence,
                valid_ms,
                elapsed_ms,
                ..
            } => {
                if self.begin_ns.is_none() {
                    self.fence = *fence;
                    if let Some(not_before_ns) = self.written.granted(token) {
                        self.read.record_granted_write(not_before_ns);
                    }
                    self.begin(at_ns, *valid_ms, *elapsed_ms, leases_broken);
                    see(self, Step::Begun);
                    self.void_elapsed = None;
                }
            }
            EventKind::Refused { .. } => return self.fail(AcquireFailure::Refused, see),
            &EventKind::AcquireFailed { definite, .. } => {
                return self.fail(AcquireFailure::Failed { definite }, see);
            }
            EventKind::Release { .. } => self.end(at_ns, HoldEnd::Released, see),
            EventKind::Released {
                released,
                last_command_ns,
                ..
            } => {
                self.last_command_ns = *last_command_ns;
                return self.release_answered(at_ns, *released, false, see);
            }
            EventKind::ReleaseFailed { .. } => {
                return self.release_answered(at_ns, None, true, see);
            }
            EventKind::KeyChanged {
                node,
                key,
                value: Some(value),
                ttl_ms,
                why: KeyChange::Command(command),
                ..
            } => {
                // A key that never expires and does not have the lock's name is a counter.
                let of_lock = key.may_hold_lock(ttl_ms.is_some());
                let lifetime = Lifetime::new(of_lock, *ttl_ms);
                self.record_write(at_ns, (*node, key, value), command, lifetime, see);
                return Followed::Not;
            }
            _ => return self.follow_lease(event, see),
        }
        Followed::UnderWay
    }

    /// Processes the lock's reports about the lease of a hold.
    fn follow_lease(&mut self, event: &Event, see: &mut impl FnMut(&Attempt, Step)) -> Followed {
        let at_ns = event.at_ns;
        match event.what {
            // The renewal was answered too late: the lease that it reports never ran. When it was written is unknown.
            EventKind::Extended {
                valid_ms: 0,
                elapsed_ms: None,
                ..
            } => {}
            EventKind::Extended {
                valid_ms,
                elapsed_ms,
                ..
            } => self.move_lease(at_ns, see, |attempt| {
                let known_ns = attempt.deadline_ns;
                let deadline = attempt.reported_deadline(at_ns, valid_ms, elapsed_ms);
                match elapsed_ms {
                    Some(_) => deadline,
                    // The report may be nearly as old as the answer before it.
                    None => deadline.extending(known_ns),
                }
            }),
            EventKind::Extend { .. } => {
                (self.extend_ns, self.extend_written_ns) = (Some(at_ns), (0, 0));
            }
            EventKind::ExtendGranted {
                valid_ms,
                elapsed_ms,
                ..
            } => {
                let requested_at_ns = self.extend_ns.unwrap_or(self.acquire_ns);
                self.record_elapsed(elapsed_ms, at_ns.saturating_sub(requested_at_ns));
                self.move_lease(at_ns, see, |attempt| {
                    let deadline = attempt.deadline();
                    let extended = attempt.extended_deadline(at_ns, valid_ms, elapsed_ms);
                    extended.unwrap_or(deadline)
                });
                self.void_elapsed = None;
            }
            EventKind::ExtendFailed { .. } => self.extend_ns = None,
            EventKind::ExtendRefused { .. } => self.move_lease(at_ns, see, |attempt| {
                attempt.extend_ns = None;
                attempt.deadline().lost(at_ns)
            }),
            EventKind::Act { .. } | EventKind::MayAct { .. } => {
                self.asks_to_act = true;
                see(self, Step::Acted);
                return Followed::Not;
            }
            EventKind::StockRead { .. }
            | EventKind::StockChanged { belated: None, .. }
            | EventKind::FencedOff { .. }
                if self.asks_to_act =>
            {
                see(self, Step::Acted);
                return Followed::Not;
            }
            EventKind::Lost { .. } => {
                self.move_lease(at_ns, see, |attempt| attempt.deadline().lost(at_ns));
            }
            _ => return Followed::Not,
        }
        Followed::UnderWay
    }

    /// Ends the attempt without a grant. Ignored if the lock has already been granted.
    fn fail(&mut self, failure: AcquireFailure, see: &mut impl FnMut(&Attempt, Step)) -> Followed {
        if self.begin_ns.is_some() {
            return Followed::UnderWay;
        }
        see(self, Step::Denied(failure));
        Followed::Over
    }

    fn release_answered(
        &mut self,
        at_ns: u64,
        released: Option<bool>,
        failed: bool,
        see: &mut impl FnMut(&Attempt, Step),
    ) -> Followed {
        self.end(at_ns, HoldEnd::Released, see);
        see(self, Step::Answered { released, failed });
        Followed::Over
    }

    /// Ends the hold if one is active.
    pub(super) fn end(&mut self, at_ns: u64, how: HoldEnd, see: &mut impl FnMut(&Attempt, Step)) {
        if self.begin_ns.is_some() && self.ended.is_none() {
            self.ended = Some((at_ns, how));
            see(self, Step::Ended(how));
        }
    }

    fn move_lease(
        &mut self,
        at_ns: u64,
        see: &mut impl FnMut(&Attempt, Step),
        to: impl FnOnce(&mut Attempt) -> LeaseDeadline,
    ) {
        if self.begin_ns.is_none() || self.ended.is_some() {
            return;
        }
        let was = self.deadline();
        let now = to(self);
        if (now.earliest_ns, now.latest_ns) != (was.earliest_ns, was.latest_ns) {
            self.set_deadline(at_ns, now);
            see(self, Step::LeaseMoved);
        }
    }

    /// Records that a command of this attempt wrote a value or an expiry. A grant cannot have been reported before its
    /// first write, and an extension not before its last write.
    fn record_write(
        &mut self,
        at_ns: u64,
        (node, key, value): (usize, &KeyName, &Arc<str>),
        command: &KeyCommand,
        lifetime: Lifetime,
        see: &mut impl FnMut(&Attempt, Step),
    ) {
        let written_ns = (command.forwarded_at_ns.unwrap_or(at_ns), at_ns);
        if command.phase == Phase::Acquire {
            self.record_acquire_write(written_ns, (node, key, value), lifetime);
        }
        if let Some(lifetime_ns) = lifetime.ns() {
            self.record_expiry(at_ns, lifetime_ns, command.phase);
        }
        match command.phase {
            Phase::Extend => self.extend_written_ns = written_ns,
            Phase::Idle => {
                // A write to a heartbeat or a counter next to the lock is not a renewal.
                let is_own = self.written.contains(node, key);
                if let Some(deadline) = self.possibly_renewed_deadline(at_ns).filter(|_| is_own) {
                    self.move_lease(at_ns, see, |_| deadline);
                }
            }
            Phase::Acquire | Phase::Release => {}
        }
    }

    fn begin(
        &mut self,
        at_ns: u64,
        valid_ms: Option<u64>,
        elapsed_ms: Option<u64>,
        leases_broken: bool,
    ) {
        self.begin_ns = Some(at_ns);
        self.lease_reported = valid_ms.is_some();
        self.record_elapsed(elapsed_ms, at_ns.saturating_sub(self.acquire_ns));
        if let (Some(elapsed_ms), None) = (elapsed_ms, self.void_elapsed) {
            self.read.record_answer(elapsed_ms, at_ns, self.ttl_ns);
        }
        let deadline = match (valid_ms, self.last_write) {
            (Some(valid_ms), _) => self.reported_deadline(at_ns, valid_ms, elapsed_ms),
            // The lock did not report a validity, but the key history shows when the client took the key.
            (None, LastWrite::On(_, written_ns)) => {
                self.lease_observed = true;
                let elapsed_ms = self.possible_elapsed(at_ns, elapsed_ms);
                self.record_answer(at_ns, elapsed_ms);
                LeaseDeadline::from_write(written_ns, self.ttl_ns)
            }
            (None, _) => {
                let elapsed_ms = self.possible_elapsed(at_ns, elapsed_ms);
                let (not_before_ns, _) = self.record_answer(at_ns, elapsed_ms);
                let deadline = LeaseDeadline::from_ttl(self.acquire_ns, at_ns, self.ttl_ns);
                LeaseDeadline {
                    report_window_ns: (not_before_ns.max(self.acquire_ns), at_ns),
                    ..deadline
                }
            }
        };
        self.set_deadline(at_ns, deadline);
        self.follows_grants_before_ns =
            grant_order::follows_grants_before_ns(self, at_ns, valid_ms, leases_broken);
    }

    fn record_elapsed(&mut self, elapsed_ms: Option<u64>, waited_ns: u64) {
        let void_ms = elapsed_ms.filter(|elapsed_ms| is_void(*elapsed_ms, waited_ns, self.ttl_ns));
        self.void_elapsed = void_ms.map(|void_ms| (void_ms, ms_from_ns(waited_ns)));
    }

    /// Returns the deadline that an answer to this attempt reports.
    fn reported_deadline(
        &mut self,
        arrived_ns: u64,
        valid_ms: u64,
        elapsed_ms: Option<u64>,
    ) -> LeaseDeadline {
        let elapsed_ms = self.possible_elapsed(arrived_ns, elapsed_ms);
        let report_window_ns = self.record_answer(arrived_ns, elapsed_ms);
        let deadline = LeaseDeadline::reported(report_window_ns, valid_ms);
        let runs_out_ns = std::mem::replace(&mut self.runs_out_ns, u64::MAX);
        match elapsed_ms {
            Some(_) => deadline.no_longer_than(runs_out_ns),
            None => deadline,
        }
    }

    /// Returns the reported time of the request, or `None` if it is impossible or was not reported.
    fn possible_elapsed(&self, arrived_ns: u64, elapsed_ms: Option<u64>) -> Option<u64> {
        let waited_ns = arrived_ns.saturating_sub(self.acquire_ns);
        elapsed_ms.filter(|elapsed_ms| !is_void(*elapsed_ms, waited_ns, self.ttl_ns))
    }

    /// Records an answer of the worker, whose reported time must be possible. Returns the earliest and latest time at
    /// which the worker may have written it.
    fn record_answer(&mut self, arrived_ns: u64, elapsed_ms: Option<u64>) -> (u64, u64) {
        let not_before_ns = self.last_answer.record_arrival(arrived_ns);
        match elapsed_ms {
            Some(elapsed_ms) => {
                let written_ns = self.read.report_window(elapsed_ms, arrived_ns);
                self.last_answer.record_earliest_writing(written_ns.0);
                written_ns
            }
            None => (not_before_ns, arrived_ns),
        }
    }

    /// Records a key change that was made in order to acquire, with its earliest and latest time. Changes after the
    /// grant are ignored, because they show nothing about the time before it.
    fn record_acquire_write(
        &mut self,
        written_ns: (u64, u64),
        (node, key, value): (usize, &KeyName, &Arc<str>),
        lifetime: Lifetime,
    ) {
        if self.begin_ns.is_some() {
            return;
        }
        if self.read.record_write(written_ns) {
            self.last_answer.record_earliest_writing(written_ns.0);
        }
        if let Some(lifetime_ns) = lifetime.ns() {
            let place = AcquiredPlace::new((node, key, value), written_ns, lifetime_ns);
            if self.written.record(place) {
                // The lease of a new try does not end with the value of an earlier try.
                self.runs_out_ns = u64::MAX;
            }
            self.last_write = self.last_write.after(node, written_ns);
        }
    }

    pub(super) fn deadline(&self) -> LeaseDeadline {
        LeaseDeadline {
            earliest_ns: self.deadline_ns,
            latest_ns: self.latest_deadline_ns,
            report_window_ns: self.report_window_ns,
        }
    }

    /// Sets the deadline, which is known since `at_ns`.
    fn set_deadline(&mut self, at_ns: u64, deadline: LeaseDeadline) {
        self.deadline_ns = deadline.earliest_ns;
        self.latest_deadline_ns = deadline.latest_ns;
        self.report_window_ns = deadline.report_window_ns;
        let lease_ns = deadline.latest_ns.saturating_sub(at_ns);
        self.longest_reported_ns = self.longest_reported_ns.max(lease_ns);
    }

    /// Returns how long values that the attempt leaves on the servers can live, in nanoseconds: the TTL or, if it is
    /// longer, the longest reported lease, measured from the report. A report beyond the written expiry is a false
    /// claim and does not count.
    pub fn longest_lease_ns(&self) -> u64 {
        let reported_ns = match self.longest_written_ns {
            0 => self.longest_reported_ns,
            written_ns => self.longest_reported_ns.min(written_ns),
        };
        self.ttl_ns.max(reported_ns)
    }

    /// Records the lifetime of a value that was written for the attempt, or `u64::MAX` if the value never expires.
    fn record_expiry(&mut self, at_ns: u64, lifetime_ns: u64, phase: Phase) {
        self.longest_written_ns = self.longest_written_ns.max(lifetime_ns);
        if self.runs_out_ns == u64::MAX && matches!(phase, Phase::Acquire | Phase::Idle) {
            self.runs_out_ns = at_ns.saturating_add(lifetime_ns);
        }
    }

    /// Returns when the hold began. For steps that only a holder can make.
    pub fn begun_ns(&self) -> u64 {
        self.begin_ns.unwrap_or(self.acquire_ns)
    }
}
