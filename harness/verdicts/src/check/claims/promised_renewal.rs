//! Holders whose lock promises to renew its lease, but did not.
//!
//! The key of such a holder expired on its quorum while it held the lock, and no loss had been reported before. The
//! loss is excused if, since the last renewal, a fault may have kept commands from the servers or the client from
//! running, or if the harness, the client or a server was stalled for long enough to explain it. Short stalls add up.
//! If the lock reports nothing after the loss for longer than the faults and stalls lasted, the excuse does not count.
//! A loss that only the machine excuses, and no fault, proves nothing: it is neither the lock's fault nor the client's.

use std::collections::BTreeSet;

use crate::history::{Event, EventKind, History, KeyName};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{
    FaultSpan, Hold, Timeline, ends_clients, includes, ms_from_ns, ns_from_ms, spoils_clocks,
    stops_clients,
};

use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::delays::stalled_ns;
use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::stall::Stall;
use crate::check::stalls::thresholds::NOTABLE_DELAY;

fn is_own_name(key: &KeyName) -> bool {
    matches!(key, KeyName::Lock(_))
}

/// How a holder lost its key, although its lock promises renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct MissedRenewal {
    /// When the key expired on its quorum.
    pub(in crate::check) at_ns: u64,
    /// For how long the machine delayed the client or a server since the last renewal, until the end of the silence, if
    /// only that excuses the loss, in milliseconds. `None` if nothing excuses it.
    pub(in crate::check) delayed_ms: Option<u64>,
}

impl MissedRenewal {
    /// Returns why the loss proves nothing, or `None` if nothing excuses it.
    pub(in crate::check) fn doubt(&self, worker: usize) -> Option<InconclusiveReason> {
        let delayed = self.delayed_ms;
        delayed.map(|delayed_ms| InconclusiveReason::RenewalDelayed { worker, delayed_ms })
    }
}

