//! Attempts: what is known of one attempt to buy, and the steps that it can make.
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
//!
//! A lease that the subject calls run out (`valid_ms` 0) may have done so long ago: neither 2 nor
//! 3 can be said of it.

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
    /// In an open loop: when whoever wants the lock came.
    pub intended_ns: Option<u64>,
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

const NS_PER_MS: u64 = 1_000_000;

/// Milliseconds as nanoseconds.
pub(super) fn ms(count: u64) -> u64 {
    count.saturating_mul(NS_PER_MS)
}

impl Attempt {
    pub(super) fn asked(
        at_ns: u64,
        worker: usize,
        op: u64,
        key: u32,
        ttl_ms: u64,
        wait_ms: u64,
    ) -> Self {
        Attempt {
            worker,
            op,
            key,
            acquire_ns: at_ns,
            intended_ns: None,
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

    pub(super) fn reported(&self, elapsed_ms: Option<u64>, valid_ms: u64) -> u64 {
        self.acquire_ns
            .saturating_add(ms(elapsed_ms.unwrap_or(0)))
            .saturating_add(ms(valid_ms))
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
        let by_ttl = self.acquire_ns.saturating_add(self.ttl_ns);
        self.deadline_ns = valid_ms.map_or(by_ttl, |valid| self.reported(elapsed_ms, valid));
        // A subject that claims more than it asked for does not move the moment of its grant.
        let claim_is_sane = valid_ms.is_none_or(|valid| ms(valid) <= self.ttl_ns);
        let sane_deadline = if claim_is_sane {
            self.deadline_ns
        } else {
            by_ttl
        };
        // "Worth nothing" does not say since when, and so not when the lease began.
        let run_out = valid_ms == Some(0);
        self.follows_ns = self.acquire_ns.max(if run_out {
            0
        } else if !forgot {
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
