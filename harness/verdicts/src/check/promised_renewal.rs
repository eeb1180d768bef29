//! Holders whose lock promises to renew its lease, and did not.
//!
//! The key of such a holder ran out while it held the lock, and it was not told before. What a fault may have kept
//! from the servers, or the client from running, is not counted, and neither is a harness that stood still.

use crate::custody::{SpanEnd, ValueSpan};
use crate::history::{Event, EventKind};
use crate::timeline::{Hold, Timeline, ms};

/// When the key of this holder ran out under it. `None`: it did not, or nothing was promised, or something else may
/// be why.
pub(super) fn ran_out_ns(timeline: &Timeline<'_>, spans: &[ValueSpan], hold: &Hold) -> Option<u64> {
    let history = timeline.history();
    if !history.header.renews || history.header.nodes != 1 {
        return None;
    }
    let own = spans
        .iter()
        .filter(|span| span.is_of(hold.worker, hold.op) && span.may_be_a_claim());
    let mut own = own.filter(|span| (hold.begin_ns..hold.end_ns).contains(&span.until_ns));
    let until_ns = own.find(|span| span.end == SpanEnd::RanOut)?.until_ns;
    let told = |event: &Event| {
        matches!(event.what, EventKind::Lost { op, .. } if op == hold.op) && event.at_ns <= until_ns
    };
    let is_told = history.events.iter().any(told);
    (!is_told && !is_disturbed(timeline, hold, until_ns)).then_some(until_ns)
}

/// True if a fault was on since this client asked for the lock, or the harness, the client or a server stood still.
pub(super) fn is_disturbed(timeline: &Timeline<'_>, hold: &Hold, until_ns: u64) -> bool {
    // It is told when it is over.
    let stood = |from_ns: u64, over_ns: u64| from_ns <= until_ns && over_ns >= hold.acquire_ns;
    let stood_still = |event: &Event| match event.what {
        EventKind::Stalled { late_ms } => {
            stood(event.at_ns.saturating_sub(ms(late_ms)), event.at_ns)
        }
        EventKind::NodeStoodStill { since_ns, .. } => stood(since_ns, event.at_ns),
        EventKind::WorkerStoodStill {
            worker, since_ns, ..
        } => worker == hold.worker && stood(since_ns, event.at_ns),
        _ => false,
    };
    let mut faults = timeline.faults().iter();
    faults.any(|fault| fault.touches(hold.acquire_ns, until_ns))
        || timeline.history().events.iter().any(stood_still)
}
