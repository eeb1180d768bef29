//! Attempts: what is known of one attempt to buy, and the steps that it can make.

use super::grant_order;
use super::last_answer::LastAnswer;
use super::lease_deadline::LeaseDeadline;
use super::nanoseconds::ms;
use super::request_read::{RequestRead, is_void};
use crate::history::{Event, EventKind};

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
    /// In an open loop: when the buyer came.
    pub intended_ns: Option<u64>,
    /// The lease time that was asked for.
    pub ttl_ns: u64,
    /// For how long the lock may have tried.
    pub wait_ns: u64,
    /// When the grant arrived, if it has.
    pub begin_ns: Option<u64>,
    /// The lease runs at least until here; 0 before the grant. The rule stands in
    /// `lease_deadline.rs`.
    pub deadline_ns: u64,
    /// The lease runs no longer than until here; 0 before the grant.
    pub latest_deadline_ns: u64,
    /// Between which times the lock said so.
    pub said_ns: (u64, u64),
    /// The longest lease that was reported, counted from the report.
    pub(super) longest_told_ns: u64,
    /// The longest expiry that was written for it; 0: none was.
    pub(super) longest_written_ns: u64,
    /// True when the deadline is the lock's own word.
    pub told: bool,
    /// True when the lock said nothing, and a server shows since when its lease runs.
    pub seen: bool,
    /// What it said that it took is more than the driver has waited, in milliseconds.
    pub void_elapsed_ms: Option<u64>,
    pub(super) read: RequestRead,
    pub(super) last_write: LastWrite,
    /// When the holder's last request to extend was sent, while it is unanswered.
    pub extend_ns: Option<u64>,
    /// Between which times a command of that extension last changed a key of a server: it was answered later.
    pub(super) extend_written_ns: (u64, u64),
    /// Every other grant that had arrived before this time was made before this one. The rule
    /// stands in `grant_order.rs`.
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

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldEnd {
    /// The request to release was sent.
    Released,
    /// The worker died: killed by the nemesis, or on its own.
    Killed,
    /// It was still open when the history ended.
    Open,
}

/// What just happened to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was sent.
    Asked,
    /// It was refused, or failed.
    Denied(Denial),
    /// Its grant arrived: the hold begins.
    Begun,
    /// Its lease was extended or cut.
    LeaseMoved {
        /// Between which times the lock said so.
        said_ns: (u64, u64),
    },
    /// Its hold ended.
    Ended(HoldEnd),
    /// Its release was answered; the attempt is over.
    Answered {
        /// What the lock claims; `None`: nothing, or the release ended in an error.
        released: Option<bool>,
        /// The release ended in an error.
        failed: bool,
        /// When the last command of the release went out.
        last_command_ns: Option<u64>,
    },
    /// Its worker is gone, and with it the attempt.
    Gone,
}

/// Why an attempt got no lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Another client has the lock.
    Refused,
    /// It ended in an error.
    Failed {
        /// It certainly took nothing.
        definite: bool,
    },
}

