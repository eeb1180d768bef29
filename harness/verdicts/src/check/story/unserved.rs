//! Remarks on properties that held. `progress` has a remark if attempts did not get the lock: the number of these
//! attempts, and which client held the lock for long. `exclusion` has a remark if a holder outlived its lease and only
//! a key that never expires kept other clients out.

use crate::check::causes::evidence::Evidence;
use crate::history::{EventKind, KeyName};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, HoldEnd, ns_from_ms};

use super::sentence::length;

/// Returns the remark, with the numbers of refused and failed attempts.
pub(in crate::check) fn unserved(evidence: &Evidence<'_>, refused: u64, failed: u64) -> String {
    let counted = |count: u64, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 attempt {one}")),
        count => Some(format!("{count} attempts {several}")),
    };
    let parts = [
        counted(refused, "was refused", "were refused"),
        counted(failed, "failed", "failed"),
    ];
    let denied = parts
        .into_iter()
        .flatten()
        .collect::<Vec<String>>()
        .join(" and ");
    let bound = length(ns_from_ms(evidence.history.header.progress_within_ms));
    let text = format!("no client waited longer than {bound} for a lock that was free; {denied}");
    match longest_hold(evidence) {
        Some((hold, end_ns)) => format!("{text}, and {}", describe_hold(evidence, hold, end_ns)),
        None => text,
    }
}

/// Returns the remark on a holder that had the lock for longer than its lease only because its value, or the number of
/// permits, never expires, or `None` if there was no such holder.
pub(in crate::check) fn kept_out_without_expiry(evidence: &Evidence<'_>) -> Option<String> {
    if !evidence.history.header.key_history {
        return None;
    }
    let due_ns = |hold: &Hold| hold.begin_ns.saturating_add(hold.ttl_ns);
    let holds = evidence.timeline.holds().iter();
    let mut outlasting = holds.filter(|hold| hold.end_ns > due_ns(hold)).peekable();
    // Nearly all runs end here.
    outlasting.peek()?;
    let spans = &evidence.key_history()?.spans;
    let never_expires = |hold: &&Hold| {
        let count = KeyName::Count {
            permits_of: hold.lock,
        };
        let is_own = |span: &&ValueSpan| {
            span.is_of(hold.worker, hold.op)
                && span.may_be_lock_value()
                && span.exists_at(due_ns(hold))
        };
        // An empty list of free permits does not exist.
        let is_count = |span: &&ValueSpan| span.key == count && span.from_ns <= due_ns(hold);
        let mut blocking = (spans.iter()).filter(|span| is_own(span) || is_count(span));
        blocking.any(|span| span.expiry.is_none() && !span.has_time())
    };
    let hold = outlasting.find(never_expires)?;
    let reason = if evidence.history.header.capacity > 1 {
        "and its permit went to no other client: it never expires"
    } else {
        "and let no other client in: its value never expires"
    };
    Some(format!(
        "client {} held {} for {}, longer than its lease of {}, {reason}",
        hold.worker,
        evidence.history.header.named(hold.lock, "the lock"),
        length(hold.end_ns.saturating_sub(hold.begin_ns)),
        length(hold.ttl_ns),
    ))
}

/// Returns the longest hold and its end, if it lasted longer than a client may wait for a free lock. A hold without a
/// release counts until the workers were ended.
fn longest_hold<'a>(evidence: &'a Evidence<'_>) -> Option<(&'a Hold, u64)> {
    let bound_ns = ns_from_ms(evidence.history.header.progress_within_ms);
    let mut latest_first = evidence.history.events.iter().rev();
    let workers_ended_ns = latest_first.find_map(|event| match event.what {
        EventKind::CommandsSent { .. } => Some(event.at_ns),
        _ => None,
    });
    let held_ns = |(hold, end_ns): &(&Hold, u64)| end_ns.saturating_sub(hold.begin_ns);
    (evidence.timeline.holds().iter())
        .map(|hold| (hold, hold.end_ns.min(workers_ended_ns.unwrap_or(u64::MAX))))
        .max_by_key(held_ns)
        .filter(|longest| held_ns(longest) > bound_ns)
}

/// Describes a long hold, and the limit that the lock sets on its duration.
fn describe_hold(evidence: &Evidence<'_>, hold: &Hold, end_ns: u64) -> String {
    let held = length(end_ns.saturating_sub(hold.begin_ns));
    let until = match hold.ended {
        HoldEnd::Open => " and had not finished when the run ended",
        HoldEnd::Killed => " until it died",
        HoldEnd::Released => "",
    };
    let lock = evidence.history.header.named(hold.lock, "the lock");
    let text = format!("client {} held {lock} for {held}{until}", hold.worker);
    let spans = evidence
        .key_history()
        .map_or(&[][..], |key_history| &key_history.spans);
    let mut written = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let value = written.rfind(|span| span.may_be_lock_value());
    match value {
        Some(value) => format!("{text}: {}", describe_limit(value, end_ns)),
        None => text,
    }
}

/// Describes the limit that a lock sets on a hold which ended at `end_ns`, from the life of the holder's value.
fn describe_limit(value: &ValueSpan, end_ns: u64) -> String {
    let prolonged = value
        .renewals
        .iter()
        .filter(|renewal| renewal.prolongs())
        .count();
    let has_expired = value.end == SpanEnd::RanOut && value.until_ns < end_ns;
    match (has_expired, prolonged, value.expiry) {
        (true, _, _) => {
            let lived = length(value.until_ns.saturating_sub(value.from_ns));
            format!("its value expired after {lived}")
        }
        (false, _, None) => "its value never expires, so nothing ends such a hold".to_owned(),
        (false, 0, Some(_)) => "it reached no limit set by the lock".to_owned(),
        (false, count, Some(_)) => {
            format!("its value was prolonged {count} times, without an apparent limit")
        }
    }
}
