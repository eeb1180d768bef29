//! Holders that asked in time to extend their lease, of which no server heard before it was over.

use crate::custody::ValueSpan;
use crate::history::{Event, EventKind};
use crate::timeline::{Hold, Timeline};

use super::promised_renewal::is_disturbed;

/// When this holder asked for an extension, if that was a tenth of a lease or more before its lease was over, was answered
/// after that or never, and no command of it reached a server meanwhile. What a fault or the machine may have kept back
/// is not counted.
pub(super) fn late_extension_ns(
    timeline: &Timeline<'_>,
    spans: &[ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let over_ns = hold.possible_leases.last()?.until_ns;
    let events = &timeline.history().events;
    let asks = |event: &&Event| matches!(event.what, EventKind::Extend { op, .. } if op == hold.op);
    let mut asked = events.iter().filter(asks).map(|event| event.at_ns);
    let asked_ns = asked.rfind(|asked_ns| *asked_ns < over_ns)?;
    let meanwhile = |at_ns: u64| (asked_ns..over_ns).contains(&at_ns);
    let excuses = |event: &Event| match event.what {
        EventKind::ExtendGranted { op, .. }
        | EventKind::ExtendRefused { op, .. }
        | EventKind::ExtendFailed { op, .. } => op == hold.op && meanwhile(event.at_ns),
        EventKind::WorkerDelayed { since_ns, .. } => since_ns < over_ns && event.at_ns > asked_ns,
        _ => false,
    };
    let own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let mut renewals = own.flat_map(|span| &span.renewals);
    let is_excused = over_ns - asked_ns < hold.ttl_ns / 10
        || renewals.any(|renewal| meanwhile(renewal.at_ns))
        || events.iter().any(excuses)
        || is_disturbed(timeline, hold, over_ns);
    (!is_excused).then_some(asked_ns)
}
