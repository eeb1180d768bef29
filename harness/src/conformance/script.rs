//! What a check does, step by step, as data.

/// One of the two processes of the adapter. Each is one client of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The first.
    One,
    /// Its competitor.
    Two,
}

/// One of the two locks of a check. No other check has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockName {
    /// The first.
    First,
    /// Another one.
    Second,
}

/// One step of a script. What it sees is stored under its label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Start the process, and send it `init`.
    Start(Who, &'static str),
    /// Send a request, and wait for its answer.
    RequestKind(Who, Say, &'static str),
    /// Send a line that is not a request. No answer is due.
    Babble(Who),
    /// Send `ping`. The process may end instead of answering.
    PingOrEnd(Who),
    /// Let so many leases pass.
    Wait(f64),
    /// Look at the keys of the server.
    LookAtKeys(&'static str),
    /// Remove the keys that were written since this look.
    RemoveKeysSince(&'static str),
    /// Look whom the process is connected to.
    LookAtPeers(Who, &'static str),
    /// Freeze the server: it accepts connections, and answers nothing.
    FreezeServer,
    /// Let it answer again.
    ThawServer,
    /// End the process's standard input, and wait for its end.
    EndInput(Who, &'static str),
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Say {
    /// `acquire`.
    Acquire {
        /// Which lock.
        lock: LockName,
        /// The lease time, in leases of the check.
        leases: f64,
        /// How long to try.
        wait_ms: u64,
    },
    /// `extend` of the grant with this label.
    Extend {
        /// The label of the `acquire`.
        of: &'static str,
        /// The lease time, in leases of the check.
        leases: f64,
    },
    /// `release` of the grant with this label.
    Release {
        /// The label of the `acquire`.
        of: &'static str,
    },
    /// `ping`.
    Ping,
    /// `ping` with this id.
    PingAs(u64),
    /// `ping` with a field that the protocol does not have.
    PingWithUnknownField,
    /// A request that the protocol does not have.
    UnknownOp,
}

/// `acquire` of the first lock, at once, for a lease that does not end during the check.
pub(super) const TAKE: Say = Say::Acquire {
    lock: LockName::First,
    leases: LONG_LEASES,
    wait_ms: 0,
};

/// So many leases last longer than a check.
pub(super) const LONG_LEASES: f64 = 20.0;
