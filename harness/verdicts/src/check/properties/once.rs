//! Once: the job of a tick runs once.
//!
//! Two rules are judged at the end, from the whole run:
//!
//! - No job begins twice for one tick. If the two holds overlap, the finding is that overlap, which has the causes of
//!   `exclusion`. Otherwise the lock was free again when the second client got the tick: a lock can guarantee exclusion
//!   and still let a job run twice.
//! - No tick is skipped ([`skipped`]): a client requested the lock for it while no client held it or could still hold
//!   it, and no client began the job.
//!
//! The lock is never blamed for the machine: if a stall may have caused the finding, the property is `unknown`.

mod recorded;
mod skipped;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Claim, FalseClaim, Judgement, Observation};
use crate::check::inconclusive::InconclusiveReason;
use crate::history::{Event, Header};
use crate::timeline::{Attempt, Hold, Step, Timeline, ms_from_ns};
use recorded::{Job, Recorded, Tick};

/// The checker.
#[derive(Debug, Default)]
pub(in crate::check) struct Once {
    recorded: Recorded,
}

impl Once {
    /// Returns the finding that the job of this tick ran twice, or the reason if that is inconclusive. Returns `None`
    /// if the job ran only once.
    fn rerun(
        &self,
        tick: u64,
        jobs: &[Job],
        holds: &[Hold],
    ) -> Option<Result<(u64, Observation), InconclusiveReason>> {
        let [first, second, ..] = jobs else {
            return None;
        };
        let hold = |job: &Job| holds.iter().find(|hold| hold.op == job.op);
        if let (Some(one), Some(other)) = (hold(first), hold(second))
            && one.overlaps(other)
        {
            let (holder, later) = if one.begin_ns <= other.begin_ns {
                (one.op, other.op)
            } else {
                (other.op, one.op)
            };
            let holders = vec![holder];
            return Some(Ok((second.at_ns, Observation::Overlap { holders, later })));
        }
        let due_ns = self.recorded.due_ns(tick, second.worker).min(first.at_ns);
        if let Some(stalled_ns) = self.recorded.stalled_ns((due_ns, second.at_ns)) {
            let stalled_ms = ms_from_ns(stalled_ns);
            return Some(Err(InconclusiveReason::LateTick { tick, stalled_ms }));
        }
        let again = if first.worker == second.worker {
            " again"
        } else {
            ""
        };
        let statement = format!(
            "tick {tick} ran twice: client {} began its job, and {:.3} s later client {}{again}",
            first.worker,
            second.at_ns.saturating_sub(first.at_ns) as f64 / 1e9,
            second.worker,
        );
        let claim = FalseClaim {
            about: Claim::Rerun,
            ops: vec![first.op, second.op],
            statement,
        };
        Some(Ok((second.at_ns, Observation::FalseClaim(claim))))
    }
}

impl Checker for Once {
    const DESCRIPTION: Description = Description {
        letter: 'N',
        severity: 3,
        held: "the job of every tick ran once",
        violated: "a tick ran twice, or not at all",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/once.md"),
    };

    fn new(header: &Header) -> Self {
        let recorded = Recorded::new(header);
        Once { recorded }
    }

    fn step(&mut self, _at_ns: u64, attempt: &Attempt, step: Step) {
        self.recorded.step(attempt, step);
    }

    fn event(&mut self, event: &Event) {
        self.recorded.event(event);
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        let Some(schedule) = self.recorded.schedule else {
            return Judgement::NotApplicable;
        };
        let holds = timeline.holds();
        let (mut found, mut undecided) = (Vec::new(), None);
        let skips = skipped::Skips::new(&self.recorded, timeline);
        for lock in 0..self.recorded.locks {
            for tick in 1..=schedule.ticks {
                let none = Tick::default();
                let of_tick = self.recorded.ticks.get(&(lock, tick)).unwrap_or(&none);
                let observation = match of_tick.jobs.len() {
                    0 => skips.skipped(lock, tick),
                    _ => self.rerun(tick, &of_tick.jobs, holds),
                };
                match observation {
                    Some(Ok(observation)) => found.push(observation),
                    Some(Err(reason)) => drop(undecided.get_or_insert(reason)),
                    None => {}
                }
            }
        }
        match undecided {
            Some(reason) if found.is_empty() => Judgement::Unknown(reason),
            _ => Judgement::from_observations(found),
        }
    }
}