/// Returns how this holder lost its key. `own` contains the values of its attempt. Returns `None` if the key did not
/// expire, if the lock promises no renewal, if it had reported the loss before, or if a fault excuses the loss.
///
/// A fault or a stall excuses the loss unless the lock then reports nothing for longer than the fault or the stall
/// lasted. This silence ends when the lock reports the loss, or confirms an extension. This function does not check if
/// the confirmation is true.
pub(in crate::check) fn missed_renewal(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<MissedRenewal> {
    let history = timeline.history();
    if !history.header.renews {
        return None;
    }
    let lock_values = own.iter().filter(|span| span.may_be_lock_value());
    let has_own_name = lock_values.clone().any(|span| is_own_name(&span.key));
    // If a key has the lock's own name, the lock rests on it, and other keys may expire.
    let own = lock_values.filter(|span| is_own_name(&span.key) || !has_own_name);
    let nodes_at = |at_ns: u64| {
        let existing = own.clone().filter(|span| span.exists_at(at_ns));
        let nodes: BTreeSet<usize> = existing.map(|span| span.node).collect();
        nodes.len()
    };
    let end_ns = hold.end_ns.min(ended_clients_ns(history));
    let is_lost = |span: &&&ValueSpan| {
        span.end == SpanEnd::RanOut
            && (hold.begin_ns..end_ns).contains(&span.until_ns)
            && nodes_at(span.until_ns) < quorum
            && nodes_at(span.until_ns.saturating_sub(1)) >= quorum
    };
    let lost = own.clone().find(is_lost)?;
    let until_ns = lost.until_ns;
    let reported = loss_report(history, hold);
    if reported.is_some_and(|event| event.at_ns <= until_ns) {
        return None;
    }
    let renewed_ns = lost.expiry.map_or(lost.from_ns, |expiry| expiry.set_ns);
    let before_ns = (renewed_ns, until_ns);
    let is_excused =
        is_disturbed(timeline, hold, before_ns) || is_delayed(history, hold.worker, before_ns);
    let unexcused = MissedRenewal {
        at_ns: until_ns,
        delayed_ms: None,
    };
    if !is_excused {
        return Some(unexcused);
    }
    let confirmed_ns = confirmed_after_ns(history, hold, until_ns);
    let answers_ns = [
        reported.map(|event| event.at_ns),
        confirmed_ns,
        Some(end_ns),
    ];
    let silence_end_ns = answers_ns.into_iter().flatten().min()?;
    let any_fault = |fault: &FaultSpan<'_>| concerns(fault, hold.worker);
    let silence = (until_ns, silence_end_ns);
    if is_silent(timeline, hold, silence, any_fault) {
        return Some(unexcused);
    }
    let mut faults = timeline.faults().iter();
    if faults.any(|fault| fault.touches(hold.acquire_ns, until_ns))
        && !is_silent_for_faults(timeline, hold, silence, any_fault)
    {
        return None;
    }
    let delayed_ns = disturbed_ns(timeline, hold.worker, (renewed_ns, silence_end_ns), |_| {
        false
    });
    Some(MissedRenewal {
        delayed_ms: delayed_ns.map(ms_from_ns),
        ..unexcused
    })
}

/// Returns `true` if the silence of the lock from `since_ns` to `until_ns` is longer than its excuse: the total time of
/// the disturbances since the request. A disturbance does not excuse a silence before it. So the silence up to the
/// beginning of each fault is also compared with the disturbances until then.
fn is_silent(
    timeline: &Timeline<'_>,
    hold: &Hold,
    (since_ns, until_ns): (u64, u64),
    counts: impl Fn(&FaultSpan<'_>) -> bool,
) -> bool {
    is_longer_than(timeline, hold, (since_ns, until_ns), &counts, |span| {
        disturbed_ns(timeline, hold.worker, span, &counts)
    })
}

/// Like [`is_silent`], but only faults count, and not the stalls of the machine.
fn is_silent_for_faults(
    timeline: &Timeline<'_>,
    hold: &Hold,
    silence: (u64, u64),
    counts: impl Fn(&FaultSpan<'_>) -> bool,
) -> bool {
    is_longer_than(timeline, hold, silence, &counts, |span| {
        let spans = fault_spans(timeline, span, &counts)?;
        Some(total_ns(spans, span))
    })
}

/// Returns `true` if a silence is longer than `excused_ns` says for the time from the request to the end of the
/// silence, or to the beginning of a fault within it.
fn is_longer_than(
    timeline: &Timeline<'_>,
    hold: &Hold,
    (since_ns, until_ns): (u64, u64),
    counts: impl Fn(&FaultSpan<'_>) -> bool,
    excused_ns: impl Fn((u64, u64)) -> Option<u64>,
) -> bool {
    let slack_ns = NOTABLE_DELAY.part_of(hold.ttl_ns);
    let faults = timeline.faults().iter().filter(|fault| counts(fault));
    let before_ns = faults.map(|fault| fault.began_ns.saturating_sub(1));
    let mut ends_ns = before_ns
        .filter(|ns| (since_ns..until_ns).contains(ns))
        .chain([until_ns]);
    ends_ns.any(|end_ns| {
        let silence_ns = end_ns.saturating_sub(since_ns);
        excused_ns((hold.acquire_ns, end_ns))
            .is_some_and(|excused_ns| silence_ns > excused_ns.saturating_add(slack_ns))
    })
}

/// A lock that promises renewal never reported to a holder that its lease had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct UnreportedLoss {
    /// For how long the machine delayed the client or a server since the request, if only that excuses the silence, in
    /// milliseconds. `None` if nothing excuses it.
    pub(in crate::check) delayed_ms: Option<u64>,
}

/// Returns a finding if the lock never reported to this holder that its lease had ended, although another client was
/// inside since `since_ns`. Only faults that stop the holder or change its clock excuse that, because a client that
/// cannot reach its servers can still compute when its lease ends. The silence also ends when the lock confirms an
/// extension. Returns `None` if the loss was reported, or if such a fault excuses the silence.
pub(in crate::check) fn unreported_loss(
    timeline: &Timeline<'_>,
    hold: &Hold,
    since_ns: u64,
) -> Option<UnreportedLoss> {
    let history = timeline.history();
    if !history.header.renews || loss_report(history, hold).is_some() {
        return None;
    }
    let stops_holder = |fault: &FaultSpan<'_>| {
        concerns(fault, hold.worker) && (stops_clients(fault.fault) || spoils_clocks(fault.fault))
    };
    let confirmed_ns = confirmed_after_ns(history, hold, since_ns);
    let ends_ns = [ended_clients_ns(history), confirmed_ns.unwrap_or(u64::MAX)];
    let end_ns = ends_ns.into_iter().fold(hold.end_ns, u64::min);
    if is_silent(timeline, hold, (since_ns, end_ns), stops_holder) {
        return Some(UnreportedLoss { delayed_ms: None });
    }
    if !is_silent_for_faults(timeline, hold, (since_ns, end_ns), stops_holder) {
        return None;
    }
    let delayed_ns = disturbed_ns(timeline, hold.worker, (hold.acquire_ns, end_ns), |_| false);
    Some(UnreportedLoss {
        delayed_ms: delayed_ns.map(ms_from_ns),
    })
}

/// Returns the event in which the lock reported the loss of this hold, or `None` if it never did.
fn loss_report<'a>(history: &'a History, hold: &Hold) -> Option<&'a Event> {
    let is_report =
        |event: &&Event| matches!(event.what, EventKind::Lost { op, .. } if op == hold.op);
    history.events.iter().find(is_report)
}

