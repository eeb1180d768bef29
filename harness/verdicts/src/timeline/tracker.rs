//! The tracker: finds the attempt that each event is about.
//!
//! Events after `acquire` name only worker and operation. The [`AttemptTracker`] keeps the attempts in progress, and
//! reports each attempt together with its step, so that no caller has to look it up. A worker normally has one attempt
//! at a time, so its list is short and is searched linearly. Only longer lists have an index.
//!
//! Events about an attempt that is over (an extension after the release, an answer after the kill) do not affect any
//! verdict, and are ignored.

use std::collections::HashMap;

use crate::history::{Event, EventKind, Header};

use super::attempt::{Attempt, Followed};
use super::fault::{breaks_leases, spoils_clocks, stops_clients};
use super::nanoseconds::ns_from_ms;
use super::step::{HoldEnd, Step};
use super::work_count;

/// Maximum length of a list that is searched without an index.
const MAX_SEARCHED: usize = 16;

/// Length from which on a list of attempts no longer doubles when it is full.
const LONG_LIST: usize = 1024;

/// The attempts in progress.
#[derive(Debug)]
pub struct AttemptTracker {
    workers: Vec<OpenAttempts>,
    key_history: bool,
    /// Whether some leader has asked its lock for permission to act.
    have_leaders_asked: bool,
    /// When a fault last made a node lose keys.
    leases_broken_ns: Option<u64>,
    /// Whether some clock has been wrong.
    clocks_spoilt: bool,
    /// The active freezes: fault id and workers.
    freezes: Vec<(u32, Vec<usize>)>,
    /// The last stall of the harness.
    stall_ns: (u64, u64),
}

impl AttemptTracker {
    /// Creates a tracker for a history with this header.
    pub fn new(header: &Header) -> Self {
        AttemptTracker {
            workers: std::iter::repeat_with(OpenAttempts::default)
                .take(header.workers)
                .collect(),
            key_history: header.key_history,
            have_leaders_asked: false,
            leases_broken_ns: None,
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
                if breaks_leases(fault) {
                    self.leases_broken_ns = Some(at_ns);
                }
                self.clocks_spoilt |= spoils_clocks(fault);
                if stops_clients(fault) {
                    self.record_freeze(at_ns, *id, workers);
                }
            }
            EventKind::FaultEnded { id } => self.record_thaw(at_ns, *id),
            EventKind::HarnessStalled { late_ms } => {
                self.stall_ns = (at_ns.saturating_sub(ns_from_ms(*late_ms)), at_ns);
                let open = self.workers.iter_mut().flat_map(|open| &mut open.list);
                open.for_each(|attempt| attempt.read.record_stall(self.stall_ns));
            }
            EventKind::WorkerDown { worker, .. } => {
                let open = self.workers.get_mut(*worker).into_iter();
                for mut attempt in open.flat_map(OpenAttempts::take) {
                    attempt.end(at_ns, HoldEnd::Killed, &mut see);
                    see(&attempt, Step::Gone);
                }
            }
            EventKind::Acquire { .. } => return self.begin(event, see),
            EventKind::Act { .. } | EventKind::MayAct { .. } => {
                self.have_leaders_asked = true;
                return self.follow(event, see);
            }
            // Only leaders make a step when they access the stock.
            what if what.is_access() && !self.have_leaders_asked => {}
            _ => return self.follow(event, see),
        }
        false
    }

    /// Processes an event that begins an attempt. Returns `false` if it does not.
    fn begin(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
        let Some(mut attempt) = Attempt::from_event(event, self.key_history) else {
            return false;
        };
        let mut freezes = self.freezes.iter();
        if freezes.any(|(_, workers)| workers.contains(&attempt.worker)) {
            attempt.read.record_freeze();
        }
        match self.workers.get_mut(attempt.worker) {
            Some(open) => see(open.push(attempt), Step::Requested),
            None => see(&attempt, Step::Requested),
        }
        true
    }

    /// Processes an event that can be about an attempt in progress. Returns `false` if no attempt made a step.
    fn follow(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) -> bool {
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
        let Some(index) = open.position(op) else {
            return false;
        };
        let attempt = &mut open.list[index];
        let leases_broken =
            (self.leases_broken_ns).is_some_and(|at_ns| at_ns >= attempt.acquire_ns);
        let followed = attempt.follow(event, leases_broken || self.clocks_spoilt, &mut see);
        if followed == Followed::Over {
            open.remove(index);
        }
        followed != Followed::Not
    }

    /// Ends every active hold, because the history is over.
    pub fn close(&mut self, at_ns: u64, mut see: impl FnMut(&Attempt, Step)) {
        for attempt in self.workers.iter_mut().flat_map(|open| &mut open.list) {
            attempt.end(at_ns, HoldEnd::Open, &mut see);
        }
    }

    /// Returns the attempts in progress, worker by worker.
    pub fn under_way(&self) -> impl Iterator<Item = &Attempt> {
        self.workers.iter().flat_map(|open| &open.list)
    }

    /// Records that workers are frozen. This also affects attempts that were requested in the same nanosecond.
    fn record_freeze(&mut self, at_ns: u64, id: u32, workers: &[usize]) {
        self.freezes.push((id, workers.to_vec()));
        for worker in workers {
            let open = self.workers.get_mut(*worker).into_iter();
            open.flat_map(|open| &mut open.list)
                .filter(|attempt| attempt.acquire_ns == at_ns && attempt.begin_ns.is_none())
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
            let open = self.workers.get_mut(worker).into_iter();
            let open = open.flat_map(|open| &mut open.list);
            open.for_each(|attempt| attempt.read.record_thaw(at_ns, self.stall_ns));
        }
    }
}

