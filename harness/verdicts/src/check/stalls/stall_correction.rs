//! The holds of a run as they would have been without stalls.
//!
//! A violation must not rest on the machine. While the harness is stalled ([`EventKind::HarnessStalled`]), replies wait
//! in its proxy and releases are requested late. A hold that waits for a fault to be injected
//! ([`EventKind::FaultFired`]) lasts longer than the scenario specifies. Leases keep running in the meantime. So each
//! hold is shortened here:
//!
//! - by the time for which the harness was stalled since the lock was taken, as far as this may have delayed the
//!   release;
//! - to its lease, if the client's next step (its release, or the report of an extension) came after the lease, but
//!   would have come in time without the stalls and injections since the lease was reported.
//!
//! If a client or a server stalled without a fault, what the client would have done otherwise is unknown. So its hold
//! counts only until the stall began, and not at all if the hold began later.
//!
//! A grant that arrived after its lease, but would have arrived in time without the stalls since it was requested, does
//! not count as a hold: the client is not responsible for the stalls, however short each of them was.
//!
//! A grant that would have arrived after its lease anyway is moved earlier by the time it spent in the harness. All
//! other holds keep their beginning, and no hold ends later than recorded. So two holds that overlap after the
//! correction would have overlapped on a punctual machine, and the violation is proven. A violation that only the
//! uncorrected history shows proves nothing.

use std::collections::BTreeMap;

use crate::history::{EventKind, History};
use crate::timeline::{Attempt, AttemptTracker, Hold, Step, Timeline, ms_from_ns, overlap};

use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::delays::{Delays, stalled_ns};
use crate::check::stalls::stall::Stall;

/// The shortened holds of a run.
#[derive(Debug)]
pub(in crate::check) struct StallCorrection {
    /// The holds that were too long because of the machine, by attempt.
    holds: BTreeMap<u64, ShortenedHold>,
    /// The first hold that outlived its lease because it waited for the injection of a fault.
    first_late_injection: Option<ShortenedHold>,
    /// The stalls of servers and workers.
    stalls: Vec<Stall>,
}

/// A hold that was too long because of the machine.
#[derive(Debug, Clone, Copy)]
struct ShortenedHold {
    worker: usize,
    begin_ns: u64,
    /// When the hold ends. If this is not later than its beginning, the hold would have been over before its grant
    /// arrived.
    end_ns: u64,
    /// Time that the machine lost, in nanoseconds.
    lost_ns: u64,
    /// End of the span in which that time was lost.
    until_ns: u64,
    cause: DelayCause,
}

/// Why a hold was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DelayCause {
    HarnessStall,
    /// The hold waited for the injection of a fault.
    Injection,
    /// The worker or a server stalled.
    UnexpectedStall(Stall),
}

/// A hold in progress.
#[derive(Debug)]
struct ActiveHold {
    worker: usize,
    begin_ns: u64,
    last_event_ns: u64,
    /// How long stalls of the harness since the lock was taken may have delayed the last event.
    late_ns: u64,
    /// How long stalls since the lock reported the latest end of the lease may have delayed the last event.
    late_since_report_ns: u64,
    /// The earliest time at which the lock may have been taken.
    taken_ns: u64,
    /// The earliest time at which the lock may have reported the latest end of the lease.
    reported_at_ns: u64,
    earliest_deadline_ns: u64,
    latest_deadline_ns: u64,
    shortened: Option<ShortenedHold>,
}

