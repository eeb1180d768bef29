//! Attempts: what each event means for the one attempt to buy that it speaks of.
//!
//! Events after `acquire` name only worker and operation. The [`Follower`] keeps the attempts
//! that are under way, and hands every checker the attempt together with what just happened to
//! it, so that no checker looks anything up. A worker has one attempt at a time, so finding one
//! is finding the worker; a history that does otherwise costs a scan of that worker's own.
//!
//! # When a lease ends
//!
//! A subject that reports how long it may believe (`valid_ms`) did so `elapsed_ms` after it had
//! read the request, and it read the request after the driver had sent it. So the deadline is
//! `acquire + elapsed + valid`, never later than what the client believes: whoever is found
//! inside it, was inside it. (`granted + valid` would be too late where the worker was frozen
//! between computing the time and writing the line.) A subject that reports nothing may believe
//! at least until `acquire + ttl`, because the server cannot have set the key before it was asked.
//! An extension moves the deadline by the same sum, and only forwards; the word `lost` cuts it.
//!
//! # Which of two grants came first
//!
//! Grants arrive later than they are made, so the order of arrival alone proves nothing: the
//! reply may have been held back on its way. [`Attempt::follows_ns`] is what can be shown: every
//! other grant that had arrived before that time was made before this one, because
//!
//! 1. this attempt was only asked for afterwards; or
//! 2. by the subject's own word the lease of this attempt began afterwards (`deadline - ttl`); or
//! 3. this attempt's lease had not run out by then, so, had it come first, the other grant
//!    would have been made into a running lease. That reasoning needs a service that forgot
//!    nothing, so it is not used where a node or a clock was tampered with meanwhile.

use crate::history::{Event, What};

use super::fault::{forgets, spoils_clocks};

/// One attempt to buy, as far as it has come.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Whose.
    pub worker: usize,
    /// The number that all its events carry.
    pub op: u64,
    /// The lock's key, by its position in the header.
    pub key: u32,
    /// When the request was sent.
    pub acquire_ns: u64,
    /// The lease time that was asked for.
    pub ttl_ns: u64,
    /// For how long the subject may have tried.
    pub wait_ns: u64,
    /// When the grant arrived, if it has.
    pub begin_ns: Option<u64>,
    /// The lease runs at least until here; 0 before the grant.
    pub deadline_ns: u64,
    /// True when the deadline is the subject's own word.
    pub told: bool,
    /// Every other grant that had arrived before this time was made before this one.
    pub follows_ns: u64,
    /// The fencing token.
    pub fence: Option<u64>,
    /// When and how the hold ended, if it has.
    pub ended: Option<(u64, HoldEnd)>,
}

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldEnd {
    /// The request to release was sent.
    Released,
    /// The worker was gone: killed, or by itself.
    Killed,
    /// It was still open when the history ended.
    Open,
}

/// What just happened to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was sent.
    Asked,
    /// It was refused, or failed. `definite`: it certainly took nothing.
    Denied {
        /// See above.
        definite: bool,
    },
    /// Its grant arrived: the hold begins.
    Begun,
    /// Its lease was extended or cut.
    LeaseMoved {
        /// The deadline until now.
        was_ns: u64,
    },
    /// Its hold ended.
    Ended(HoldEnd),
    /// Its release was answered; the attempt is over.
    Answered {
        /// What the subject claims; `None`: the release ended in an error.
        released: Option<bool>,
        /// When the last command of the release went out.
        last_command_ns: Option<u64>,
    },
    /// Its worker is gone, and with it the attempt.
    Gone,
}

/// The attempts that are under way.
#[derive(Debug)]
pub struct Follower {
    workers: Vec<Vec<Attempt>>,
    /// When a node was last made to forget.
    forgot_ns: Option<u64>,
    /// True once some clock was wrong.
    clocks_spoilt: bool,
}

pub(super) const NS_PER_MS: u64 = 1_000_000;

/// Milliseconds as nanoseconds.
pub(super) fn ms(count: u64) -> u64 {
    count.saturating_mul(NS_PER_MS)
}