/// The attempts of one worker that are in progress.
#[derive(Debug, Default)]
struct OpenAttempts {
    list: Vec<Attempt>,
    /// The position of each attempt in a list that is longer than [`MAX_SEARCHED`].
    positions: HashMap<u64, usize>,
}

impl OpenAttempts {
    /// Adds an attempt, and returns it.
    fn push(&mut self, attempt: Attempt) -> &Attempt {
        let length = self.list.len();
        // Doubling a long list would leave up to half of its memory unused.
        if length == self.list.capacity() && length >= LONG_LIST {
            self.list.reserve_exact(length / 8);
        }
        self.list.push(attempt);
        let newest = self.list.len() - 1;
        let unindexed = match newest {
            MAX_SEARCHED => 0,
            newest => newest,
        };
        if newest >= MAX_SEARCHED {
            let added = self.list[unindexed..].iter().zip(unindexed..);
            self.positions
                .extend(added.map(|(attempt, index)| (attempt.op, index)));
        }
        &self.list[newest]
    }

    /// Returns the position of an attempt, or `None` if it is not in progress.
    fn position(&self, op: u64) -> Option<usize> {
        if self.list.len() > MAX_SEARCHED {
            work_count::add(1);
            let known = self.positions.get(&op).copied();
            return known.filter(|index| self.list[*index].op == op);
        }
        work_count::add(self.list.len());
        self.list.iter().rposition(|attempt| attempt.op == op)
    }

    fn remove(&mut self, index: usize) {
        let (removed, last) = (self.list[index].op, self.list.len() - 1);
        // Unlike `swap_remove`, this does not copy the attempt, which is large.
        if index < last {
            self.list.swap(index, last);
        }
        self.list.truncate(last);
        if self.list.len() <= MAX_SEARCHED {
            self.positions.clear();
        } else {
            self.positions.remove(&removed);
            if let Some(moved) = self.list.get(index) {
                self.positions.insert(moved.op, index);
            }
        }
    }

    /// Removes and returns all attempts.
    fn take(&mut self) -> Vec<Attempt> {
        std::mem::take(self).list
    }
}

/// One value per attempt in progress, by the attempt's number. There are usually few of them, and a list is then faster
/// to search than a tree. Attempts beyond the first [`MAX_SEARCHED`] are stored in a map.
#[derive(Debug, Clone)]
pub struct UnderWay<T> {
    few: Vec<(u64, T)>,
    more: HashMap<u64, T>,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay {
            few: Vec::new(),
            more: HashMap::new(),
        }
    }
}

impl<T> UnderWay<T> {
    /// Starts an attempt. Replaces the value of an attempt with the same number.
    pub fn begin(&mut self, op: u64, value: T) {
        self.end(op);
        if self.few.len() < MAX_SEARCHED {
            self.few.push((op, value));
        } else {
            self.more.insert(op, value);
        }
    }

    /// Returns an attempt's value, or `None` if the attempt is not in progress.
    pub fn get(&self, op: u64) -> Option<&T> {
        work_count::add(self.few.len());
        let mut latest = self.few.iter().rev();
        let known = latest.find(|known| known.0 == op);
        known.map(|known| &known.1).or_else(|| self.more.get(&op))
    }

    /// Returns an attempt's value for modification, or `None` if the attempt is not in progress.
    pub fn get_mut(&mut self, op: u64) -> Option<&mut T> {
        work_count::add(self.few.len());
        let mut latest = self.few.iter_mut().rev();
        let known = latest.find(|known| known.0 == op);
        known
            .map(|known| &mut known.1)
            .or_else(|| self.more.get_mut(&op))
    }

    /// Returns `true` if no attempt is in progress.
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.more.is_empty()
    }

    /// Returns the values of all attempts in progress.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        let few = self.few.iter().map(|(_, value)| value);
        few.chain(self.more.values())
    }

    /// Ends an attempt, and returns its value.
    pub fn end(&mut self, op: u64) -> Option<T> {
        work_count::add(self.few.len());
        match self.few.iter().rposition(|known| known.0 == op) {
            Some(index) => Some(self.few.swap_remove(index).1),
            None if self.more.is_empty() => None,
            None => self.more.remove(&op),
        }
    }
}