/// Returns when the lock first confirmed an extension of this hold after `lost_ns`.
fn confirmed_after_ns(history: &History, hold: &Hold, lost_ns: u64) -> Option<u64> {
    let is_confirmed = |event: &&Event| match event.what {
        EventKind::ExtendGranted { op, .. } => op == hold.op && event.at_ns >= lost_ns,
        _ => false,
    };
    history
        .events
        .iter()
        .find(is_confirmed)
        .map(|event| event.at_ns)
}

/// Returns when the run ended its clients, or `u64::MAX` if it did not. Changes of keys after that prove nothing.
pub(in crate::check) fn ended_clients_ns(history: &History) -> u64 {
    let mut last_first = history.events.iter().rev();
    let ended = last_first.find(|event| matches!(event.what, EventKind::CommandsSent { .. }));
    ended.map_or(u64::MAX, |event| event.at_ns)
}

/// Returns `true` if the fault may have disturbed this worker. Any fault counts, because clients may share a
/// connection, except a fault that stopped or ended only other clients.
pub(in crate::check) fn concerns(fault: &FaultSpan<'_>, worker: usize) -> bool {
    let is_of_others = !includes(fault.workers, worker);
    !(is_of_others && (stops_clients(fault.fault) || ends_clients(fault.fault)))
}

