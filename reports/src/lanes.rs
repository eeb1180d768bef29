//! What each worker was doing when, straight from the events: one lane a worker.
//!
//! The deadline rule is that of the `lease` property: what the subject reported, counted from the
//! moment that it was asked, else the ttl that it was asked for. That is the earliest moment at
//! which the lease can have run out. A subject that waited long and does not say for how much of
//! its wait the lease already counts may believe longer; a picture must not accuse it.

use std::collections::BTreeMap;

use picklock_verdicts::history::{Event, What};

/// The kind of fault that freezes workers, as histories call it.
const PAUSE_CLIENT: &str = "pause-client";

/// One worker's doings, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) stretches: Vec<Stretch>,
    /// When it was frozen: from, to.
    pub(crate) frozen_ns: Vec<(u64, u64)>,
    pub(crate) marks: Vec<Mark>,
}

/// A span of time in which a worker did one thing. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) op: u64,
    pub(crate) key: u32,
    pub(crate) doing: Doing,
}

/// What a worker is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Has asked for the lock.
    Waiting,
    /// Holds, and may believe so.
    InLease,
    /// Holds, and its lease may have run out: the subject did not say enough to tell.
    PerhapsPast,
    /// Holds, but its lease has run out.
    PastLease,
    /// Has been told to give the lock back, and has not answered.
    Releasing,
}

impl Doing {
    pub(crate) fn holds(self) -> bool {
        matches!(self, Doing::InLease | Doing::PerhapsPast | Doing::PastLease)
    }
}

/// Something that happened to a worker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) at_ns: u64,
    pub(crate) what: Moment,
}

/// The moments that are worth a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Sold,
    FencedOff,
    /// A release claimed success.
    Released,
    Died,
}

/// The lanes of all workers that did anything, by number.
pub(crate) fn lanes(events: &[Event]) -> BTreeMap<usize, Lane> {
    let mut builders: BTreeMap<usize, Builder> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::FaultBegan {
                id, fault, workers, ..
            } if fault == PAUSE_CLIENT => {
                for worker in workers {
                    let builder = builders.entry(*worker).or_default();
                    builder.freezes_ns.push((*id, event.at_ns));
                }
            }
            What::FaultEnded { id } => {
                for builder in builders.values_mut() {
                    builder.thaw(Some(*id), event.at_ns);
                }
            }
            what => {
                if let Some(worker) = what.worker() {
                    builders.entry(worker).or_default().see(event);
                }
            }
        }
    }
    let end_ns = events.last().map_or(0, |event| event.at_ns);
    let finished = builders.into_iter().map(|(worker, mut builder)| {
        builder.finish(end_ns);
        (worker, builder.lane)
    });
    finished.collect()
}

#[derive(Default)]
struct Builder {
    lane: Lane,
    attempt: Option<Attempt>,
    /// Freezes that are not over: fault and beginning.
    freezes_ns: Vec<(u32, u64)>,
}

/// The attempt that a worker is busy with.
#[derive(Clone, Copy)]
struct Attempt {
    op: u64,
    key: u32,
    asked_ns: u64,
    /// What follows is not drawn yet.
    drawn_ns: u64,
    stage: Stage,
    ttl_ms: u64,
    /// The earliest moment at which the lease can have run out.
    deadline_ns: u64,
    /// The latest.
    latest_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Holding,
    Releasing,
}

impl Builder {
    fn see(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        match event.what {
            What::Acquire {
                op, key, ttl_ms, ..
            } => {
                self.close(at_ns);
                self.attempt = Some(Attempt {
                    op,
                    key,
                    asked_ns: at_ns,
                    drawn_ns: at_ns,
                    stage: Stage::Waiting,
                    ttl_ms,
                    deadline_ns: 0,
                    latest_ns: 0,
                });
            }
            What::Granted {
                op,
                valid_ms,
                elapsed_ms,
                ..
            } => self.granted(op, at_ns, valid_ms, elapsed_ms),
            What::Extended {
                op,
                valid_ms,
                elapsed_ms,
                ..
            } => self.holding(op, at_ns, |attempt| {
                let (earliest_ns, latest_ns) = lease_end(attempt, at_ns, valid_ms, elapsed_ms);
                attempt.deadline_ns = attempt.deadline_ns.max(earliest_ns);
                attempt.latest_ns = attempt.latest_ns.max(latest_ns);
            }),
            What::Lost { op, .. } => self.holding(op, at_ns, |attempt| {
                attempt.deadline_ns = attempt.deadline_ns.min(at_ns);
                attempt.latest_ns = attempt.latest_ns.min(at_ns);
            }),
            What::Release { op, .. } => {
                self.holding(op, at_ns, |attempt| attempt.stage = Stage::Releasing);
            }
            What::StockChanged { .. } => self.mark(at_ns, Moment::Sold),
            What::FencedOff { .. } => self.mark(at_ns, Moment::FencedOff),
            What::WorkerDown { .. } => {
                self.finish(at_ns);
                self.mark(at_ns, Moment::Died);
            }
            What::Released { op, released, .. } => {
                if released {
                    self.mark(at_ns, Moment::Released);
                }
                self.answered(op, at_ns);
            }
            What::Refused { op, .. }
            | What::AcquireFailed { op, .. }
            | What::ReleaseFailed { op, .. } => self.answered(op, at_ns),
            _ => {}
        }
    }