impl Denial {
    /// True when the attempt certainly took nothing.
    pub fn is_definite(self) -> bool {
        matches!(self, Denial::Refused | Denial::Failed { definite: true })
    }
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
            said_ns: (at_ns, at_ns),
            longest_told_ns: 0,
            longest_written_ns: 0,
            told: false,
            seen: false,
            void_elapsed_ms: None,
            read: RequestRead::at_once(at_ns),
            last_write: LastWrite::Nowhere,
            extend_ns: None,
            extend_written_ns: (0, 0),
            follows_ns: at_ns,
            fence: None,
            last_answer: LastAnswer::after_request(at_ns, ms(ttl_ms)),
            ended: None,
        })
    }

    pub(super) fn begin(
        &mut self,
        at_ns: u64,
        valid_ms: Option<u64>,
        elapsed_ms: Option<u64>,
        forgot: bool,
    ) {
        self.begin_ns = Some(at_ns);
        self.told = valid_ms.is_some();
        let waited_ns = at_ns.saturating_sub(self.acquire_ns);
        self.void_elapsed_ms = elapsed_ms.filter(|it| is_void(*it, waited_ns, self.ttl_ns));
        if let (Some(elapsed_ms), None) = (elapsed_ms, self.void_elapsed_ms) {
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
                    said_ns: (not_before_ns.max(self.acquire_ns), at_ns),
                    ..deadline
                }
            }
        };
        self.set_deadline(at_ns, deadline);
        self.follows_ns = grant_order::follows_ns(self, at_ns, valid_ms, forgot);
    }

    /// What an answer to this attempt says about its lease.
    pub(super) fn reported(
        &mut self,
        arrived_ns: u64,
        valid_ms: u64,
        elapsed_ms: Option<u64>,
    ) -> LeaseDeadline {
        let said_ns = self.answered(arrived_ns, elapsed_ms);
        LeaseDeadline::reported(said_ns, valid_ms)
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

    /// What the answer to the request to extend says about the lease. An answer that nothing asked
    /// for says nothing.
    pub(super) fn extended(
        &mut self,
        arrived_ns: u64,
        valid_ms: Option<u64>,
        elapsed_ms: Option<u64>,
    ) -> Option<LeaseDeadline> {
        let asked_ns = self.extend_ns.take()?;
        let not_before_ns = self.last_answer.arrived(arrived_ns).max(asked_ns);
        let Some(valid_ms) = valid_ms else {
            return Some(match self.seen && self.extend_written_ns.1 > 0 {
                true => LeaseDeadline::of_write(self.extend_written_ns, self.ttl_ns),
                false => LeaseDeadline::of_ttl(asked_ns, arrived_ns, self.ttl_ns),
            });
        };
        let waited_ns = arrived_ns.saturating_sub(asked_ns);
        let said_ns = match elapsed_ms.filter(|it| !is_void(*it, waited_ns, self.ttl_ns)) {
            Some(elapsed_ms) => {
                let said_ns = asked_ns.saturating_add(ms(elapsed_ms)).min(arrived_ns);
                self.last_answer.written(said_ns);
                (said_ns, said_ns)
            }
            None => (not_before_ns, arrived_ns),
        };
        // It says how long it took, not when it read the request. What it did to the servers shows the
        // earliest time, and its answer the latest.
        let deadline = LeaseDeadline::reported(said_ns, valid_ms);
        let written_ns = self.extend_written_ns.0.max(asked_ns).min(arrived_ns);
        let earliest_ns = deadline
            .earliest_ns
            .max(written_ns.saturating_add(ms(valid_ms)));
        Some(LeaseDeadline {
            earliest_ns,
            latest_ns: deadline.latest_ns.max(earliest_ns),
            said_ns: (deadline.said_ns.0.max(written_ns), arrived_ns),
        })
    }

    /// A command has changed a key of a node, between these times, in order to take the lock; `of_lock`: the lock's. What comes after the
    /// grant shows nothing of the time before it.
    pub(super) fn taken(&mut self, written_ns: (u64, u64), node: usize, of_lock: bool) {
        if self.begin_ns.is_some() {
            return;
        }
        if self.read.wrote(written_ns) {
            self.last_answer.written(written_ns.0);
        }
        if of_lock {
            self.last_write = match self.last_write {
                LastWrite::Nowhere => LastWrite::On(node, written_ns),
                LastWrite::On(before, _) if before == node => LastWrite::On(node, written_ns),
                _ => LastWrite::OnSeveral,
            };
        }
    }

    /// A command of a holder that is told nothing has set the key's expiry anew, perhaps its own key's: then the
    /// lease may run for longer. `None`: nothing changes.
    pub(super) fn perhaps_renewed(&self, at_ns: u64) -> Option<LeaseDeadline> {
        let deadline = self.deadline();
        let latest_ns = at_ns.saturating_add(self.ttl_ns);
        let is_longer = self.seen && latest_ns > deadline.latest_ns;
        is_longer.then_some(LeaseDeadline {
            latest_ns,
            said_ns: (at_ns, at_ns),
            ..deadline
        })
    }

    pub(super) fn deadline(&self) -> LeaseDeadline {
        LeaseDeadline {
            earliest_ns: self.deadline_ns,
            latest_ns: self.latest_deadline_ns,
            said_ns: self.said_ns,
        }
    }

    /// The lease ends then, as is known since `at_ns`.
    pub(super) fn set_deadline(&mut self, at_ns: u64, deadline: LeaseDeadline) {
        self.deadline_ns = deadline.earliest_ns;
        self.latest_deadline_ns = deadline.latest_ns;
        self.said_ns = deadline.said_ns;
        let lease_ns = deadline.latest_ns.saturating_sub(at_ns);
        self.longest_told_ns = self.longest_told_ns.max(lease_ns);
    }

    /// What the attempt may leave behind in the servers when it ends runs out after this time: the
    /// TTL, or the longest lease that was reported, counted from the report. More than was written is
    /// a false claim, and no lease.
    pub fn longest_lease_ns(&self) -> u64 {
        let told_ns = match self.longest_written_ns {
            0 => self.longest_told_ns,
            written_ns => self.longest_told_ns.min(written_ns),
        };
        self.ttl_ns.max(told_ns)
    }

    /// A value was written for it that lives so long; `None`: for ever.
    pub(super) fn written(&mut self, ttl_ms: Option<i64>) {
        let written_ns = ttl_ms.map_or(u64::MAX, |ttl| ms(u64::try_from(ttl).unwrap_or(0)));
        self.longest_written_ns = self.longest_written_ns.max(written_ns);
    }

    /// When the hold began, for steps that only a hold can make.
    pub fn begun_ns(&self) -> u64 {
        self.begin_ns.unwrap_or(self.acquire_ns)
    }
}

/// One value for each attempt that is under way, by the number of the attempt. A worker has one attempt
/// at a time, so there are few of them: a list is searched sooner than a tree.
#[derive(Debug, Clone)]
pub struct UnderWay<T>(Vec<(u64, T)>);

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay(Vec::new())
    }
}

impl<T> UnderWay<T> {
    /// An attempt begins. What was known of one with the same number is forgotten.
    pub fn begin(&mut self, op: u64, value: T) {
        self.end(op);
        self.0.push((op, value));
    }

    /// What is known of an attempt; `None`: it is not under way.
    pub fn get(&self, op: u64) -> Option<&T> {
        let mut latest = self.0.iter().rev();
        latest.find(|known| known.0 == op).map(|known| &known.1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, op: u64) -> Option<&mut T> {
        let mut latest = self.0.iter_mut().rev();
        latest.find(|known| known.0 == op).map(|known| &mut known.1)
    }

    /// The attempt is over. Returns what was known of it.
    pub fn end(&mut self, op: u64) -> Option<T> {
        let index = self.0.iter().rposition(|known| known.0 == op)?;
        Some(self.0.swap_remove(index).1)
    }
}