impl StallCorrection {
    /// Returns the shortened holds of a history, or `None` if the machine lost no time that could lengthen a hold.
    pub(in crate::check) fn new(timeline: &Timeline<'_>) -> Option<StallCorrection> {
        let history = timeline.history();
        let run_events = timeline.run_events().iter().copied();
        let stalls: Vec<Stall> = run_events.filter_map(Stall::from_event).collect();
        let delays = Delays::new(timeline);
        if delays.is_none() && stalls.is_empty() {
            return None;
        }
        let delays = delays.unwrap_or_default();
        let mut correction = StallCorrection {
            holds: BTreeMap::new(),
            first_late_injection: None,
            stalls,
        };
        let mut active: BTreeMap<u64, ActiveHold> = BTreeMap::new();
        let mut tracker = AttemptTracker::new(&history.header);
        let mut end_ns = 0;
        for event in &history.events {
            end_ns = event.at_ns;
            if let Some(hold) = holder_of(&event.what).and_then(|op| active.get_mut(&op)) {
                hold.event(end_ns, &delays);
            }
            tracker.event(event, |attempt, step| {
                correction.step(end_ns, attempt, step, &mut active, &delays);
                if step == Step::Begun
                    && let Some(hold) = active.get_mut(&attempt.op)
                {
                    hold.excuse_late_grant(history, attempt);
                }
            });
        }
        tracker.close(end_ns, |attempt, step| {
            correction.step(end_ns, attempt, step, &mut active, &delays);
        });
        Some(correction)
    }

    fn step(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        step: Step,
        active: &mut BTreeMap<u64, ActiveHold>,
        delays: &Delays,
    ) {
        match step {
            Step::Begun => {
                active.insert(attempt.op, ActiveHold::new(at_ns, attempt, delays));
            }
            Step::LeaseMoved => {
                if let Some(hold) = active.get_mut(&attempt.op) {
                    let (reported_at_ns, _) = attempt.report_window_ns;
                    hold.event(at_ns, delays);
                    self.cut_at_lease(at_ns, hold, delays);
                    hold.reported_at_ns = reported_at_ns;
                    hold.late_since_report_ns = delays.stalled_ns(reported_at_ns, at_ns);
                    hold.earliest_deadline_ns = attempt.deadline_ns;
                    hold.latest_deadline_ns = attempt.latest_deadline_ns;
                }
            }
            Step::Ended(_) => {
                if let Some(mut hold) = active.remove(&attempt.op) {
                    hold.event(at_ns, delays);
                    self.cut_at_lease(at_ns, &mut hold, delays);
                    self.ended(at_ns, attempt.op, hold);
                }
            }
            _ => {}
        }
    }

    /// Cuts a hold at its lease if the client's step at `at_ns` came after the lease, and would have come in time
    /// without the delays.
    fn cut_at_lease(&mut self, at_ns: u64, hold: &mut ActiveHold, delays: &Delays) {
        let since_ns = hold.begin_ns.max(hold.reported_at_ns);
        let injecting_ns = delays.injecting_ns(hold.worker, (since_ns, at_ns));
        let lost_ns = hold.late_since_report_ns + injecting_ns;
        let in_time = at_ns.saturating_sub(lost_ns) <= hold.latest_deadline_ns;
        // If the lock does not report how long its lease runs, the lease may still be running. Then the step was not
        // late.
        if at_ns <= hold.latest_deadline_ns || !in_time {
            return;
        }
        let cause = match injecting_ns {
            0 => DelayCause::HarnessStall,
            _ => DelayCause::Injection,
        };
        let shortened = hold.shorten(hold.earliest_deadline_ns, (lost_ns, at_ns), cause);
        if cause == DelayCause::Injection {
            self.first_late_injection.get_or_insert(shortened);
        }
    }

    fn ended(&mut self, at_ns: u64, op: u64, mut hold: ActiveHold) {
        let span = (hold.taken_ns, at_ns);
        let stalls = self
            .stalls
            .iter()
            .filter(|stall| stall.touches(hold.worker, span));
        if let Some(stall) = stalls.min_by_key(|stall| stall.from_ns) {
            let lost_ns = stall.until_ns - stall.from_ns;
            let cause = DelayCause::UnexpectedStall(*stall);
            hold.shorten(stall.from_ns, (lost_ns, stall.until_ns), cause);
        }
        let lost_ns = hold.late_ns;
        if lost_ns > 0 {
            let end_ns = at_ns.saturating_sub(lost_ns);
            hold.shorten(end_ns, (lost_ns, at_ns), DelayCause::HarnessStall);
        }
        if let Some(shortened) = hold.shortened {
            self.holds.insert(op, shortened);
        }
    }

