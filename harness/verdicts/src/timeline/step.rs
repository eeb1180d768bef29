//! The steps that an attempt to buy can make.

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldEnd {
    /// The client sent the request to release.
    Released,
    /// The worker died: the nemesis killed it, or it died on its own.
    Killed,
    /// The hold was still active when the history ended.
    Open,
}

/// A step of an attempt. It is small, because every step is passed to every checker; the attempt has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The request to acquire was sent.
    Requested,
    /// The request was refused, or failed.
    Denied(AcquireFailure),
    /// The grant arrived, so the hold begins.
    Begun,
    /// The lease was extended or shortened.
    LeaseMoved,
    /// The leader requested permission to act, received it, or acted. Only for locks that grant such permissions.
    Acted,
    /// The hold ended.
    Ended(HoldEnd),
    /// The release was answered, so the attempt is over.
    Answered {
        /// The lock's answer. It is `None` if the lock does not report this, or if the release ended in an error.
        released: Option<bool>,
        /// Whether the release ended in an error.
        failed: bool,
    },
    /// The worker died, which ends the attempt.
    Gone,
}

/// Why an attempt did not acquire the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcquireFailure {
    /// Another client has the lock.
    Refused,
    /// The attempt ended in an error.
    Failed {
        /// Whether the attempt certainly took nothing.
        definite: bool,
    },
}

impl AcquireFailure {
    /// Returns `true` if the attempt certainly took nothing.
    pub fn is_definite(self) -> bool {
        matches!(
            self,
            AcquireFailure::Refused | AcquireFailure::Failed { definite: true }
        )
    }
}
