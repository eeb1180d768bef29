//! Once: the job of a tick runs once.
//!
//! Two rules. Both are judged at the end, from the whole run:
//!
//! - No job begins twice for one tick. If the two holds overlap, the finding is that overlap, which has the causes of
//!   `exclusion`. Otherwise the lock was free again when the second client got the tick: a lock that is right about
//!   exclusion need not be right about this.
//! - No tick is skipped ([`skipped`]): a client requested the lock for it while no client held it or could still hold
//!   it, and no client began the job.
//!
//! The machine is never blamed on the lock: what a stall can have caused is `unknown`.

mod skipped;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Claim, FalseClaim, Judgement, Seen};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::thresholds::NOTABLE_DELAY;
use crate::history::{Event, EventKind, Header, TickSchedule};
use crate::timeline::{Attempt, Hold, Step, Timeline, ms};

/// A run of a job.
#[derive(Debug, Clone, Copy)]
struct Job {
    at_ns: u64,
    worker: usize,
    op: u64,
}

/// What was recorded about one tick of one key.
#[derive(Debug, Default)]
struct Tick {
    jobs: Vec<Job>,
    /// The attempts that were made for it.
    attempts: Vec<u64>,
}

/// The checker.
#[derive(Debug, Default)]
pub(in crate::check) struct Once {
    schedule: Option<TickSchedule>,
    keys: u32,
    workers: usize,
    ttl_ns: u64,
    /// How long a value can live after the last renewal.
    lease_ns: u64,
    min_hold_ns: u64,
    /// Number of nodes that may be away while the lock still has its quorum.
    spare_nodes: usize,
    /// The latest tick of each worker.
    current: HashMap<usize, u64>,
    /// By key and tick.
    ticks: BTreeMap<(u32, u64), Tick>,
    /// The stalls of the machine and of its parts, each from when to when.
    stalls: Vec<(u64, u64)>,
}

impl Once {
    /// Returns how long the machine stalled in this span, if that can have changed anything.
    fn stalled_ns(&self, (from_ns, until_ns): (u64, u64)) -> Option<u64> {
        let within =
            |(from, until): &(u64, u64)| until_ns.min(*until).saturating_sub(from_ns.max(*from));
        let total_ns: u64 = self.stalls.iter().map(within).sum();
        (total_ns >= NOTABLE_DELAY.part_of(self.ttl_ns)).then_some(total_ns)
    }

    /// Returns when a worker gets a tick.
    fn due_ns(&self, tick: u64, worker: usize) -> u64 {
        let due = |schedule: TickSchedule| schedule.due_ns(tick, worker, self.workers);
        self.schedule.map_or(0, due)
    }

    /// Returns what shows that a tick ran twice, or why that proves nothing. Returns `None` if it did not.
    fn rerun(
        &self,
        tick: u64,
        jobs: &[Job],
        holds: &[Hold],
    ) -> Option<Result<(u64, Seen), InconclusiveReason>> {
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
            return Some(Ok((second.at_ns, Seen::Overlap { holders, later })));
        }
        let due_ns = self.due_ns(tick, second.worker).min(first.at_ns);
        if let Some(stalled_ns) = self.stalled_ns((due_ns, second.at_ns)) {
            let stalled_ms = stalled_ns / 1_000_000;
            return Some(Err(InconclusiveReason::LateTick { tick, stalled_ms }));
        }
        let again = if first.worker == second.worker {
            " again"
        } else {
            ""
        };
        let statement = format!(
            "tick {tick} ran twice: worker {} began its job, and {:.3} s later worker {}{again}",
            first.worker,
            second.at_ns.saturating_sub(first.at_ns) as f64 / 1e9,
            second.worker,
        );
        let claim = FalseClaim {
            about: Claim::Rerun,
            ops: vec![first.op, second.op],
            statement,
        };
        Some(Ok((second.at_ns, Seen::FalseClaim(claim))))
    }
}

impl Checker for Once {
    const DESCRIPTION: Description = Description {
        letter: 'N',
        severity: 3,
        held: "the job of every tick ran once",
        violated: "a tick ran twice, or not",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/once.md"),
    };

    fn new(header: &Header) -> Self {
        let quorum = header.quorum.unwrap_or(header.nodes / 2 + 1);
        Once {
            schedule: header.schedule,
            keys: u32::try_from(header.keys.len()).unwrap_or(u32::MAX),
            workers: header.workers,
            ttl_ns: ms(header.ttl_ms),
            lease_ns: ms(header
                .ttl_ms
                .saturating_add(header.declares.lease_margin_ms)),
            min_hold_ns: ms(header.declares.min_hold_ms),
            spare_nodes: header.nodes.saturating_sub(quorum),
            ..Once::default()
        }
    }

    fn step(&mut self, _at_ns: u64, attempt: &Attempt, step: Step) {
        if step == Step::Requested
            && let Some(tick) = self.current.get(&attempt.worker)
        {
            let tick = self.ticks.entry((attempt.key, *tick)).or_default();
            tick.attempts.push(attempt.op);
        }
    }

    fn event(&mut self, event: &Event) {
        if self.schedule.is_none() {
            return;
        }
        let at_ns = event.at_ns;
        match event.what {
            EventKind::TickDue { worker, tick } => {
                self.current.insert(worker, tick);
            }
            EventKind::JobBegan {
                worker,
                op,
                key,
                tick,
            } => {
                let job = Job { at_ns, worker, op };
                self.ticks.entry((key, tick)).or_default().jobs.push(job);
            }
            EventKind::HarnessStalled { late_ms } => {
                self.stalls.push((at_ns.saturating_sub(ms(late_ms)), at_ns));
            }
            EventKind::NodeStalled { since_ns, .. } | EventKind::WorkerStalled { since_ns, .. } => {
                self.stalls.push((since_ns, at_ns));
            }
            EventKind::WorkerDelayed {
                since_ns,
                waited_ms,
                ..
            } => {
                let until_ns = since_ns.saturating_add(ms(waited_ms)).min(at_ns);
                self.stalls.push((since_ns, until_ns));
            }
            _ => {}
        }
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        let Some(schedule) = self.schedule else {
            return Judgement::NotApplicable;
        };
        let holds = timeline.holds();
        let (mut found, mut undecided) = (Vec::new(), None);
        let skips = skipped::Skips::new(&self, timeline);
        for key in 0..self.keys {
            for tick in 1..=schedule.ticks {
                let none = Tick::default();
                let of_tick = self.ticks.get(&(key, tick)).unwrap_or(&none);
                let seen = match of_tick.jobs.len() {
                    0 => skips.skipped(key, tick),
                    _ => self.rerun(tick, &of_tick.jobs, holds),
                };
                match seen {
                    Some(Ok(seen)) => found.push(seen),
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