impl Attempt {
    fn asked(at_ns: u64, worker: usize, op: u64, key: u32, ttl_ms: u64, wait_ms: u64) -> Self {
        Attempt {
            worker,
            op,
            key,
            acquire_ns: at_ns,
            ttl_ns: ms(ttl_ms),
            wait_ns: ms(wait_ms),
            begin_ns: None,
            deadline_ns: 0,
            told: false,
            follows_ns: at_ns,
            fence: None,
            ended: None,
        }
    }

    fn reported(&self, elapsed_ms: Option<u64>, valid_ms: u64) -> u64 {
        self.acquire_ns
            .saturating_add(ms(elapsed_ms.unwrap_or(0)))
            .saturating_add(ms(valid_ms))
    }

    fn begin(&mut self, at_ns: u64, valid_ms: Option<u64>, elapsed_ms: Option<u64>, forgot: bool) {
        self.begin_ns = Some(at_ns);
        self.told = valid_ms.is_some();
        let by_ttl = self.acquire_ns.saturating_add(self.ttl_ns);
        self.deadline_ns = valid_ms.map_or(by_ttl, |valid| self.reported(elapsed_ms, valid));
        // A subject that claims more than it asked for does not move the moment of its grant.
        let claim_is_sane = valid_ms.is_none_or(|valid| ms(valid) <= self.ttl_ns);
        let sane_deadline = if claim_is_sane {
            self.deadline_ns
        } else {
            by_ttl
        };
        self.follows_ns = self.acquire_ns.max(if !forgot {
            sane_deadline
        } else if self.told {
            sane_deadline.saturating_sub(self.ttl_ns)
        } else {
            0
        });
        self.follows_ns = self.follows_ns.min(at_ns);
    }

    /// The hold's begin, for steps that only a hold can take.
    pub(super) fn begun_ns(&self) -> u64 {
        self.begin_ns.unwrap_or(self.acquire_ns)
    }
}

impl Follower {
    /// For a history with so many workers.
    pub fn new(workers: usize) -> Self {
        Follower {
            workers: vec![Vec::new(); workers],
            forgot_ns: None,
            clocks_spoilt: false,
        }
    }

