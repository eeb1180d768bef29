//! Why the job of a tick ran twice in succession, and why no client ran it.

use crate::check::verdict::Cause;
use crate::history::{EventKind, History, KeyName};
use crate::key_history::{KeyHistory, ValueSpan};
use crate::timeline::Hold;

/// Returns why a tick ran again after its first run had released the lock. `lost` is the cause for which the first
/// client's value was gone by then. If the value was ended by its client's release or by its expiry, the lock worked as
/// requested. A second key matters only if the first client's value still existed when the second client took the lock.
pub(in crate::check) fn cause_of_rerun(
    key_history: &KeyHistory,
    [first, second]: [&Hold; 2],
    lost: Cause,
) -> Cause {
    let spans = || key_history.spans.iter();
    let of_second = spans().filter(|span| span.is_of(second.worker, second.op));
    let taken_ns = of_second.map(|span| span.from_ns).min();
    let taken_ns = taken_ns.unwrap_or(second.begin_ns);
    let stood = spans().any(|span| span.is_of(first.worker, first.op) && span.exists_at(taken_ns));
    match lost {
        Cause::SplitKey if !stood => Cause::RanTwice,
        Cause::LostOnFailover
        | Cause::LostOnRestart
        | Cause::QuorumErosion
        | Cause::ClockJump
        | Cause::ClockSkew
        | Cause::Evicted
        | Cause::StolenRelease
        | Cause::ForeignRemoval
        | Cause::SplitKey
        | Cause::SharedToken
        | Cause::StaleReply
        | Cause::UnbackedGrant => lost,
        _ => Cause::RanTwice,
    }
}

/// Returns why the attempts in `ops` did not get the lock at a tick: either a key without expiry blocked them, or the
/// lock let no client in.
pub(in crate::check) fn cause_of_skipped_tick(
    history: &History,
    key_history: &KeyHistory,
    ops: &[u64],
    at_ns: u64,
) -> Cause {
    let key_of = |event: &EventKind| match event {
        EventKind::Acquire { op, key, .. } if ops.contains(op) => Some(*key),
        _ => None,
    };
    let mut keys = history
        .events
        .iter()
        .filter_map(|event| key_of(&event.what));
    let Some(key) = keys.next() else {
        return Cause::SkippedTick;
    };
    let blocks_for_good = |span: &ValueSpan| {
        let is_lock = matches!(&span.key, KeyName::Lock(lock) if *lock == key);
        is_lock && span.exists_at(at_ns) && span.expiry.is_none()
    };
    if key_history.spans.iter().any(blocks_for_good) {
        Cause::NoTtl
    } else {
        Cause::SkippedTick
    }
}
