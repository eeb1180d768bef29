//! Attempts: what is known of one attempt to buy, and how it follows its events.

use picklock_scenarios::Phase;

use super::grant_order;
use super::last_answer::LastAnswer;
use super::lease_deadline::LeaseDeadline;
use super::nanoseconds::ms;
use super::request_read::{RequestRead, is_void};
use super::step::{AcquireFailure, HoldEnd, Step};
use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

/// One attempt to buy, as far as it has come.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Whose.
    pub worker: usize,
    /// The number that all its events carry.
    pub op: u64,
    /// The lock's key, by its position in the header.
    pub key: u32,
    /// When the request was sent.
    pub acquire_ns: u64,
    /// In an open loop: when the buyer came.
    pub intended_ns: Option<u64>,
    /// The lease time that was asked for.
    pub ttl_ns: u64,
    /// For how long the lock may have tried.
    pub wait_ns: u64,
    /// When the grant arrived, if it has.
    pub begin_ns: Option<u64>,
    /// The lease runs at least until here (see `lease_deadline.rs`); 0 before the grant.
    pub deadline_ns: u64,
    /// The lease runs no longer than until here; 0 before the grant.
    pub latest_deadline_ns: u64,
    /// Between which times the lock said so.
    pub report_window_ns: (u64, u64),
    /// The longest lease that was reported, counted from the report.
    pub(super) longest_told_ns: u64,
    /// The longest expiry that was written for it; 0: none was.
    pub(super) longest_written_ns: u64,
    /// When the value has run out whose expiry was written first since the last report of a lease; `u64::MAX`: none was.
    pub(super) runs_out_ns: u64,
    /// True when the deadline is the lock's own word.
    pub told: bool,
    /// True when the lock said nothing, and a server shows since when its lease runs.
    pub seen: bool,
    /// What the answer of this very moment says that it took, and what the driver has waited, milliseconds: it is more.
    pub void_elapsed: Option<(u64, u64)>,
    pub(super) read: RequestRead,
    pub(super) last_write: LastWrite,
    /// The keys that it has taken the lock in, and of which nodes.
    places: Vec<(usize, KeyName)>,
    /// When the holder's last request to extend was sent, while it is unanswered.
    pub extend_ns: Option<u64>,
    /// Between which times a command of that extension last changed a key of a server: it was answered later.
    pub(super) extend_written_ns: (u64, u64),
    /// Every other grant that had arrived before was made before this one: see `grant_order.rs`.
    pub follows_ns: u64,
    /// The fencing token.
    pub fence: Option<u64>,
    pub(super) last_answer: LastAnswer,
    /// When and how the hold ended, if it has.
    pub ended: Option<(u64, HoldEnd)>,
}

/// Where the attempt has written the lock's key in order to take it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LastWrite {
    #[default]
    Nowhere,
    /// On this node alone, and between which times it did so last.
    On(usize, (u64, u64)),
    OnSeveral,
}

/// What an event has done to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    /// Nothing that is followed here.
    Not,
    /// It goes on.
    UnderWay,
    /// It is over.
    Over,
}

