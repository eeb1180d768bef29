//! Grants without any value on the servers.

use picklock_scenarios::Phase;

use crate::history::KeyCommand;
use crate::key_history::{Renewal, ValueSpan};
use crate::timeline::{Hold, names_token};

/// Returns `true` if the attempt was granted the lock without any value: the attempt did not write, remove or renew a
/// value to take the lock, no value names its token, and its client has no value from an earlier attempt. Values of the
/// attempts `doubts`, which ended without a definite answer, are ignored.
pub(in crate::check) fn is_unwritten(spans: &[ValueSpan], hold: &Hold, doubts: &[u64]) -> bool {
    let is_before = |at_ns: u64| at_ns <= hold.begin_ns;
    let acquires = |by: &KeyCommand| by.phase == Phase::Acquire && by.is_of(hold.worker, hold.op);
    !spans.iter().any(|span| {
        let author = span.author.as_ref();
        let wrote = author.is_some_and(acquires) && is_before(span.from_ns);
        let renewed = |renewal: &Renewal| acquires(&renewal.by) && is_before(renewal.at_ns);
        let ended = span.end.by().is_some_and(acquires) && is_before(span.until_ns);
        let is_earlier = |by: &KeyCommand| {
            by.worker == hold.worker && by.op < hold.op && !doubts.contains(&by.op)
        };
        let is_kept = author.is_some_and(is_earlier) && span.exists_at(hold.begin_ns);
        let is_named = names_token(&span.value, &hold.token)
            && is_before(span.from_ns)
            && span.until_ns >= hold.acquire_ns;
        wrote || ended || is_kept || is_named || span.renewals.iter().any(renewed)
    })
}
