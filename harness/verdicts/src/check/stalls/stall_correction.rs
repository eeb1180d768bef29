//! The run as it would have been, had the machine been on time.
//!
//! A violation must not rest on what the machine did. While the harness stands still ([`EventKind::HarnessStalled`]),
//! replies lie in its proxy and releases are asked for late, and a hold that waits for a fault to strike
//! ([`EventKind::FaultFired`]) lasts longer than its scenario means. Leases run on meanwhile. So each hold is
//! shortened here:
//!
//! - by the time in which the harness stood still since the lock was taken, as far as it can have made the
//!   release late: it would have been sent so much earlier;
//! - to its lease, where the client's next move (its release, or the report of an extension) came after the
//!   lease, and would have come in time without what the harness waited or stood still since the lease was
//!   told.
//!
//! What a client would have done, had it or a server not stood still without a fault, nobody knows. So its hold
//! counts only until that began, and not at all if it began later.
//!
//! A grant that would have come after its lease anyway comes so much earlier as it lay in the harness. No other
//! hold begins earlier, and all end earlier, if anything. So two that overlap here would have overlapped on a
//! machine that is on time, and such a violation stands. One that shows only in the history itself proves nothing.

use std::collections::BTreeMap;

use crate::history::{EventKind, History};
use crate::timeline::{Attempt, AttemptTracker, Hold, Step, overlap};

use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::delays::Delays;
use crate::check::stalls::stall::Stall;

/// The shortened holds of a run.
#[derive(Debug)]
pub(in crate::check) struct StallCorrection {
    /// The holds that were too long because of the machine, by attempt.
    holds: BTreeMap<u64, Shortened>,
    /// The first hold that outlived its lease because it waited for a fault to strike.
    waited: Option<Shortened>,
    /// When servers and workers stood still without a fault.
    stalls: Vec<Stall>,
}

/// A hold that was too long because of the machine.
#[derive(Debug, Clone, Copy)]
struct Shortened {
    worker: usize,
    /// When it begins.
    begin_ns: u64,
    /// When it ends. One that ends no later than it begins would have been over before it was seen.
    end_ns: u64,
    /// How much time the harness lost.
    lost_ns: u64,
    /// Until when.
    until_ns: u64,
    why: Why,
}

/// Why a hold was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    HarnessStall,
    /// It waited for a fault to strike.
    Waited,
    /// Its worker or a server stood still.
    UnexpectedStall(Stall),
}

/// A hold that is on.
#[derive(Debug)]
struct Open {
    worker: usize,
    begin_ns: u64,
    /// When its last event came.
    event_ns: u64,
    /// How late the harness can have made it since the lock was taken.
    late_ns: u64,
    /// The same since the lock told the latest end of the lease.
    late_since_told_ns: u64,
    /// The earliest time at which the lock can have been taken.
    taken_ns: u64,
    /// The earliest time at which it can have told that.
    reported_at_ns: u64,
    earliest_deadline_ns: u64,
    latest_deadline_ns: u64,
    shortened: Option<Shortened>,
}

impl StallCorrection {
    /// The holds of this history, shortened. `None`: the machine lost no time that a hold could have.
    pub(in crate::check) fn from_history(history: &History) -> Option<StallCorrection> {
        let stalls = history.events.iter().filter_map(Stall::from_event);
        let stalls: Vec<Stall> = stalls.collect();
        let delays = Delays::from_history(history);
        if delays.is_none() && stalls.is_empty() {
            return None;
        }
        let delays = delays.unwrap_or_default();
        let mut stall_correction = StallCorrection {
            holds: BTreeMap::new(),
            waited: None,
            stalls,
        };
        let mut open: BTreeMap<u64, Open> = BTreeMap::new();
        let mut tracker = AttemptTracker::new(history.header.workers);
        let mut end_ns = 0;
        for event in &history.events {
            end_ns = event.at_ns;
            if let Some(hold) = held_by(&event.what).and_then(|op| open.get_mut(&op)) {
                hold.event(end_ns, &delays);
            }
            tracker.event(event, |attempt, step| {
                stall_correction.step(end_ns, attempt, step, &mut open, &delays);
            });
        }
        tracker.close(end_ns, |attempt, step| {
            stall_correction.step(end_ns, attempt, step, &mut open, &delays);
        });
        Some(stall_correction)
    }

