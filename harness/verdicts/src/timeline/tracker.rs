//! The tracker: finds the attempt that each event is about.
//!
//! Events after `acquire` name only worker and operation. The [`AttemptTracker`] keeps the attempts in progress, and
//! reports each attempt together with its step, so that no caller has to look it up. A worker normally has one attempt
//! at a time; if a history contains more, the tracker scans that worker's attempts.
//!
//! Events about an attempt that is over (an extension after the release, an answer after the kill) do not affect any
//! verdict, and are ignored.

use crate::history::{Event, EventKind};

use super::attempt::{Attempt, Followed};
use super::fault::{forgets, spoils_clocks, stops_clients};
use super::nanoseconds::ms;
use super::step::{HoldEnd, Step};

/// The attempts in progress.
#[derive(Debug)]
pub struct AttemptTracker {
    workers: Vec<Vec<Attempt>>,
    /// When a fault last made a node lose keys.
    forgot_ns: Option<u64>,
    /// Whether some clock has been wrong.
    clocks_spoilt: bool,
    /// The active freezes: fault id and workers.
    freezes: Vec<(u32, Vec<usize>)>,
    /// The last stall of the harness.
    stall_ns: (u64, u64),
}

impl AttemptTracker {
    /// Creates a tracker for a history with this number of workers.
    pub fn new(workers: usize) -> Self {
        AttemptTracker {
            workers: vec![Vec::new(); workers],
            forgot_ns: None,
            clocks_spoilt: false,
            freezes: Vec::new(),
            stall_ns: (0, 0),
        }
    }

    /// Processes one event, and calls `see` for every step that it causes. Returns `false` if the event is about
    /// several attempts, or about none; callers should then handle the event itself.
    pub fn event(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::FaultBegan {
                id, fault, workers, ..
            } => {
                if forgets(fault) {
                    self.forgot_ns = Some(at_ns);
                }
                self.clocks_spoilt |= spoils_clocks(fault);
                if stops_clients(fault) {
                    self.record_freeze(at_ns, *id, workers);
                }
            }
            EventKind::FaultEnded { id } => self.record_thaw(at_ns, *id),
            EventKind::HarnessStalled { late_ms } => {
                self.stall_ns = (at_ns.saturating_sub(ms(*late_ms)), at_ns);
                let open = self.workers.iter_mut().flatten();
                open.for_each(|attempt| attempt.read.record_stall(self.stall_ns));
            }
            EventKind::WorkerDown { worker, .. } => {
                let open = self.workers.get_mut(*worker).into_iter();
                for mut attempt in open.flat_map(|open| open.drain(..)) {
                    attempt.end(at_ns, HoldEnd::Killed, &mut see);
                    see(&attempt, Step::Gone);
                }
            }
            _ => return self.follow(event, see),
        }
        false
    }

    /// Processes an event that can be about one attempt. Returns `false` if no attempt made a step.
    fn follow(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
        if let Some(mut attempt) = Attempt::from_event(event) {
            let mut freezes = self.freezes.iter();
            if freezes.any(|(_, workers)| workers.contains(&attempt.worker)) {
                attempt.read.record_freeze();
            }
            see(&attempt, Step::Requested);
            if let Some(open) = self.workers.get_mut(attempt.worker) {
                open.push(attempt);
            }
            return true;
        }
        let attempt_id = match &event.what {
            EventKind::KeyChanged { why, .. } => why.command().map(|by| (by.worker, by.op)),
            what => what.attempt(),
        };
        let Some((worker, op)) = attempt_id else {
            return false;
        };
        let Some(open) = self.workers.get_mut(worker) else {
            return false;
        };
        let Some(index) = open.iter().rposition(|attempt| attempt.op == op) else {
            return false;
        };
        let attempt = &mut open[index];
        let forgot = (self.forgot_ns).is_some_and(|at_ns| at_ns >= attempt.acquire_ns);
        let followed = attempt.follow(event, forgot || self.clocks_spoilt, &mut see);
        if followed == Followed::Over {
            open.swap_remove(index);
        }
        followed != Followed::Not
    }

    /// Ends every active hold, because the history is over.
    pub fn close(&mut self, at_ns: u64, mut see: impl FnMut(&Attempt, Step)) {
        for attempt in self.workers.iter_mut().flatten() {
            attempt.end(at_ns, HoldEnd::Open, &mut see);
        }
    }

    /// Returns the attempts in progress, worker by worker.
    pub fn under_way(&self) -> impl Iterator<Item = &Attempt> {
        self.workers.iter().flatten()
    }

    /// Records that workers are frozen, including attempts that were requested in the same nanosecond.
    fn record_freeze(&mut self, at_ns: u64, id: u32, workers: &[usize]) {
        self.freezes.push((id, workers.to_vec()));
        for worker in workers {
            let open = self.workers.get_mut(*worker).into_iter().flatten();
            open.filter(|attempt| attempt.acquire_ns == at_ns && attempt.begin_ns.is_none())
                .for_each(|attempt| attempt.read.record_freeze());
        }
    }

    fn record_thaw(&mut self, at_ns: u64, id: u32) {
        let Some(index) = self.freezes.iter().position(|(freeze, _)| *freeze == id) else {
            return;
        };
        for worker in self.freezes.swap_remove(index).1 {
            // Another fault may still freeze the worker.
            if self
                .freezes
                .iter()
                .any(|(_, frozen)| frozen.contains(&worker))
            {
                continue;
            }
            let open = self.workers.get_mut(worker).into_iter().flatten();
            open.for_each(|attempt| attempt.read.record_thaw(at_ns, self.stall_ns));
        }
    }
}

/// One value per attempt in progress, by the attempt's number. There are few of them, so searching a list is faster
/// than a tree.
#[derive(Debug, Clone)]
pub struct UnderWay<T>(Vec<(u64, T)>);

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay(Vec::new())
    }
}

impl<T> UnderWay<T> {
    /// Starts an attempt. Replaces the value of an attempt with the same number.
    pub fn begin(&mut self, op: u64, value: T) {
        self.end(op);
        self.0.push((op, value));
    }

    /// Returns an attempt's value, or `None` if the attempt is not in progress.
    pub fn get(&self, op: u64) -> Option<&T> {
        let mut latest = self.0.iter().rev();
        latest.find(|known| known.0 == op).map(|known| &known.1)
    }

    /// Returns an attempt's value for modification, or `None` if the attempt is not in progress.
    pub fn get_mut(&mut self, op: u64) -> Option<&mut T> {
        let mut latest = self.0.iter_mut().rev();
        latest.find(|known| known.0 == op).map(|known| &mut known.1)
    }

    /// Ends an attempt, and returns its value.
    pub fn end(&mut self, op: u64) -> Option<T> {
        let index = self.0.iter().rposition(|known| known.0 == op)?;
        Some(self.0.swap_remove(index).1)
    }
}
