//! The steps that an attempt to buy can make.

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
    Denied(AcquireFailure),
    /// Its grant arrived: the hold begins.
    Begun,
    /// Its lease was extended or cut.
    LeaseMoved {
        /// Between which times the lock said so.
        report_window_ns: (u64, u64),
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
pub enum AcquireFailure {
    /// Another client has the lock.
    Refused,
    /// It ended in an error.
    Failed {
        /// It certainly took nothing.
        definite: bool,
    },
}

impl AcquireFailure {
    /// True when the attempt certainly took nothing.
    pub fn is_definite(self) -> bool {
        matches!(
            self,
            AcquireFailure::Refused | AcquireFailure::Failed { definite: true }
        )
    }
}