    fn granted(&mut self, op: u64, at_ns: u64, valid_ms: Option<u64>, elapsed_ms: Option<u64>) {
        self.draw(at_ns);
        if let Some(attempt) = &mut self.attempt
            && attempt.op == op
            && attempt.stage == Stage::Waiting
        {
            attempt.stage = Stage::Holding;
            let (deadline_ns, latest_ns) = match valid_ms {
                Some(valid_ms) => lease_end(attempt, at_ns, valid_ms, elapsed_ms),
                None => lease_end(attempt, at_ns, attempt.ttl_ms, None),
            };
            attempt.deadline_ns = deadline_ns;
            attempt.latest_ns = latest_ns;
        }
    }

    /// Draws the hold of `op` up to now, and lets `change` it.
    fn holding(&mut self, op: u64, at_ns: u64, change: impl FnOnce(&mut Attempt)) {
        self.draw(at_ns);
        if let Some(attempt) = &mut self.attempt
            && attempt.op == op
            && attempt.stage == Stage::Holding
        {
            change(attempt);
        }
    }

    fn draw(&mut self, to_ns: u64) {
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        let from_ns = attempt.drawn_ns;
        attempt.drawn_ns = to_ns.max(from_ns);
        let attempt = *attempt;
        match attempt.stage {
            Stage::Waiting => self.stretch(&attempt, from_ns, to_ns, Doing::Waiting),
            Stage::Releasing => self.stretch(&attempt, from_ns, to_ns, Doing::Releasing),
            Stage::Holding => {
                let to_ns = to_ns.max(from_ns);
                let perhaps_ns = attempt.deadline_ns.clamp(from_ns, to_ns);
                let over_ns = attempt.latest_ns.clamp(perhaps_ns, to_ns);
                self.stretch(&attempt, from_ns, perhaps_ns, Doing::InLease);
                self.stretch(&attempt, perhaps_ns, over_ns, Doing::PerhapsPast);
                self.stretch(&attempt, over_ns, to_ns, Doing::PastLease);
            }
        }
    }

    fn stretch(&mut self, attempt: &Attempt, from_ns: u64, to_ns: u64, doing: Doing) {
        if from_ns < to_ns {
            self.lane.stretches.push(Stretch {
                from_ns,
                to_ns,
                op: attempt.op,
                key: attempt.key,
                doing,
            });
        }
    }

    fn mark(&mut self, at_ns: u64, what: Moment) {
        self.lane.marks.push(Mark { at_ns, what });
    }

    /// The attempt is over, if it is the one that is going on.
    fn answered(&mut self, op: u64, at_ns: u64) {
        if self.attempt.is_some_and(|attempt| attempt.op == op) {
            self.close(at_ns);
        }
    }

    fn close(&mut self, at_ns: u64) {
        self.draw(at_ns);
        self.attempt = None;
    }

    /// Ends the freezes of one fault, or all of them.
    fn thaw(&mut self, fault: Option<u32>, at_ns: u64) {
        let lane = &mut self.lane;
        self.freezes_ns.retain(|&(id, from_ns)| {
            let over = fault.is_none_or(|fault| fault == id);
            if over && from_ns < at_ns {
                lane.frozen_ns.push((from_ns, at_ns));
            }
            !over
        });
    }

    fn finish(&mut self, at_ns: u64) {
        self.close(at_ns);
        self.thaw(None, at_ns);
    }
}

/// The earliest and the latest moment at which a lease of `valid_ms` can run out that was reported
/// `elapsed_ms` after the request, and arrived at `at_ns`.
fn lease_end(attempt: &Attempt, at_ns: u64, valid_ms: u64, elapsed_ms: Option<u64>) -> (u64, u64) {
    let reported_ns = after_ms(attempt.asked_ns, elapsed_ms.unwrap_or(0));
    let earliest_ns = after_ms(reported_ns, valid_ms);
    match elapsed_ms {
        // What is left open is how long the request was on its way: too little to be seen.
        Some(_) => (earliest_ns, earliest_ns),
        None => (earliest_ns, after_ms(at_ns, valid_ms)),
    }
}

fn after_ms(at_ns: u64, ms: u64) -> u64 {
    at_ns.saturating_add(ms.saturating_mul(1_000_000))
}

/// Spans in which two or more workers hold `key` together, in the order of time.
pub(crate) fn overlaps(lanes: &BTreeMap<usize, Lane>, key: u32) -> Vec<(u64, u64)> {
    overlaps_by_key(lanes).remove(&key).unwrap_or_default()
}

/// Spans in which two or more workers hold a key together, in the order of time, for each key
/// that was held.
pub(crate) fn overlaps_by_key(lanes: &BTreeMap<usize, Lane>) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let mut steps: BTreeMap<u32, Vec<(u64, i32)>> = BTreeMap::new();
    for lane in lanes.values() {
        for stretch in lane.stretches.iter().filter(|s| s.doing.holds()) {
            let steps = steps.entry(stretch.key).or_default();
            steps.push((stretch.from_ns, 1));
            steps.push((stretch.to_ns, -1));
        }
    }
    let together = |(key, steps)| (key, together(steps));
    steps.into_iter().map(together).collect()
}

fn together(mut steps: Vec<(u64, i32)>) -> Vec<(u64, u64)> {
    // At the same moment ends come before beginnings: a hold's two halves do not overlap.
    steps.sort_unstable();
    let mut overlaps = Vec::new();
    let (mut holders, mut since_ns) = (0, 0);
    for (at_ns, step) in steps {
        let before = holders;
        holders += step;
        if before == 1 && holders == 2 {
            since_ns = at_ns;
        } else if before == 2 && holders == 1 && since_ns < at_ns {
            overlaps.push((since_ns, at_ns));
        }
    }
    overlaps
}

#[cfg(test)]
mod tests;