    fn step(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        step: Step,
        open: &mut BTreeMap<u64, Open>,
        delays: &Delays,
    ) {
        match step {
            Step::Begun => {
                open.insert(attempt.op, Open::begun(at_ns, attempt, delays));
            }
            Step::LeaseMoved {
                report_window_ns, ..
            } => {
                if let Some(hold) = open.get_mut(&attempt.op) {
                    hold.event(at_ns, delays);
                    self.lapsed(at_ns, hold, delays);
                    hold.reported_at_ns = report_window_ns.0;
                    hold.late_since_told_ns = delays.paused_ns(report_window_ns.0, at_ns);
                    hold.earliest_deadline_ns = attempt.deadline_ns;
                    hold.latest_deadline_ns = attempt.latest_deadline_ns;
                }
            }
            Step::Ended(_) => {
                if let Some(mut hold) = open.remove(&attempt.op) {
                    hold.event(at_ns, delays);
                    self.lapsed(at_ns, &mut hold, delays);
                    self.ended(at_ns, attempt.op, hold);
                }
            }
            _ => {}
        }
    }

    /// The client moved: its lease may have been over by then, and would not have been without the delay.
    fn lapsed(&mut self, at_ns: u64, hold: &mut Open, delays: &Delays) {
        let waited_ns = delays.waited_ns(hold.begin_ns.max(hold.reported_at_ns), at_ns);
        let lost_ns = hold.late_since_told_ns + waited_ns;
        let in_time = at_ns.saturating_sub(lost_ns) <= hold.latest_deadline_ns;
        // Where the lock does not say how long its lease runs, it may have run until now: then nothing was late.
        if at_ns <= hold.latest_deadline_ns || !in_time {
            return;
        }
        let why = match waited_ns {
            0 => Why::HarnessStall,
            _ => Why::Waited,
        };
        let shortened = hold.shorten(hold.earliest_deadline_ns, (lost_ns, at_ns), why);
        if why == Why::Waited {
            self.waited.get_or_insert(shortened);
        }
    }

    fn ended(&mut self, at_ns: u64, op: u64, mut hold: Open) {
        let span = (hold.taken_ns, at_ns);
        let stalls = self.stalls.iter();
        let touching = stalls.filter(|it| it.touches(hold.worker, span));
        if let Some(stood) = touching.min_by_key(|it| it.from_ns) {
            let lost_ns = stood.until_ns - stood.from_ns;
            let why = Why::UnexpectedStall(*stood);
            hold.shorten(stood.from_ns, (lost_ns, stood.until_ns), why);
        }
        let lost_ns = hold.late_ns;
        if lost_ns > 0 {
            let end_ns = at_ns.saturating_sub(lost_ns);
            hold.shorten(end_ns, (lost_ns, at_ns), Why::HarnessStall);
        }
        if let Some(shortened) = hold.shortened {
            self.holds.insert(op, shortened);
        }
    }

    /// True if two holds that overlap would overlap all the same.
    pub(in crate::check) fn overlap(&self, one: &Hold, other: &Hold) -> bool {
        let span = |hold: &Hold| match self.holds.get(&hold.op) {
            Some(shortened) => shortened.span(),
            None => Some(hold.span()),
        };
        let both = span(one).zip(span(other));
        both.is_some_and(|(one, other)| overlap(one, other))
    }

    /// The holds of the run as they would have been.
    pub(in crate::check) fn holds(&self, holds: &[Hold]) -> Vec<Hold> {
        let stall_correction = holds
            .iter()
            .filter_map(|hold| match self.holds.get(&hold.op) {
                Some(shortened) => shortened.span().map(|(from, until)| hold.cut(from, until)),
                None => Some(hold.clone()),
            });
        let mut stall_correction: Vec<Hold> = stall_correction.collect();
        stall_correction.sort_by_key(|hold| hold.begin_ns);
        stall_correction
    }

    /// Why the run was not what its scenario says although no violation shows it: a holder outlived its lease
    /// only because it waited for a fault.
    pub(in crate::check) fn waited_for_fault(
        &self,
        history: &History,
    ) -> Option<InconclusiveReason> {
        self.waited.map(|waited| waited.reason(history))
    }

    /// Why what this worker did between these times may rest on a stall. `None`: nobody stood still that it
    /// depends on.
    pub(in crate::check) fn stall(
        &self,
        worker: usize,
        span: (u64, u64),
    ) -> Option<InconclusiveReason> {
        let mut stalls = self.stalls.iter();
        let stall = stalls.find(|it| it.touches(worker, span));
        stall.map(Stall::reason)
    }