/// Returns how long stalls, and the faults for which `counts` returns `true`, disturbed this worker or a server between
/// two times, in nanoseconds. Returns `None` if a clock was wrong, because the effect of a wrong clock lasts longer
/// than the fault.
pub(in crate::check) fn disturbed_ns(
    timeline: &Timeline<'_>,
    worker: usize,
    (from_ns, to_ns): (u64, u64),
    counts: impl Fn(&FaultSpan<'_>) -> bool,
) -> Option<u64> {
    let mut spans = fault_spans(timeline, (from_ns, to_ns), counts)?;
    let mut waited_ns = 0;
    for event in &timeline.history().events {
        if let EventKind::WorkerDelayed {
            worker: waiter,
            since_ns,
            waited_ms,
        } = event.what
            && waiter == worker
            && since_ns < to_ns
            && event.at_ns > from_ns
        {
            waited_ns += ns_from_ms(waited_ms);
        }
        let harness = HarnessStall::from_event(event);
        spans.extend(harness.map(|stall| (stall.from_ns, stall.until_ns)));
        let stall = Stall::from_event(event);
        let stall = stall.filter(|stall| stall.touches(worker, (from_ns, to_ns)));
        spans.extend(stall.map(|stall| (stall.from_ns, stall.until_ns)));
    }
    Some(total_ns(spans, (from_ns, to_ns)) + waited_ns)
}

/// Returns the faults for which `counts` returns `true` and that touch a span, or `None` if one of them spoils a clock.
fn fault_spans(
    timeline: &Timeline<'_>,
    (from_ns, to_ns): (u64, u64),
    counts: impl Fn(&FaultSpan<'_>) -> bool,
) -> Option<Vec<(u64, u64)>> {
    let touches = |fault: &&FaultSpan<'_>| counts(fault) && fault.touches(from_ns, to_ns);
    let faults = timeline.faults().iter().filter(touches);
    let span = |fault: &FaultSpan<'_>| {
        let is_lasting = spoils_clocks(fault.fault);
        (!is_lasting).then(|| (fault.began_ns, fault.ended_ns.unwrap_or(u64::MAX)))
    };
    faults.map(span).collect()
}

/// Returns for how long at least one of the spans ran between two times.
fn total_ns(mut spans: Vec<(u64, u64)>, (from_ns, to_ns): (u64, u64)) -> u64 {
    spans.sort_unstable();
    let (mut total_ns, mut done_ns) = (0_u64, from_ns);
    for (begin_ns, end_ns) in spans {
        let (begin_ns, end_ns) = (begin_ns.max(done_ns), end_ns.min(to_ns));
        total_ns += end_ns.saturating_sub(begin_ns);
        done_ns = done_ns.max(end_ns);
    }
    total_ns
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

/// Returns `true` if a fault was active at some time in this span, or if the harness, the client or a server was
/// stalled in it for long enough, in total, to change what a lock does. Any fault counts, because clients may share a
/// connection.
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

/// Returns when this holder requested an extension that the lock answered too late through its own fault, or `None` if
/// there was no such request.
///
/// The request came early enough before the end of the lease, was not answered before the end, and no renewal reached a
/// server in between. It does not count if a fault or the machine may have held it back.
pub(in crate::check) fn late_extension_ns(
    timeline: &Timeline<'_>,
    spans: &[ValueSpan],
    hold: &Hold,
) -> Option<u64> {
    let lease_end_ns = hold.possible_leases.last()?.until_ns;
    let events = &timeline.history().events;
    let is_request =
        |event: &&Event| matches!(event.what, EventKind::Extend { op, .. } if op == hold.op);
    let mut requests = events.iter().filter(is_request).map(|event| event.at_ns);
    let requested_at_ns = requests.rfind(|requested_at_ns| *requested_at_ns < lease_end_ns)?;
    let is_in_time = |at_ns: u64| (requested_at_ns..lease_end_ns).contains(&at_ns);
    let is_answer_in_time = |event: &Event| match event.what {
        EventKind::ExtendGranted { op, .. }
        | EventKind::ExtendRefused { op, .. }
        | EventKind::ExtendFailed { op, .. } => op == hold.op && is_in_time(event.at_ns),
        _ => false,
    };
    let own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
    let mut renewals = own.flat_map(|span| &span.renewals);
    let is_excused = lease_end_ns > ended_clients_ns(timeline.history())
        || lease_end_ns - requested_at_ns < NOTABLE_DELAY.part_of(hold.ttl_ns)
        || renewals.any(|renewal| is_in_time(renewal.at_ns))
        || events.iter().any(is_answer_in_time)
        || is_delayed(
            timeline.history(),
            hold.worker,
            (requested_at_ns, lease_end_ns),
        )
        || is_disturbed(timeline, hold, (hold.acquire_ns, lease_end_ns));
    (!is_excused).then_some(requested_at_ns)
}