    /// Takes in one event, and calls `see` for every step that an attempt makes by it. False:
    /// the event is about more than one attempt, or none, and should be looked at itself.
    pub fn event(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
        let at_ns = event.at_ns;
        match &event.what {
            What::Acquire {
                worker,
                op,
                key,
                ttl_ms,
                wait_ms,
            } => {
                let attempt = Attempt::asked(at_ns, *worker, *op, *key, *ttl_ms, *wait_ms);
                see(&attempt, Step::Asked);
                if let Some(open) = self.workers.get_mut(*worker) {
                    open.push(attempt);
                }
            }
            What::Granted { .. } => self.granted(event, see),
            What::Refused { worker, op } => {
                self.denied(*worker, *op, true, see);
            }
            What::AcquireFailed {
                worker,
                op,
                definite,
                ..
            } => self.denied(*worker, *op, *definite, see),
            What::Extended {
                worker,
                op,
                valid_ms,
                elapsed_ms,
            } => self.move_lease(*worker, *op, see, |attempt| {
                let deadline_ns = attempt.reported(*elapsed_ms, *valid_ms);
                attempt.deadline_ns.max(deadline_ns)
            }),
            What::Lost { worker, op } => {
                self.move_lease(*worker, *op, see, |attempt| attempt.deadline_ns.min(at_ns));
            }
            What::Release { worker, op } => {
                if let Some(attempt) = self.find(*worker, *op) {
                    end(attempt, at_ns, HoldEnd::Released, &mut see);
                }
            }
            What::Released {
                worker,
                op,
                released,
                last_command_ns,
            } => self.answered(
                at_ns,
                (*worker, *op),
                Some(*released),
                *last_command_ns,
                see,
            ),
            What::ReleaseFailed { worker, op, .. } => {
                self.answered(at_ns, (*worker, *op), None, None, see);
            }
            What::WorkerDown { worker, .. } => {
                self.down(at_ns, *worker, see);
                return false;
            }
            What::FaultBegan { fault, .. } => {
                self.fault(at_ns, fault);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The history is over: every hold that is still open ends here.
    pub fn close(&mut self, at_ns: u64, mut see: impl FnMut(&Attempt, Step)) {
        for attempt in self.workers.iter_mut().flatten() {
            end(attempt, at_ns, HoldEnd::Open, &mut see);
        }
    }

    fn granted(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) {
        let What::Granted {
            worker,
            op,
            fence,
            valid_ms,
            elapsed_ms,
            ..
        } = &event.what
        else {
            return;
        };
        let (forgot_ns, spoilt) = (self.forgot_ns, self.clocks_spoilt);
        if let Some(attempt) = self.find(*worker, *op)
            && attempt.begin_ns.is_none()
        {
            let forgot = spoilt || forgot_ns.is_some_and(|forgot| forgot >= attempt.acquire_ns);
            attempt.fence = *fence;
            attempt.begin(event.at_ns, *valid_ms, *elapsed_ms, forgot);
            see(attempt, Step::Begun);
        }
    }

    fn denied(
        &mut self,
        worker: usize,
        op: u64,
        definite: bool,
        mut see: impl FnMut(&Attempt, Step),
    ) {
        // Who has been granted the lock is no longer asking for it.
        let asking = self.find(worker, op).is_some_and(|a| a.begin_ns.is_none());
        if asking && let Some(attempt) = self.take(worker, op) {
            see(&attempt, Step::Denied { definite });
        }
    }

    fn move_lease(
        &mut self,
        worker: usize,
        op: u64,
        mut see: impl FnMut(&Attempt, Step),
        to: impl FnOnce(&Attempt) -> u64,
    ) {
        if let Some(attempt) = self.find(worker, op)
            && attempt.begin_ns.is_some()
            && attempt.ended.is_none()
        {
            let was_ns = attempt.deadline_ns;
            attempt.deadline_ns = to(attempt);
            if attempt.deadline_ns != was_ns {
                see(attempt, Step::LeaseMoved { was_ns });
            }
        }
    }

    fn answered(
        &mut self,
        at_ns: u64,
        (worker, op): (usize, u64),
        released: Option<bool>,
        last_command_ns: Option<u64>,
        mut see: impl FnMut(&Attempt, Step),
    ) {
        if let Some(mut attempt) = self.take(worker, op) {
            end(&mut attempt, at_ns, HoldEnd::Released, &mut see);
            let step = Step::Answered {
                released,
                last_command_ns,
            };
            see(&attempt, step);
        }
    }

    fn down(&mut self, at_ns: u64, worker: usize, mut see: impl FnMut(&Attempt, Step)) {
        let Some(open) = self.workers.get_mut(worker) else {
            return;
        };
        for mut attempt in open.drain(..) {
            end(&mut attempt, at_ns, HoldEnd::Killed, &mut see);
            see(&attempt, Step::Gone);
        }
    }

    fn fault(&mut self, at_ns: u64, fault: &str) {
        if forgets(fault) {
            self.forgot_ns = Some(at_ns);
        }
        self.clocks_spoilt |= spoils_clocks(fault);
    }

    fn find(&mut self, worker: usize, op: u64) -> Option<&mut Attempt> {
        let open = self.workers.get_mut(worker)?;
        open.iter_mut().rev().find(|attempt| attempt.op == op)
    }

    fn take(&mut self, worker: usize, op: u64) -> Option<Attempt> {
        let open = self.workers.get_mut(worker)?;
        let index = open.iter().rposition(|attempt| attempt.op == op)?;
        Some(open.swap_remove(index))
    }
}

/// Ends the attempt's hold, if it has one that is open.
fn end(attempt: &mut Attempt, at_ns: u64, how: HoldEnd, see: &mut impl FnMut(&Attempt, Step)) {
    if attempt.begin_ns.is_some() && attempt.ended.is_none() {
        attempt.ended = Some((at_ns, how));
        see(attempt, Step::Ended(how));
    }
}
