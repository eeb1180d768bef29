//! Requests and their answers, paired by number.

use std::collections::HashMap;

use picklock_verdicts::history::{History, What};

/// A request and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) worker: usize,
    pub(super) key: u32,
    pub(super) asked_ns: u64,
    /// In an open loop: when whoever wanted it came.
    pub(super) intended_ns: Option<u64>,
    /// When it was answered, its worker was gone, or the history ended.
    pub(super) over_ns: u64,
    pub(super) asked: Asked,
    pub(super) outcome: Outcome,
}

impl Request {
    /// Since when it was wanted: in an open loop before it was asked for.
    pub(super) fn wanted_ns(&self) -> u64 {
        self.intended_ns
            .map_or(self.asked_ns, |intended_ns| intended_ns.min(self.asked_ns))
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    ToAcquire,
    ToRelease,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Granted, or released.
    Done,
    /// Refused: somebody else has the lock.
    Refused,
    /// It ended in an error.
    Failed,
    /// It was never answered.
    Unanswered,
}

/// All requests of a history, in the order in which they were over.
pub(super) fn operations(history: &History) -> Vec<Request> {
    let mut reader = Reader::default();
    for event in &history.events {
        reader.read(event.at_ns, &event.what);
    }
    let end_ns = super::end_ns(history);
    let mut open: Vec<usize> = reader.open.keys().copied().collect();
    // The map has no order of its own; the same history must always read the same.
    open.sort_unstable();
    for worker in open {
        reader.close(end_ns, worker, None, Outcome::Unanswered);
    }
    reader.over
}

#[derive(Default)]
struct Reader {
    over: Vec<Request>,
    /// A worker has one attempt at a time, and an attempt one request at a time.
    open: HashMap<usize, (u64, Request)>,
    /// What each worker asked for last: a release does not name its key.
    keys: HashMap<usize, u32>,
}

impl Reader {
    fn read(&mut self, at_ns: u64, what: &What) {
        match what {
            What::Acquire {
                worker,
                op,
                key,
                intended_ns,
                ..
            } => {
                self.keys.insert(*worker, *key);
                self.ask(at_ns, *worker, *op, Asked::ToAcquire, *intended_ns);
            }
            What::Release { worker, op } => {
                self.ask(at_ns, *worker, *op, Asked::ToRelease, None);
            }
            What::Granted { worker, op, .. } | What::Released { worker, op, .. } => {
                self.close(at_ns, *worker, Some(*op), Outcome::Done);
            }
            What::Refused { worker, op } => {
                self.close(at_ns, *worker, Some(*op), Outcome::Refused);
            }
            What::AcquireFailed { worker, op, .. } | What::ReleaseFailed { worker, op, .. } => {
                self.close(at_ns, *worker, Some(*op), Outcome::Failed);
            }
            What::WorkerDown { worker, .. } => {
                self.close(at_ns, *worker, None, Outcome::Unanswered);
            }
            _ => {}
        }
    }

    fn ask(&mut self, at_ns: u64, worker: usize, op: u64, asked: Asked, intended_ns: Option<u64>) {
        let request = Request {
            worker,
            key: self.keys.get(&worker).copied().unwrap_or(0),
            asked_ns: at_ns,
            intended_ns,
            over_ns: at_ns,
            asked,
            outcome: Outcome::Unanswered,
        };
        self.open.insert(worker, (op, request));
    }

    /// The worker's request is over, if it is the one of `op`.
    fn close(&mut self, at_ns: u64, worker: usize, op: Option<u64>, outcome: Outcome) {
        if let Some((open, request)) = self.open.get(&worker).copied()
            && op.is_none_or(|op| op == open)
        {
            self.open.remove(&worker);
            self.over.push(Request {
                over_ns: at_ns,
                outcome,
                ..request
            });
        }
    }
}
