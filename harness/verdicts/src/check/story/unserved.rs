//! What is said of `progress` where it held although attempts got no lock: how many, and which client was
//! never done.

use crate::check::causes::evidence::Evidence;
use crate::history::EventKind;
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, HoldEnd, ms};

use super::sentence::length;

/// The sentence.
pub(in crate::check) fn unserved(evidence: &Evidence<'_>, refused: u64, failed: u64) -> String {
    let counted = |count: u64, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 attempt {one}")),
        count => Some(format!("{count} attempts {several}")),
    };
    let refused = counted(refused, "was refused", "were refused");
    let failed = counted(failed, "failed", "failed");
    let denied: Vec<String> = refused.into_iter().chain(failed).collect();
    let denied = denied.join(" and ");
    let bound = length(ms(evidence.history.header.progress_within_ms));
    let text = format!("no client waited longer than {bound} for a lock that was free; {denied}");
    match longest(evidence) {
        Some((hold, end_ns)) => format!("{text}, and {}", endless(evidence, hold, end_ns)),
        None => text,
    }
}

/// The longest hold and when it ended, if it lasted for longer than a client may wait for a lock that is free. One that
/// was open ended when the workers were ended.
fn longest<'a>(evidence: &'a Evidence<'_>) -> Option<(&'a Hold, u64)> {
    let bound_ns = ms(evidence.history.header.progress_within_ms);
    let mut last = evidence.history.events.iter().rev();
    let ended_at_ns = last.find_map(|event| match event.what {
        EventKind::CommandsSent { .. } => Some(event.at_ns),
        _ => None,
    });
    let holds = evidence.timeline.holds().iter();
    let ended = holds.map(|hold| (hold, hold.end_ns.min(ended_at_ns.unwrap_or(u64::MAX))));
    let held_ns = |(hold, end_ns): &(&Hold, u64)| end_ns.saturating_sub(hold.begin_ns);
    ended
        .max_by_key(held_ns)
        .filter(|longest| held_ns(longest) > bound_ns)
}

/// That a client was not done, and what bound the lock has set on that.
fn endless(evidence: &Evidence<'_>, hold: &Hold, end_ns: u64) -> String {
    let held = length(end_ns.saturating_sub(hold.begin_ns));
    let until = match hold.ended {
        HoldEnd::Open => " and was not done when the run ended",
        HoldEnd::Killed => " until it died",
        HoldEnd::Released => "",
    };
    let lock = evidence.history.header.named(hold.key, "the lock");
    let text = format!("worker {} held {lock} for {held}{until}", hold.worker);
    let spans = evidence
        .key_history()
        .map_or(&[][..], |key_history| &key_history.spans);
    let mut written = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let value = written.rfind(|span| span.may_be_lock_value());
    match value {
        Some(value) => format!("{text}: {}", bound(value, end_ns)),
        None => text,
    }
}

/// Which bound a lock sets on a hold that ended then, by the life of the holder's value.
fn bound(value: &ValueSpan, end_ns: u64) -> String {
    let renewed = value.renewals.iter().filter(|it| it.prolongs()).count();
    let ran_out = value.end == SpanEnd::RanOut && value.until_ns < end_ns;
    match (ran_out, renewed, value.expiry) {
        (true, _, _) => {
            let lived = length(value.until_ns.saturating_sub(value.from_ns));
            format!("the lock let it go after {lived}")
        }
        (false, _, None) => "its value never expires, so nothing ends such a hold".to_owned(),
        (false, 0, Some(_)) => "the lock set no bound on it that was reached".to_owned(),
        (false, count, Some(_)) => {
            format!("its value was prolonged {count} times, and no bound on that was seen")
        }
    }
}