    /// Why a violation by these attempts proves nothing. `None`: no hold of theirs was too long.
    pub(in crate::check) fn reason(
        &self,
        ops: [u64; 2],
        history: &History,
    ) -> Option<InconclusiveReason> {
        let shortened = ops.iter().find_map(|op| self.holds.get(op));
        shortened.map(|hold| hold.reason(history))
    }
}

impl Shortened {
    /// From and to. `None`: it would have been over before it was seen.
    fn span(&self) -> Option<(u64, u64)> {
        (self.begin_ns < self.end_ns).then_some((self.begin_ns, self.end_ns))
    }

    fn reason(&self, history: &History) -> InconclusiveReason {
        match self.why {
            Why::UnexpectedStall(stall) => stall.reason(),
            Why::Waited => InconclusiveReason::LateInjection {
                worker: self.worker,
                waited_ns: self.lost_ns,
                fault: last_fault_fired(history, self.until_ns)
                    .unwrap_or("a fault")
                    .to_owned(),
            },
            Why::HarnessStall => InconclusiveReason::HoldExtendedByStall {
                worker: self.worker,
                lost_ms: self.lost_ns / 1_000_000,
                until_ns: self.until_ns,
            },
        }
    }
}

impl Open {
    fn begun(at_ns: u64, attempt: &Attempt, delays: &Delays) -> Self {
        let (earliest_ns, latest_ns) = attempt.report_window_ns;
        let earlier_ns = |since_ns| at_ns.saturating_sub(delays.paused_ns(since_ns, at_ns));
        let expired_anyway = earlier_ns(earliest_ns) > attempt.latest_deadline_ns;
        let (begin_ns, taken_ns) = match expired_anyway {
            true => (earlier_ns(latest_ns), latest_ns),
            false => (at_ns, earliest_ns),
        };
        Open {
            worker: attempt.worker,
            begin_ns,
            event_ns: at_ns,
            late_ns: delays.paused_ns(taken_ns, at_ns),
            late_since_told_ns: delays.paused_ns(attempt.report_window_ns.0, at_ns),
            taken_ns: earliest_ns,
            reported_at_ns: attempt.report_window_ns.0,
            earliest_deadline_ns: attempt.deadline_ns,
            latest_deadline_ns: attempt.latest_deadline_ns,
            shortened: None,
        }
    }

    /// Something of this hold came.
    fn event(&mut self, at_ns: u64, delays: &Delays) {
        let late_ns = delays.late_ns(self.event_ns, at_ns);
        self.late_ns += late_ns;
        self.late_since_told_ns += late_ns;
        self.event_ns = at_ns;
    }

    /// The hold, shortened: how much time was lost, and until when. The reason that shortens it most is kept.
    fn shorten(&mut self, end_ns: u64, (lost_ns, until_ns): (u64, u64), why: Why) -> Shortened {
        let shortened = Shortened {
            worker: self.worker,
            begin_ns: self.begin_ns,
            end_ns,
            lost_ns,
            until_ns,
            why,
        };
        let known = self.shortened.get_or_insert(shortened);
        if end_ns < known.end_ns {
            *known = shortened;
        }
        shortened
    }
}

/// The attempt whose holder did this between its grant and its release.
fn held_by(what: &EventKind) -> Option<u64> {
    match *what {
        EventKind::StockRead { op, .. }
        | EventKind::StockChanged { op, .. }
        | EventKind::FencedOff { op, .. }
        | EventKind::Extend { op, .. }
        | EventKind::ExtendGranted { op, .. }
        | EventKind::Extended { op, .. } => Some(op),
        _ => None,
    }
}

/// The words for the fault of nodes that struck last before this time.
fn last_fault_fired(history: &History, before_ns: u64) -> Option<&str> {
    let events = history.events.iter().rev();
    let mut events = events.skip_while(|event| event.at_ns > before_ns);
    let struck = events.find_map(|event| match event.what {
        EventKind::FaultFired { id, .. } => Some(id),
        _ => None,
    })?;
    history.events.iter().find_map(|event| match &event.what {
        EventKind::FaultBegan { id, detail, .. } if *id == struck => Some(detail.as_str()),
        _ => None,
    })
}
