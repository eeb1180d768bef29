//! What became of the counter that fencing tokens are taken from, from the custody.
//!
//! Only a key that held the earlier token is the counter. Where no key ever did, the tokens do not
//! come from the servers, and nothing that the servers lost explains them.

use std::collections::HashSet;

use crate::custody::{SpanEnd, ValueSpan};
use crate::history::KeyName;

use super::verdict::Cause;

/// What took the counter with this token away between two times without a client's command.
pub(super) fn why_lost(spans: &[ValueSpan], token: u64, from_ns: u64, to_ns: u64) -> Cause {
    let token = token.to_string();
    // A value that expires, or that has the lock's name, is a lock.
    let counters = || spans.iter().filter(|span| !span.may_be_a_claim());
    let places: HashSet<(usize, &KeyName)> = counters()
        .filter(|span| *span.value == *token)
        .map(|span| (span.node, &span.key))
        .collect();
    let mut ends = counters().rev().filter(|span| {
        places.contains(&(span.node, &span.key)) && (from_ns..=to_ns).contains(&span.until_ns)
    });
    ends.find_map(|span| match span.end {
        SpanEnd::Evicted | SpanEnd::Flushed => Some(Cause::Evicted),
        SpanEnd::LostInRestart => Some(Cause::LostOnRestart),
        SpanEnd::LostInFailover => Some(Cause::LostOnFailover),
        _ => None,
    })
    .unwrap_or(Cause::Undetermined)
}
