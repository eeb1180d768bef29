//! Thresholds that scale with the lease: how long a stall, a delay or a remainder must be to matter.
//!
//! They are the only place where a fraction of a lease stands as a number.

/// A fraction of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseFraction {
    /// The lease is divided by this.
    pub divisor: u32,
}

impl LeaseFraction {
    const fn one_in(divisor: u32) -> Self {
        LeaseFraction { divisor }
    }

    /// Returns this fraction of `lease`, in the unit of `lease`.
    pub const fn part_of(self, lease: u64) -> u64 {
        lease / self.divisor as u64
    }
}

/// Shortest delay that can change what a lock does: Redlock waits this long for a node before it gives up on it.
/// Shorter harness stalls matter only if a violation rests on them, a `delay` fault of this length keeps no node
/// away, and an extension requested later than this before the lease ends is late by itself.
pub const NOTABLE_DELAY: LeaseFraction = LeaseFraction::one_in(10);

/// How long before its end a value counts as ending anyway: its removal may be in flight, or its expiry is due. As long
/// as [`NOTABLE_DELAY`], because a command may be delayed by that much without a word in the history.
pub(in crate::check) const ENDING_ANYWAY: LeaseFraction = NOTABLE_DELAY;

/// Shortest stall of a server or a worker during which nothing is judged as held. A shorter one is a test that a busy
/// machine adds to the scenario, but no violation may rest on it either.
pub(in crate::check) const LONG_STALL: LeaseFraction = LeaseFraction::one_in(4);

/// How much longer than the written expiry a reported lease may be. A worker measures how long its request took and
/// what is left of the lease one after the other, and may be descheduled in between.
pub(in crate::check) const REPORT_SLACK: LeaseFraction = LeaseFraction::one_in(100);

/// Total length of harness stalls that can turn a grant into a refusal. A client that waits [`NOTABLE_DELAY`] for a
/// node gives up an answer that arrives slightly later.
pub(in crate::check) const ANSWER_DELAY: LeaseFraction = LeaseFraction::one_in(50);

/// How far before and after the writing of a value harness stalls count towards [`ANSWER_DELAY`]: twice the time that
/// the client waits for a node.
pub(in crate::check) const AROUND_WRITE: LeaseFraction = LeaseFraction::one_in(5);

/// How much of its lease a grant may have used up and still count as a whole lease.
pub(in crate::check) const USED_AT_GRANT: LeaseFraction = LeaseFraction::one_in(10);

/// Divisor of the progress bound, not of the lease: a client that waited for a CPU for this part of the bound was kept
/// from sending its first command.
pub(in crate::check) const CPU_WAIT_DIVISOR: u64 = 10;