    /// Returns `true` if two holds that overlap still do so after the correction.
    pub(in crate::check) fn overlap(&self, one: &Hold, other: &Hold) -> bool {
        let span = |hold: &Hold| match self.holds.get(&hold.op) {
            Some(shortened) => shortened.span(),
            None => Some(hold.span()),
        };
        let both = span(one).zip(span(other));
        both.is_some_and(|(one, other)| overlap(one, other))
    }

    /// Returns the corrected holds of the run, in the order in which they begin.
    pub(in crate::check) fn holds(&self, holds: &[Hold]) -> Vec<Hold> {
        let mut corrected: Vec<Hold> = (holds.iter())
            .filter_map(|hold| match self.holds.get(&hold.op) {
                Some(shortened) => shortened.span().map(|(from, until)| hold.cut(from, until)),
                None => Some(hold.clone()),
            })
            .collect();
        corrected.sort_by_key(|hold| hold.begin_ns);
        corrected
    }

    /// Returns the reason if a holder outlived its lease only because it waited for the injection of a fault. The run
    /// then differs from its scenario, although no violation shows it.
    pub(in crate::check) fn late_injection(&self, history: &History) -> Option<InconclusiveReason> {
        self.first_late_injection.map(|hold| hold.reason(history))
    }

    /// Returns the reason if this worker's actions between two times may rest on a stall, or `None` if nothing that it
    /// depends on was stalled.
    pub(in crate::check) fn stall(
        &self,
        worker: usize,
        span: (u64, u64),
    ) -> Option<InconclusiveReason> {
        let mut stalls = self.stalls.iter();
        let stall = stalls.find(|stall| stall.touches(worker, span));
        stall.map(Stall::reason)
    }

    /// Returns why a violation by these attempts proves nothing, or `None` if none of their holds was too long.
    pub(in crate::check) fn reason(
        &self,
        ops: &[u64],
        history: &History,
    ) -> Option<InconclusiveReason> {
        let shortened = ops.iter().find_map(|op| self.holds.get(op));
        shortened.map(|hold| hold.reason(history))
    }
}

impl ShortenedHold {
    /// Returns the beginning and the end of the hold, or `None` if it would have been over before its grant arrived.
    fn span(&self) -> Option<(u64, u64)> {
        (self.begin_ns < self.end_ns).then_some((self.begin_ns, self.end_ns))
    }

    fn reason(&self, history: &History) -> InconclusiveReason {
        match self.cause {
            DelayCause::UnexpectedStall(stall) => stall.reason(),
            DelayCause::Injection => InconclusiveReason::LateInjection {
                worker: self.worker,
                waited_ns: self.lost_ns,
                fault: last_fault_fired(history, self.until_ns)
                    .unwrap_or("a fault")
                    .to_owned(),
            },
            DelayCause::HarnessStall => InconclusiveReason::HoldExtendedByStall {
                worker: self.worker,
                lost_ms: ms_from_ns(self.lost_ns),
                until_ns: self.until_ns,
            },
        }
    }
}

impl ActiveHold {
    fn new(at_ns: u64, attempt: &Attempt, delays: &Delays) -> Self {
        let (earliest_ns, latest_ns) = attempt.report_window_ns;
        let earlier_ns = |since_ns| at_ns.saturating_sub(delays.stalled_ns(since_ns, at_ns));
        let expired_anyway = earlier_ns(earliest_ns) > attempt.latest_deadline_ns;
        let (begin_ns, late_from_ns) = if expired_anyway {
            (earlier_ns(latest_ns), latest_ns)
        } else {
            (at_ns, earliest_ns)
        };
        ActiveHold {
            worker: attempt.worker,
            begin_ns,
            last_event_ns: at_ns,
            late_ns: delays.stalled_ns(late_from_ns, at_ns),
            late_since_report_ns: delays.stalled_ns(earliest_ns, at_ns),
            taken_ns: earliest_ns,
            reported_at_ns: earliest_ns,
            earliest_deadline_ns: attempt.deadline_ns,
            latest_deadline_ns: attempt.latest_deadline_ns,
            shortened: None,
        }
    }

