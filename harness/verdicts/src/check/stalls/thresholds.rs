//! Thresholds of the checkers: the minimum length of a stall, a delay or a remaining lease that matters.
//!
//! Almost all of them scale with the lease. Other modules of the checkers use these constants, and no literal fractions
//! of the lease.
//!
//! The same numbers are in words in `history/event.rs`, `docs/verdicts.md` (*What a disturbance excuses*, *Once*),
//! `explain/claims.md`, `scenarios/explain/late-extension.md` and `tests/histories/README.md`.

use crate::history::{LeaseFraction, RECORDED_DELAY};

/// Shortest delay that can change what a lock does: Redlock waits this long for a node before it gives up. Shorter
/// harness stalls matter only if a violation rests on them, a `delay` fault of up to this length keeps no node away,
/// and an extension must be requested at least this long before the end of the lease.
///
/// Shorter delays of servers, workers and faults are not even in the history, so this threshold must not be lower.
pub(in crate::check) const NOTABLE_DELAY: LeaseFraction = RECORDED_DELAY;

/// A value with at most this remaining lifetime counts as ending anyway, because its removal may be in flight or its
/// expiry is due. The threshold is [`NOTABLE_DELAY`], because shorter delays of a command are normal.
pub(in crate::check) const ENDING_ANYWAY: LeaseFraction = NOTABLE_DELAY;

/// A report of a loss is false only if the value still has at least this part of the lease left. A lock that measures
/// its lease itself reports a loss some time before the end.
pub(in crate::check) const TIME_LEFT: LeaseFraction = LeaseFraction::one_in(4);

/// Shortest stall of a server or a worker because of which no property is `held`. A shorter stall is only an additional
/// test by a busy machine, but no violation may rest on it either.
pub(in crate::check) const LONG_STALL: LeaseFraction = LeaseFraction::one_in(4);

/// Maximum excess of a reported lease over the written expiry. A worker measures the duration of its request and the
/// rest of the lease one after the other, and may be descheduled in between.
pub(in crate::check) const REPORT_SLACK: LeaseFraction = LeaseFraction::one_in(100);

/// Total length of harness stalls that can turn a grant into a refusal. A client that waits [`NOTABLE_DELAY`] for a
/// node discards an answer that arrives slightly later.
pub(in crate::check) const ANSWER_DELAY: LeaseFraction = LeaseFraction::one_in(50);

/// Harness stalls count towards [`ANSWER_DELAY`] if they are at most this far from the writing of a value: twice the
/// time for which the client waits for a node.
pub(in crate::check) const AROUND_WRITE: LeaseFraction = LeaseFraction::one_in(5);

/// A lease still counts as whole if at most this part of it has passed when its grant arrives.
pub(in crate::check) const USED_AT_GRANT: LeaseFraction = LeaseFraction::one_in(10);

/// Divisor of the progress bound, not of the lease: a client that waited for a CPU for this part of the bound was kept
/// from sending its first command.
pub(in crate::check) const CPU_WAIT_DIVISOR: u64 = 10;
