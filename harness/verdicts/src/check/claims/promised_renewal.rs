//! Holders whose lock promises to renew its lease, and did not.
//!
//! The key of such a holder ran out while it held the lock, and it was not told before. What a fault may have kept
//! from the servers, or the client from running, is not counted, and neither is a harness that stood still.

use crate::history::{Event, EventKind, History, KeyName};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, Timeline, ms};

/// When the key of this holder ran out under it. `own`: the values of its attempt. `None`: it did not, or nothing was promised, or something else may
/// be why.
pub(in crate::check) fn ran_out_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let history = timeline.history();
    if !history.header.renews || history.header.nodes != 1 {
        return None;
    }
    let own = own.iter().filter(|span| span.may_be_lock_value());
    let has_own_name = own.clone().any(|span| is_own_name(&span.key));
    // What the lock does not rest on may run out beside it.
    let own = own.filter(|span| is_own_name(&span.key) || !has_own_name);
    let is_lost = |span: &&&ValueSpan| {
        span.end == SpanEnd::RanOut
            && (hold.begin_ns..hold.end_ns).contains(&span.until_ns)
            && !own.clone().any(|other| other.exists_at(span.until_ns))
    };
    let until_ns = own.clone().find(is_lost)?.until_ns;
    let told = |event: &Event| {
        matches!(event.what, EventKind::Lost { op, .. } if op == hold.op) && event.at_ns <= until_ns
    };
    let is_told = history.events.iter().any(told);
    let is_excused = is_disturbed(timeline, hold, until_ns)
        || is_delayed(history, hold.worker, (hold.acquire_ns, until_ns));
    (!is_told && !is_excused).then_some(until_ns)
}

fn is_own_name(key: &KeyName) -> bool {
    matches!(key, KeyName::Lock(_))
}

/// True if this worker waited for a processor between these times. It is told when it is over.
fn is_delayed(history: &History, of: usize, (from_ns, until_ns): (u64, u64)) -> bool {
    history.events.iter().any(|event| match event.what {
        EventKind::WorkerDelayed {
            worker, since_ns, ..
        } => worker == of && since_ns < until_ns && event.at_ns > from_ns,
        _ => false,
    })
}

/// True if a fault was on since this client asked for the lock, or the harness, the client or a server stood still. Any fault
/// counts: one of another client's connection may be on the client's own, where they share it.
pub(in crate::check) fn is_disturbed(timeline: &Timeline<'_>, hold: &Hold, until_ns: u64) -> bool {
    // It is told when it is over.
    let stood =
        |from_ns: u64, ended_at_ns: u64| from_ns <= until_ns && ended_at_ns >= hold.acquire_ns;
    let stood_still = |event: &Event| match event.what {
        EventKind::HarnessStalled { late_ms } => {
            stood(event.at_ns.saturating_sub(ms(late_ms)), event.at_ns)
        }
        EventKind::NodeStalled { since_ns, .. } => stood(since_ns, event.at_ns),
        EventKind::WorkerStalled {
            worker, since_ns, ..
        } => worker == hold.worker && stood(since_ns, event.at_ns),
        _ => false,
    };
    let mut faults = timeline.faults().iter();
    faults.any(|fault| fault.touches(hold.acquire_ns, until_ns))
        || timeline.history().events.iter().any(stood_still)
}

/// When this holder asked for an extension, if that was a tenth of a lease or more before its lease was over, was answered
/// after that or never, and no command of it reached a server meanwhile. What a fault or the machine may have kept back
/// is not counted.
pub(in crate::check) fn late_extension_ns(
    timeline: &Timeline<'_>,
    spans: &[ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let ended_at_ns = hold.possible_leases.last()?.until_ns;
    let events = &timeline.history().events;
    let asks = |event: &&Event| matches!(event.what, EventKind::Extend { op, .. } if op == hold.op);
    let mut asked = events.iter().filter(asks).map(|event| event.at_ns);
    let requested_at_ns = asked.rfind(|requested_at_ns| *requested_at_ns < ended_at_ns)?;
    let meanwhile = |at_ns: u64| (requested_at_ns..ended_at_ns).contains(&at_ns);
    let excuses = |event: &Event| match event.what {
        EventKind::ExtendGranted { op, .. }
        | EventKind::ExtendRefused { op, .. }
        | EventKind::ExtendFailed { op, .. } => op == hold.op && meanwhile(event.at_ns),
        _ => false,
    };
    let own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let mut renewals = own.flat_map(|span| &span.renewals);
    let is_excused = ended_at_ns - requested_at_ns < hold.ttl_ns / 10
        || renewals.any(|renewal| meanwhile(renewal.at_ns))
        || events.iter().any(excuses)
        || is_delayed(
            timeline.history(),
            hold.worker,
            (requested_at_ns, ended_at_ns),
        )
        || is_disturbed(timeline, hold, ended_at_ns);
    (!is_excused).then_some(requested_at_ns)
}