impl Attempt {
    /// The attempt that begins with this event; `None`: none does.
    pub(super) fn asked(event: &Event) -> Option<Self> {
        let at_ns = event.at_ns;
        let EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms,
            wait_ms,
            intended_ns,
        } = event.what
        else {
            return None;
        };
        Some(Attempt {
            worker,
            op,
            key,
            acquire_ns: at_ns,
            intended_ns,
            ttl_ns: ms(ttl_ms),
            wait_ns: ms(wait_ms),
            begin_ns: None,
            deadline_ns: 0,
            latest_deadline_ns: 0,
            report_window_ns: (at_ns, at_ns),
            longest_told_ns: 0,
            longest_written_ns: 0,
            runs_out_ns: u64::MAX,
            told: false,
            seen: false,
            void_elapsed: None,
            read: RequestRead::at_once(at_ns),
            last_write: LastWrite::Nowhere,
            places: Vec::new(),
            extend_ns: None,
            extend_written_ns: (0, 0),
            follows_ns: at_ns,
            fence: None,
            last_answer: LastAnswer::after_request(at_ns, ms(ttl_ms)),
            ended: None,
        })
    }

    /// Follows an event of this attempt, and calls `see` for every step that it makes by that. `forgot`: since it asked,
    /// a node was made to forget, or some clock was wrong.
    pub(super) fn follow(
        &mut self,
        event: &Event,
        forgot: bool,
        see: &mut impl FnMut(&Attempt, Step),
    ) -> Followed {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Granted {
                fence,
                valid_ms,
                elapsed_ms,
                ..
            } => {
                if self.begin_ns.is_none() {
                    self.fence = *fence;
                    self.begin(at_ns, *valid_ms, *elapsed_ms, forgot);
                    see(self, Step::Begun);
                    self.void_elapsed = None;
                }
            }
            EventKind::Refused { .. } => return self.denied(AcquireFailure::Refused, see),
            &EventKind::AcquireFailed { definite, .. } => {
                return self.denied(AcquireFailure::Failed { definite }, see);
            }
            EventKind::Release { .. } => self.end(at_ns, HoldEnd::Released, see),
            EventKind::Released {
                released,
                last_command_ns,
                ..
            } => {
                return self.release_answered(at_ns, (*released, *last_command_ns), false, see);
            }
            EventKind::ReleaseFailed { .. } => {
                return self.release_answered(at_ns, (None, None), true, see);
            }
            EventKind::KeyChanged {
                node,
                key,
                value: Some(_),
                ttl_ms,
                why: KeyChange::Command(command),
                ..
            } => {
                // What never expires beside the lock is a counter.
                let of_lock = ttl_ms.is_some() || matches!(key, KeyName::Lock(_));
                let lives = of_lock.then_some(*ttl_ms);
                self.wrote(at_ns, (*node, key), command, lives, see);
                return Followed::Not;
            }
            _ => return self.follow_lease(event, see),
        }
        Followed::UnderWay
    }

    /// What the lock says about the lease of a hold.
    fn follow_lease(&mut self, event: &Event, see: &mut impl FnMut(&Attempt, Step)) -> Followed {
        let at_ns = event.at_ns;
        match event.what {
            EventKind::Extended {
                valid_ms,
                elapsed_ms,
                ..
            } => self.move_lease(at_ns, see, |attempt| {
                attempt.reported(at_ns, valid_ms, elapsed_ms)
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
                    let extended = attempt.extended(at_ns, valid_ms, elapsed_ms);
                    extended.unwrap_or(deadline)
                });
                self.void_elapsed = None;
            }
            EventKind::ExtendFailed { .. } => self.extend_ns = None,
            EventKind::ExtendRefused { .. } => self.move_lease(at_ns, see, |attempt| {
                attempt.extend_ns = None;
                attempt.deadline().lost(at_ns)
            }),
            EventKind::Lost { .. } => {
                self.move_lease(at_ns, see, |attempt| attempt.deadline().lost(at_ns));
            }
            _ => return Followed::Not,
        }
        Followed::UnderWay
    }

    /// An attempt that has been granted the lock is no longer asking for it.
    fn denied(&mut self, denial: AcquireFailure, see: &mut impl FnMut(&Attempt, Step)) -> Followed {
        if self.begin_ns.is_some() {
            return Followed::UnderWay;
        }
        see(self, Step::Denied(denial));
        Followed::Over
    }

    fn release_answered(
        &mut self,
        at_ns: u64,
        (released, last_command_ns): (Option<bool>, Option<u64>),
        failed: bool,
        see: &mut impl FnMut(&Attempt, Step),
    ) -> Followed {
        self.end(at_ns, HoldEnd::Released, see);
        let answered = Step::Answered {
            released,
            failed,
            last_command_ns,
        };
        see(self, answered);
        Followed::Over
    }

    /// Its hold ends, if it has one that is open.
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
            let report_window_ns = now.report_window_ns;
            see(self, Step::LeaseMoved { report_window_ns });
        }
    }

    /// A command of it has written the lock's value, or its expiry; `lives`: how long what it wrote lives, if that is of the
    /// lock. A grant cannot have been reported before its first, nor an extension before its last.
    fn wrote(
        &mut self,
        at_ns: u64,
        place: (usize, &KeyName),
        command: &KeyCommand,
        lives: Option<Option<i64>>,
        see: &mut impl FnMut(&Attempt, Step),
    ) {
        if let Some(ttl_ms) = lives {
            self.written(at_ns, ttl_ms, command.phase);
        }
        let written_ns = (command.forwarded_at_ns.unwrap_or(at_ns), at_ns);
        match command.phase {
            Phase::Acquire => self.taken(written_ns, place, lives.is_some()),
            Phase::Extend => self.extend_written_ns = written_ns,
            Phase::Idle => {
                // A heartbeat or a counter beside the lock renews nothing.
                let is_own = self.places.iter().any(|own| (own.0, &own.1) == place);
                if let Some(deadline) = self.perhaps_renewed(at_ns).filter(|_| is_own) {
                    self.move_lease(at_ns, see, |_| deadline);
                }
            }
            Phase::Release => {}
        }
    }

    fn begin(&mut self, at_ns: u64, valid_ms: Option<u64>, elapsed_ms: Option<u64>, forgot: bool) {
        self.begin_ns = Some(at_ns);
        self.told = valid_ms.is_some();
        self.record_elapsed(elapsed_ms, at_ns.saturating_sub(self.acquire_ns));
        if let (Some(elapsed_ms), None) = (elapsed_ms, self.void_elapsed) {
            self.read.answered(elapsed_ms);
        }
        let deadline = match (valid_ms, self.last_write) {
            (Some(valid_ms), _) => self.reported(at_ns, valid_ms, elapsed_ms),
            // It said nothing, but the server knows since when the key is the client's.
            (None, LastWrite::On(_, written_ns)) => {
                self.seen = true;
                self.answered(at_ns, elapsed_ms);
                LeaseDeadline::of_write(written_ns, self.ttl_ns)
            }
            (None, _) => {
                let (not_before_ns, _) = self.answered(at_ns, elapsed_ms);
                let deadline = LeaseDeadline::of_ttl(self.acquire_ns, at_ns, self.ttl_ns);
                LeaseDeadline {
                    report_window_ns: (not_before_ns.max(self.acquire_ns), at_ns),
                    ..deadline
                }
            }
        };
        self.set_deadline(at_ns, deadline);
        self.follows_ns = grant_order::follows_ns(self, at_ns, valid_ms, forgot);
    }

    fn record_elapsed(&mut self, elapsed_ms: Option<u64>, waited_ns: u64) {
        let void_ms = elapsed_ms.filter(|it| is_void(*it, waited_ns, self.ttl_ns));
        self.void_elapsed = void_ms.map(|void_ms| (void_ms, waited_ns / 1_000_000));
    }

    /// What an answer to this attempt says about its lease.
    fn reported(
        &mut self,
        arrived_ns: u64,
        valid_ms: u64,
        elapsed_ms: Option<u64>,
    ) -> LeaseDeadline {
        let waited_ns = arrived_ns.saturating_sub(self.acquire_ns);
        let elapsed_ms = elapsed_ms.filter(|it| !is_void(*it, waited_ns, self.ttl_ns));
        let report_window_ns = self.answered(arrived_ns, elapsed_ms);
        let deadline = LeaseDeadline::reported(report_window_ns, valid_ms);
        let runs_out_ns = std::mem::replace(&mut self.runs_out_ns, u64::MAX);
        match elapsed_ms {
            Some(_) => deadline.no_longer_than(runs_out_ns),
            None => deadline,
        }
    }

    /// The worker answered. Returns between which times it can have written that.
    fn answered(&mut self, arrived_ns: u64, elapsed_ms: Option<u64>) -> (u64, u64) {
        let not_before_ns = self.last_answer.arrived(arrived_ns);
        let waited_ns = arrived_ns.saturating_sub(self.acquire_ns);
        match elapsed_ms.filter(|it| !is_void(*it, waited_ns, self.ttl_ns)) {
            Some(elapsed_ms) => {
                let written_ns = self.read.reported(elapsed_ms, arrived_ns);
                self.last_answer.written(written_ns.0);
                written_ns
            }
            None => (not_before_ns, arrived_ns),
        }
    }

    /// What the answer to the request to extend says about the lease; `None`: nothing asked for it.
    fn extended(
        &mut self,
        arrived_ns: u64,
        valid_ms: Option<u64>,
        elapsed_ms: Option<u64>,
    ) -> Option<LeaseDeadline> {
        let requested_at_ns = self.extend_ns.take()?;
        let not_before_ns = self.last_answer.arrived(arrived_ns).max(requested_at_ns);
        let Some(valid_ms) = valid_ms else {
            return Some(match self.seen && self.extend_written_ns.1 > 0 {
                true => LeaseDeadline::of_write(self.extend_written_ns, self.ttl_ns),
                false => LeaseDeadline::of_ttl(requested_at_ns, arrived_ns, self.ttl_ns),
            });
        };
        let waited_ns = arrived_ns.saturating_sub(requested_at_ns);
        let report_window_ns = match elapsed_ms.filter(|it| !is_void(*it, waited_ns, self.ttl_ns)) {
            Some(elapsed_ms) => {
                let report_window_ns = requested_at_ns
                    .saturating_add(ms(elapsed_ms))
                    .min(arrived_ns);
                self.last_answer.written(report_window_ns);
                (report_window_ns, report_window_ns)
            }
            None => (not_before_ns, arrived_ns),
        };
        // It says how long it took, not when it read the request. What it did to the servers shows the
        // earliest time, and its answer the latest.
        let deadline = LeaseDeadline::reported(report_window_ns, valid_ms);
        let written_ns = self
            .extend_written_ns
            .0
            .max(requested_at_ns)
            .min(arrived_ns);
        let shown_ns = written_ns.saturating_add(ms(valid_ms));
        let earliest_ns = deadline.earliest_ns.max(shown_ns);
        Some(LeaseDeadline {
            earliest_ns,
            latest_ns: deadline.latest_ns.max(earliest_ns),
            report_window_ns: (deadline.report_window_ns.0.max(written_ns), arrived_ns),
        })
    }

    /// A command has changed a key of a node, between these times, in order to take the lock; `of_lock`: the lock's. What comes after the
    /// grant shows nothing of the time before it.
    fn taken(&mut self, written_ns: (u64, u64), (node, key): (usize, &KeyName), of_lock: bool) {
        if self.begin_ns.is_some() {
            return;
        }
        if self.read.wrote(written_ns) {
            self.last_answer.written(written_ns.0);
        }
        if of_lock {
            if !self.places.iter().any(|own| (own.0, &own.1) == (node, key)) {
                self.places.push((node, key.clone()));
            }
            self.last_write = match self.last_write {
                LastWrite::Nowhere => LastWrite::On(node, written_ns),
                LastWrite::On(before, _) if before == node => LastWrite::On(node, written_ns),
                _ => LastWrite::OnSeveral,
            };
        }
    }

    /// A command of a holder that is told nothing has set the key's expiry anew, perhaps its own key's: then the
    /// lease may run for longer. `None`: nothing changes.
    fn perhaps_renewed(&self, at_ns: u64) -> Option<LeaseDeadline> {
        let deadline = self.deadline();
        let latest_ns = at_ns.saturating_add(self.ttl_ns);
        let is_longer = self.seen && latest_ns > deadline.latest_ns;
        is_longer.then_some(LeaseDeadline {
            latest_ns,
            report_window_ns: (at_ns, at_ns),
            ..deadline
        })
    }

    pub(super) fn deadline(&self) -> LeaseDeadline {
        LeaseDeadline {
            earliest_ns: self.deadline_ns,
            latest_ns: self.latest_deadline_ns,
            report_window_ns: self.report_window_ns,
        }
    }

    /// The lease ends then, as is known since `at_ns`.
    fn set_deadline(&mut self, at_ns: u64, deadline: LeaseDeadline) {
        self.deadline_ns = deadline.earliest_ns;
        self.latest_deadline_ns = deadline.latest_ns;
        self.report_window_ns = deadline.report_window_ns;
        let lease_ns = deadline.latest_ns.saturating_sub(at_ns);
        self.longest_told_ns = self.longest_told_ns.max(lease_ns);
    }

    /// What it may leave behind in the servers runs out after this time: the TTL, or the longest lease that was
    /// reported, counted from the report. More than was written is a false claim, and no lease.
    pub fn longest_lease_ns(&self) -> u64 {
        let reported_at_ns = match self.longest_written_ns {
            0 => self.longest_told_ns,
            written_ns => self.longest_told_ns.min(written_ns),
        };
        self.ttl_ns.max(reported_at_ns)
    }

    /// A value was written for it then that lives so long; `None`: for ever.
    fn written(&mut self, at_ns: u64, ttl_ms: Option<i64>, phase: Phase) {
        let written_ns = ttl_ms.map_or(u64::MAX, |ttl| ms(u64::try_from(ttl).unwrap_or(0)));
        self.longest_written_ns = self.longest_written_ns.max(written_ns);
        if self.runs_out_ns == u64::MAX && matches!(phase, Phase::Acquire | Phase::Idle) {
            self.runs_out_ns = at_ns.saturating_add(written_ns);
        }
    }

    /// When the hold began, for steps that only a hold can make.
    pub fn begun_ns(&self) -> u64 {
        self.begin_ns.unwrap_or(self.acquire_ns)
    }
}
