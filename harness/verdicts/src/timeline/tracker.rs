//! The tracker: which attempt each event is about.
//!
//! Events after `acquire` name only worker and operation. The [`AttemptTracker`] keeps the attempts
//! that are under way, and reports each attempt together with what just happened to it, so that no
//! reader looks anything up. A worker has one attempt at a time, so finding the attempt is finding
//! the worker; a history in which a worker has several costs a scan of that worker's own.
//!
//! Events about an attempt that is over (an extension after the release, an answer after the kill)
//! change nothing that is judged, and are ignored.

use crate::history::{Event, EventKind};

use super::attempt::{Attempt, Followed};
use super::fault::{forgets, spoils_clocks, stops_clients};
use super::step::{HoldEnd, Step};

/// The attempts that are under way.
#[derive(Debug)]
pub struct AttemptTracker {
    workers: Vec<Vec<Attempt>>,
    /// When a node was last made to forget.
    forgot_ns: Option<u64>,
    /// True once some clock was wrong.
    clocks_spoilt: bool,
    /// The freezes that are on: which fault, and of which workers.
    freezes: Vec<(u32, Vec<usize>)>,
}

impl AttemptTracker {
    /// For a history with so many workers.
    pub fn new(workers: usize) -> Self {
        AttemptTracker {
            workers: vec![Vec::new(); workers],
            forgot_ns: None,
            clocks_spoilt: false,
            freezes: Vec::new(),
        }
    }

    /// Reads one event, and calls `see` for every step that an attempt makes by it. False if the
    /// event is about more than one attempt, or none; a reader should look at the event itself then.
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
                    self.frozen(at_ns, *id, workers);
                }
            }
            EventKind::FaultEnded { id } => self.thawed(at_ns, *id),
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

    /// An event that is about one attempt, if about any. False if none made a step by it.
    fn follow(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
        if let Some(mut attempt) = Attempt::asked(event) {
            let mut freezes = self.freezes.iter();
            if freezes.any(|(_, workers)| workers.contains(&attempt.worker)) {
                attempt.read.frozen();
            }
            see(&attempt, Step::Asked);
            if let Some(open) = self.workers.get_mut(attempt.worker) {
                open.push(attempt);
            }
            return true;
        }
        let found = match &event.what {
            EventKind::KeyChanged { why, .. } => why.command().map(|by| (by.worker, by.op)),
            what => what.attempt(),
        };
        let found = found.and_then(|(worker, op)| {
            let open = self.workers.get_mut(worker)?;
            let place = open.iter().rposition(|attempt| attempt.op == op)?;
            Some((open, place))
        });
        let Some((open, place)) = found else {
            return false;
        };
        let attempt = &mut open[place];
        let forgot = (self.forgot_ns).is_some_and(|at_ns| at_ns >= attempt.acquire_ns);
        let followed = attempt.follow(event, forgot || self.clocks_spoilt, &mut see);
        if followed == Followed::Over {
            open.swap_remove(place);
        }
        followed != Followed::Not
    }

    /// The history is over: every hold that is still open ends here.
    pub fn close(&mut self, at_ns: u64, mut see: impl FnMut(&Attempt, Step)) {
        for attempt in self.workers.iter_mut().flatten() {
            attempt.end(at_ns, HoldEnd::Open, &mut see);
        }
    }

    /// The attempts that are under way, worker by worker.
    pub fn under_way(&self) -> impl Iterator<Item = &Attempt> {
        self.workers.iter().flatten()
    }

    /// Workers are frozen: also those that are asked at this very moment.
    fn frozen(&mut self, at_ns: u64, id: u32, workers: &[usize]) {
        self.freezes.push((id, workers.to_vec()));
        for worker in workers {
            let open = self.workers.get_mut(*worker).into_iter().flatten();
            open.filter(|attempt| attempt.acquire_ns == at_ns && attempt.begin_ns.is_none())
                .for_each(|attempt| attempt.read.frozen());
        }
    }

    fn thawed(&mut self, at_ns: u64, id: u32) {
        let Some(index) = self.freezes.iter().position(|(freeze, _)| *freeze == id) else {
            return;
        };
        for worker in self.freezes.swap_remove(index).1 {
            let open = self.workers.get_mut(worker).into_iter().flatten();
            open.for_each(|attempt| attempt.read.thawed(at_ns));
        }
    }
}

/// One value for each attempt that is under way, by the number of the attempt. A worker has one attempt
/// at a time, so there are few of them: a list is searched sooner than a tree.
#[derive(Debug, Clone)]
pub struct UnderWay<T>(Vec<(u64, T)>);

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay(Vec::new())
    }
}

impl<T> UnderWay<T> {
    /// An attempt begins. What was known of one with the same number is forgotten.
    pub fn begin(&mut self, op: u64, value: T) {
        self.end(op);
        self.0.push((op, value));
    }

    /// What is known of an attempt; `None`: it is not under way.
    pub fn get(&self, op: u64) -> Option<&T> {
        let mut latest = self.0.iter().rev();
        latest.find(|known| known.0 == op).map(|known| &known.1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, op: u64) -> Option<&mut T> {
        let mut latest = self.0.iter_mut().rev();
        latest.find(|known| known.0 == op).map(|known| &mut known.1)
    }

    /// The attempt is over. Returns what was known of it.
    pub fn end(&mut self, op: u64) -> Option<T> {
        let index = self.0.iter().rposition(|known| known.0 == op)?;
        Some(self.0.swap_remove(index).1)
    }
}
