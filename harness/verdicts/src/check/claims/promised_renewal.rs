//! Holders whose lock promises to renew its lease, but did not.
//!
//! The key of such a holder ran out while it held the lock, and no loss was reported before. It does not count if a
//! fault since the last renewal may have kept commands from the servers or the client from running, or if the harness,
//! the client or a server was stalled for long enough to explain it. Short stalls add up.

use crate::history::{Event, EventKind, History, KeyName};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, Timeline};

use crate::check::stalls::delays::stalled_ns;
use crate::check::stalls::thresholds::NOTABLE_DELAY;

/// Returns when the key of this holder ran out, with `own` as the values of its attempt. Returns `None` if it did not,
/// if the lock promises no renewal, or if something else may be the reason.
pub(in crate::check) fn ran_out_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let history = timeline.history();
    if !history.header.renews || history.header.nodes != 1 {
        return None;
    }
    let lock_values = own.iter().filter(|span| span.may_be_lock_value());
    let has_own_name = lock_values.clone().any(|span| is_own_name(&span.key));
    // Keys that the lock does not rest on may run out.
    let own = lock_values.filter(|span| is_own_name(&span.key) || !has_own_name);
    let is_lost = |span: &&&ValueSpan| {
        span.end == SpanEnd::RanOut
            && (hold.begin_ns..hold.end_ns).contains(&span.until_ns)
            && !own.clone().any(|other| other.exists_at(span.until_ns))
    };
    let lost = own.clone().find(is_lost)?;
    let until_ns = lost.until_ns;
    let renewed_ns = lost.expiry.map_or(lost.from_ns, |expiry| expiry.set_ns);
    let is_loss_report = |event: &Event| {
        matches!(event.what, EventKind::Lost { op, .. } if op == hold.op) && event.at_ns <= until_ns
    };
    let is_reported = history.events.iter().any(is_loss_report);
    let silence_ns = (renewed_ns, until_ns);
    let is_excused =
        is_disturbed(timeline, hold, silence_ns) || is_delayed(history, hold.worker, silence_ns);
    (!is_reported && !is_excused).then_some(until_ns)
}

fn is_own_name(key: &KeyName) -> bool {
    matches!(key, KeyName::Lock(_))
}

/// Returns `true` if `waiter` waited for a CPU at some time in this span. The event is recorded at the end of the wait.
fn is_delayed(history: &History, waiter: usize, (from_ns, until_ns): (u64, u64)) -> bool {
    history.events.iter().any(|event| match event.what {
        EventKind::WorkerDelayed {
            worker, since_ns, ..
        } => worker == waiter && since_ns < until_ns && event.at_ns > from_ns,
        _ => false,
    })
}

/// Returns `true` if a fault was active at some time in this span, or if the harness, the client or a server was stalled in
/// it for long enough, in total, to change what a lock does. Any fault counts, because clients may share a connection.
pub(in crate::check) fn is_disturbed(
    timeline: &Timeline<'_>,
    hold: &Hold,
    (from_ns, until_ns): (u64, u64),
) -> bool {
    let mut faults = timeline.faults().iter();
    faults.any(|fault| fault.touches(from_ns, until_ns)) || {
        let stalled_ns = stalled_ns(timeline.history(), hold.worker, (from_ns, until_ns));
        stalled_ns >= NOTABLE_DELAY.part_of(hold.ttl_ns).max(1)
    }
}

/// Returns when this holder requested an extension that came too late because of the lock, or `None` if there was none.
///
/// The request came early enough before the end of the lease, was not answered before the end, and no renewal reached a
/// server in between. It does not count if a fault or the machine may have held it back.
pub(in crate::check) fn late_extension_ns(
    timeline: &Timeline<'_>,
    spans: &[ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let ended_at_ns = hold.possible_leases.last()?.until_ns;
    let events = &timeline.history().events;
    let is_request =
        |event: &&Event| matches!(event.what, EventKind::Extend { op, .. } if op == hold.op);
    let mut requests = events.iter().filter(is_request).map(|event| event.at_ns);
    let requested_at_ns = requests.rfind(|requested_at_ns| *requested_at_ns < ended_at_ns)?;
    let is_in_time = |at_ns: u64| (requested_at_ns..ended_at_ns).contains(&at_ns);
    let is_answer_in_time = |event: &Event| match event.what {
        EventKind::ExtendGranted { op, .. }
        | EventKind::ExtendRefused { op, .. }
        | EventKind::ExtendFailed { op, .. } => op == hold.op && is_in_time(event.at_ns),
        _ => false,
    };
    let own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let mut renewals = own.flat_map(|span| &span.renewals);
    let is_excused = ended_at_ns - requested_at_ns < NOTABLE_DELAY.part_of(hold.ttl_ns)
        || renewals.any(|renewal| is_in_time(renewal.at_ns))
        || events.iter().any(is_answer_in_time)
        || is_delayed(
            timeline.history(),
            hold.worker,
            (requested_at_ns, ended_at_ns),
        )
        || is_disturbed(timeline, hold, (hold.acquire_ns, ended_at_ns));
    (!is_excused).then_some(requested_at_ns)
}