    /// Removes the hold, by moving its end before its beginning, if its grant arrived after its lease only because of
    /// stalls.
    fn excuse_late_grant(&mut self, history: &History, attempt: &Attempt) {
        let at_ns = self.last_event_ns;
        // If the lock reported that no time was left, the lease may have ended long before the report, but not earlier
        // than one lease after the request.
        let due_ns = if attempt.latest_deadline_ns == at_ns {
            attempt.acquire_ns.saturating_add(attempt.ttl_ns)
        } else {
            attempt.latest_deadline_ns
        };
        let late_ns = at_ns.saturating_sub(due_ns);
        if late_ns == 0 {
            return;
        }
        let span = (attempt.acquire_ns, at_ns);
        let lost_ns = stalled_ns(history, attempt.worker, span);
        if lost_ns < late_ns {
            return;
        }
        let stalls = history.events.iter().filter_map(Stall::from_event);
        let touching = stalls.filter(|stall| stall.touches(attempt.worker, span));
        let longest = touching.max_by_key(|stall| stall.until_ns - stall.from_ns);
        let cause = longest.map_or(DelayCause::HarnessStall, DelayCause::UnexpectedStall);
        self.shorten(0, (lost_ns, at_ns), cause);
    }

    /// Records an event that belongs to this hold.
    fn event(&mut self, at_ns: u64, delays: &Delays) {
        let since_ns = self.last_event_ns;
        self.late_ns += delays.late_ns(since_ns, at_ns);
        self.late_since_report_ns +=
            delays.late_beside_injections_ns(self.worker, (since_ns, at_ns));
        self.last_event_ns = at_ns;
    }

    /// Shortens the hold so that it ends at `end_ns`, unless it already ends earlier. `lost_ns` nanoseconds were lost
    /// before `until_ns`. Returns the hold shortened in this way.
    fn shorten(
        &mut self,
        end_ns: u64,
        (lost_ns, until_ns): (u64, u64),
        cause: DelayCause,
    ) -> ShortenedHold {
        let shortened = ShortenedHold {
            worker: self.worker,
            begin_ns: self.begin_ns,
            end_ns,
            lost_ns,
            until_ns,
            cause,
        };
        let known = self.shortened.get_or_insert(shortened);
        if end_ns < known.end_ns {
            *known = shortened;
        }
        shortened
    }
}

/// Returns the attempt whose holder caused this event between its grant and its release, or `None` for any other event.
fn holder_of(what: &EventKind) -> Option<u64> {
    match *what {
        EventKind::StockRead { op, .. }
        | EventKind::StockChanged { op, .. }
        | EventKind::ValueRead { op, .. }
        | EventKind::ValueWritten { op, .. }
        | EventKind::JobBegan { op, .. }
        | EventKind::FencedOff { op, .. }
        | EventKind::Act { op, .. }
        | EventKind::MayAct { op, .. }
        | EventKind::ActFailed { op, .. }
        | EventKind::Extend { op, .. }
        | EventKind::ExtendGranted { op, .. }
        | EventKind::Extended { op, .. } => Some(op),
        _ => None,
    }
}

/// Returns the description of the last fault that fired at or before this time.
fn last_fault_fired(history: &History, before_ns: u64) -> Option<&str> {
    let latest_first = history.events.iter().rev();
    let mut earlier = latest_first.skip_while(|event| event.at_ns > before_ns);
    let fired = earlier.find_map(|event| match event.what {
        EventKind::FaultFired { id, .. } => Some(id),
        _ => None,
    })?;
    history.events.iter().find_map(|event| match &event.what {
        EventKind::FaultBegan { id, detail, .. } if *id == fired => Some(detail.as_str()),
        _ => None,
    })
}
