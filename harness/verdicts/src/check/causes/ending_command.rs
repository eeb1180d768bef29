//! The command that ended a value: whether it belongs to a release or to no request at all, and whether its client
//! mistook the value for its own.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{EventKind, History, KeyCommand, KeyName};
use crate::key_history::{ValueSpan, is_of_several};
use crate::timeline::{Hold, HoldEnd, names_token};

/// Returns the hold whose release may have sent this command, although the command arrived late and outside any
/// release: the last hold of the same client and lock, if it was released at most one lease before.
pub(in crate::check) fn late_release<'a>(
    holds: &'a [Hold],
    by: &KeyCommand,
    lock: u32,
    at_ns: u64,
) -> Option<&'a Hold> {
    let mut earlier = holds.iter().rev();
    earlier.find(|hold| {
        (hold.worker, hold.lock) == (by.worker, lock)
            && hold.ended == HoldEnd::Released
            && (hold.end_ns..=hold.end_ns.saturating_add(hold.ttl_ns)).contains(&at_ns)
    })
}

/// Returns `true` if a command that removed another client's value at `at_ns` belongs to no request: its client was
/// neither acquiring nor releasing, and had either released no hold of this lock within the last lease, or been
/// restarted since.
pub(in crate::check) fn is_unrequested_removal(
    history: &History,
    holds: &[Hold],
    by: &KeyCommand,
    (lock, at_ns): (u32, u64),
) -> bool {
    let since_ns = late_release(holds, by, lock, at_ns).map(|hold| hold.end_ns);
    let is_restart = |since_ns: u64| {
        history.events.iter().any(|event| {
            let is_down =
                matches!(event.what, EventKind::WorkerDown { worker, .. } if worker == by.worker);
            is_down && (since_ns..at_ns).contains(&event.at_ns)
        })
    };
    by.phase == Phase::Idle && since_ns.is_none_or(is_restart)
}

/// Returns `true` if a script of one attempt removed a value that another attempt of the same client had written,
/// because the two have the same token.
pub(in crate::check) fn is_own_token(
    spans: &[ValueSpan],
    by: &KeyCommand,
    span: &ValueSpan,
) -> bool {
    let is_later = |author: &KeyCommand| author.worker == by.worker && author.op != by.op;
    let wrote = |own: &ValueSpan| {
        own.is_of(by.worker, by.op) && (&own.key, &own.value) == (&span.key, &span.value)
    };
    by.is_script() && span.author.as_ref().is_some_and(is_later) && spans.iter().any(wrote)
}

/// Returns `true` if a script of a client mistook another client's value for its own, because clients shared a token:
/// these two clients, or one of them and a third client, wrote the same value to take the lock.
///
/// A script that compares values cannot distinguish them. The command may have named the other client's value although
/// its client had not read it. The removed value need not be the shared one: a client that generates the same tokens as
/// another client also tries, and releases, tokens that it never wrote. A client that was granted the lock with the
/// other client's value as its token may have written nothing at all.
pub(in crate::check) fn is_same_token(
    spans: &[ValueSpan],
    holds: &[Hold],
    by: &KeyCommand,
    span: &ValueSpan,
) -> bool {
    let author = span.author.as_ref();
    if by.names_unread_value && author.is_some_and(|author| author.worker != by.worker) {
        return true;
    }
    if author.is_none_or(|author| author.worker == by.worker) {
        return false;
    }
    let granted = holds.iter().find(|hold| by.is_of(hold.worker, hold.op));
    // A command that removes a permit contains the permit's token.
    if granted.is_some_and(|hold| names_permit(span, hold)) {
        return true;
    }
    if !by.is_script() {
        return false;
    }
    if granted.is_some_and(|hold| *hold.token == *span.value) {
        return true;
    }
    let acquired = spans.iter().filter(|acquired| {
        let acquires = acquired.phase() == Some(Phase::Acquire);
        acquires && acquired.key == span.key && !is_of_several(&acquired.value)
    });
    let is_own = |acquired: &&ValueSpan| {
        acquired
            .author
            .as_ref()
            .is_some_and(|author| author.worker == by.worker)
    };
    let (own, others): (Vec<&ValueSpan>, Vec<&ValueSpan>) = acquired.partition(is_own);
    let own_values: HashSet<&str> = own.iter().map(|acquired| &*acquired.value).collect();
    others
        .iter()
        .any(|other| own_values.contains(&*other.value))
}

/// Returns `true` if the value is a permit with the token of this hold.
pub(in crate::check) fn names_permit(span: &ValueSpan, hold: &Hold) -> bool {
    matches!(span.key, KeyName::Permit { .. }) && names_token(&span.value, &hold.token)
}

/// Returns `true` if, at `at_ns`, the attempt wrote again the value with which it had taken the lock.
pub(in crate::check) fn took_again(spans: &[ValueSpan], by: &KeyCommand, at_ns: u64) -> bool {
    let mut own_spans = (spans.iter()).filter(|span| span.is_of(by.worker, by.op));
    let written = own_spans
        .clone()
        .find(|span| span.from_ns == at_ns && span.phase() == Some(by.phase));
    written.is_some_and(|written| {
        own_spans.any(|span| span.phase() == Some(Phase::Acquire) && span.value == written.value)
    })
}

/// Returns `true` if the attempt that removed a value was the next to write its key.
pub(in crate::check) fn took_after_removal(
    spans: &[ValueSpan],
    by: &KeyCommand,
    removed: &ValueSpan,
) -> bool {
    let mut later = spans.iter().filter(|span| {
        span.node == removed.node
            && span.key.competes_with(&removed.key)
            && span.from_ns >= removed.until_ns
    });
    later
        .next()
        .is_some_and(|next| next.is_of(by.worker, by.op))
}
