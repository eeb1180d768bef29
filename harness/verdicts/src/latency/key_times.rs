//! Times that are visible only in the servers' keys: how long a lock was free while a client waited for it, and how
//! long a holder continued after it had lost the lock.
//!
//! A lock counts as free if its key has no value, or only values of clients whose releases have been answered: a
//! release that leaves its key makes the other clients wait for the rest of the lease. These times are measurements and
//! not verdicts. They use the expiries as written, regardless of faults on clocks.

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, History, KeyChange, KeyCommand, KeyName};
use crate::key_history::Expiry;
use crate::timeline::ns_from_ms;

/// The measured times in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyTimes {
    /// For each time that a lock was taken, how long it had been free since it was last taken while a client waited.
    pub(super) handover_us: Vec<u64>,
    /// For each holder that lost its lock and received a report of the loss, how long after the loss the report
    /// arrived.
    pub(super) loss_report_us: Vec<u64>,
}

/// Measures the times of a history, or returns `None` if it has no key history.
pub(super) fn key_times(history: &History) -> Option<KeyTimes> {
    let header = &history.header;
    if !header.key_history {
        return None;
    }
    let lock = Lock {
        quorum: header.quorum.unwrap_or(header.nodes / 2 + 1),
        ..Lock::default()
    };
    let mut reader = KeyTimesReader {
        nodes: header.nodes.max(1),
        locks: vec![lock; header.keys.len()],
        attempts: vec![None; header.workers],
        ..KeyTimesReader::default()
    };
    let over = |event: &Event| match event.what {
        EventKind::CommandsSent { .. } | EventKind::KeyLeft { .. } | EventKind::End { .. } => {
            Some(event.at_ns)
        }
        EventKind::Probe { waited_ms, .. } => {
            Some(event.at_ns.saturating_sub(ns_from_ms(waited_ms)))
        }
        _ => None,
    };
    for event in &history.events {
        if let Some(expires_at_ns) = over(event) {
            // All workers have ended by the time of this event.
            reader.close(expires_at_ns);
            break;
        }
        reader.event(event);
    }
    Some(reader.times)
}

/// A value in a lock's key.
#[derive(Debug)]
struct BlockingValue {
    lock: usize,
    node: usize,
    key: KeyName,
    op: u64,
    /// When it expires.
    expires_at_ns: u64,
    /// Whether its client's release was answered: the value then blocks other clients, and no client holds the lock.
    is_released: bool,
}

/// The state of a lock.
#[derive(Debug, Clone, Default)]
struct Lock {
    quorum: usize,
    /// Whether each grant so far rested on a single node. If so, one node decides whether the lock is free.
    single: bool,
    /// Whether the key with the lock's own name has held a value, so that no other key can be the lock's key.
    has_own_key: bool,
    asking: u32,
    /// The time up to which `free_ns` has been computed.
    counted_ns: u64,
    /// The time for which the lock was free and wanted since it was last taken.
    free_ns: u64,
}

/// A client that holds a lock.
#[derive(Debug)]
struct Holder {
    op: u64,
    /// Number of nodes that must have the client's value.
    needed: usize,
    lost_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct KeyTimesReader {
    nodes: usize,
    locks: Vec<Lock>,
    /// The latest attempt of each worker, its lock, and whether it is waiting for its answer.
    attempts: Vec<Option<(u64, usize, bool)>>,
    values: Vec<BlockingValue>,
    holders: Vec<Holder>,
    times: KeyTimes,
}

impl KeyTimesReader {
    fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Acquire {
                worker, op, key, ..
            } => self.record_request(at_ns, *worker, *op, *key as usize),
            EventKind::Granted { worker, op, .. } => {
                self.record_answer(at_ns, *worker);
                self.record_grant(at_ns, *op);
            }
            EventKind::Refused { worker, .. } | EventKind::AcquireFailed { worker, .. } => {
                self.record_answer(at_ns, *worker);
            }
            EventKind::WorkerDown { worker, .. } => {
                self.record_answer(at_ns, *worker);
                if let Some(Some((op, ..))) = self.attempts.get(*worker) {
                    self.holders.retain(|holder| holder.op != *op);
                }
            }
            EventKind::Lost { op, .. } | EventKind::ExtendRefused { op, .. } => {
                self.record_report(at_ns, *op);
            }
            EventKind::Released { op, released, .. } => {
                if *released == Some(false) {
                    self.record_report(at_ns, *op);
                }
                self.record_release(at_ns, *op);
            }
            EventKind::ReleaseFailed { op, .. } => self.record_release(at_ns, *op),
            EventKind::KeyChanged {
                node,
                key,
                value,
                ttl_ms,
                why,
            } => {
                let expiry = ttl_ms.map(|ttl_ms| Expiry {
                    set_ns: at_ns,
                    ttl_ms,
                });
                let expires_ns = expiry.map_or(u64::MAX, Expiry::expires_at_ns);
                let expires_at_ns = value.as_ref().map(|_| expires_ns);
                self.key_changed(at_ns, (*node, key), expires_at_ns, why);
            }
            _ => {}
        }
    }

    fn record_request(&mut self, at_ns: u64, worker: usize, op: u64, lock: usize) {
        self.record_answer(at_ns, worker);
        if lock < self.locks.len()
            && let Some(attempt) = self.attempts.get_mut(worker)
        {
            *attempt = Some((op, lock, true));
            self.count(at_ns, lock);
            self.locks[lock].asking += 1;
        }
    }

    fn record_answer(&mut self, at_ns: u64, worker: usize) {
        let attempt = self.attempts.get_mut(worker).and_then(Option::as_mut);
        if let Some((_, lock, asking)) = attempt
            && std::mem::take(asking)
        {
            let lock = *lock;
            self.count(at_ns, lock);
            self.locks[lock].asking -= 1;
        }
    }

    fn record_grant(&mut self, at_ns: u64, op: u64) {
        let values = self.values.iter();
        let mut own = values.filter(|value| value.op == op && value.expires_at_ns > at_ns);
        let Some(first) = own.next() else { return };
        let single = own.next().is_none();
        let lock = &mut self.locks[first.lock];
        lock.single = single;
        let needed = if single { 1 } else { lock.quorum };
        self.holders.push(Holder {
            op,
            needed,
            lost_ns: None,
        });
    }

    /// Records that the client's release was answered.
    fn record_release(&mut self, at_ns: u64, op: u64) {
        self.holders.retain(|holder| holder.op != op);
        for index in 0..self.values.len() {
            if self.values[index].op == op {
                self.count(at_ns, self.values[index].lock);
                self.values[index].is_released = true;
            }
        }
    }

    /// Records that the client received a report of its loss.
    fn record_report(&mut self, at_ns: u64, op: u64) {
        let Some(index) = self.holders.iter().position(|holder| holder.op == op) else {
            return;
        };
        self.record_loss(at_ns, op);
        let holder = self.holders.swap_remove(index);
        if let Some(lost_ns) = holder.lost_ns {
            let delay_ns = at_ns.saturating_sub(lost_ns);
            self.times.loss_report_us.push(delay_ns.div_ceil(1_000));
        }
    }

    /// Records the loss of a client's lock if too few nodes hold its value now.
    fn record_loss(&mut self, at_ns: u64, op: u64) {
        let values = &self.values;
        let Some(holder) = self.holders.iter_mut().find(|holder| holder.op == op) else {
            return;
        };
        let own = values.iter().filter(|value| value.op == op);
        let mut expires_at_ns: Vec<u64> = own.map(|value| value.expires_at_ns).collect();
        expires_at_ns.sort_unstable_by(|one, other| other.cmp(one));
        // Up to this time, enough nodes had the value.
        let last = holder.needed.saturating_sub(1);
        let until_ns = expires_at_ns.get(last).copied().unwrap_or(at_ns);
        if until_ns <= at_ns {
            holder.lost_ns.get_or_insert(until_ns);
        }
    }

    fn key_changed(
        &mut self,
        at_ns: u64,
        (node, key): (usize, &KeyName),
        expires_at_ns: Option<u64>,
        why: &KeyChange,
    ) {
        let place = |value: &BlockingValue| value.node == node && value.key == *key;
        let known = self.values.iter().position(place);
        let command = why.command();
        let lock = match known {
            Some(known) => Some(self.values[known].lock),
            None => command.and_then(|by| self.lock_of(key, by, expires_at_ns)),
        };
        let Some(lock) = lock else { return };
        self.count(at_ns, lock);
        let was_free = self.free_from_ns(lock) <= at_ns;
        // A value that a release writes marks the lock as free.
        let blocks_until_ns =
            expires_at_ns.filter(|_| command.is_none_or(|by| by.phase != Phase::Release));
        match (known, blocks_until_ns) {
            (Some(known), Some(expires_at_ns)) => {
                self.record_rewrite(at_ns, known, command, expires_at_ns)
            }
            (Some(known), None) => self.record_removal(at_ns, known, command),
            (None, Some(expires_at_ns)) => self.values.push(BlockingValue {
                lock,
                node,
                key: key.clone(),
                op: command.map_or(0, |by| by.op),
                expires_at_ns,
                is_released: false,
            }),
            (None, None) => {}
        }
        if was_free && self.free_from_ns(lock) > at_ns {
            self.record_handover(lock);
        }
    }

    /// Records a handover: the lock was taken, or the run is over.
    fn record_handover(&mut self, lock: usize) {
        let free_ns = std::mem::take(&mut self.locks[lock].free_ns);
        if free_ns > 0 {
            self.times.handover_us.push(free_ns.div_ceil(1_000));
        }
    }

    /// Returns the lock for which a command has written a key, or `None` if the key cannot hold a lock.
    fn lock_of(
        &mut self,
        key: &KeyName,
        by: &KeyCommand,
        expires_at_ns: Option<u64>,
    ) -> Option<usize> {
        if let KeyName::Lock(lock) = key {
            let lock = usize::try_from(*lock).ok()?;
            let state = self.locks.get_mut(lock)?;
            if !std::mem::replace(&mut state.has_own_key, true) {
                self.values.retain(|value| value.lock != lock);
            }
            return Some(lock);
        }
        let (op, lock, _) = (*self.attempts.get(by.worker)?)?;
        let is_lock_value =
            by.phase == Phase::Acquire && expires_at_ns.is_some_and(|over| over != u64::MAX);
        (op == by.op && is_lock_value && !self.locks[lock].has_own_key).then_some(lock)
    }

    /// Processes a new value or a new expiry in a key that already held a value.
    fn record_rewrite(
        &mut self,
        at_ns: u64,
        known: usize,
        by: Option<&KeyCommand>,
        expires_at_ns: u64,
    ) {
        let value = &mut self.values[known];
        let before = value.op;
        let is_takeover = by.is_some_and(|by| by.phase == Phase::Acquire && by.op != before);
        // A waiter may set the expiry without taking the lock. The value is then unchanged, and the waiter has no
        // grant. The owner of a value matters only for losses.
        let was_over = value.expires_at_ns <= at_ns;
        value.expires_at_ns = expires_at_ns;
        if is_takeover && (was_over || value.is_released) {
            value.op = by.map_or(before, |by| by.op);
            value.is_released = false;
            self.record_loss(at_ns, before);
        }
    }

    fn record_removal(&mut self, at_ns: u64, known: usize, by: Option<&KeyCommand>) {
        let op = self.values[known].op;
        match by {
            // The client removed its own value.
            Some(by) if by.op == op => self.holders.retain(|holder| holder.op != op),
            _ => {
                self.values[known].expires_at_ns = self.values[known].expires_at_ns.min(at_ns);
                self.record_loss(at_ns, op);
            }
        }
        self.values.swap_remove(known);
    }

    /// Adds the time since the last call to the lock's free time. Since then no client began or stopped waiting, and no
    /// key changed.
    fn count(&mut self, now_ns: u64, lock: usize) {
        let free_ns = self.free_from_ns(lock);
        let state = &mut self.locks[lock];
        let from_ns = std::mem::replace(&mut state.counted_ns, now_ns).max(free_ns);
        if state.asking > 0 {
            state.free_ns += now_ns.saturating_sub(from_ns);
        }
    }

    /// Returns when a client can acquire the lock because enough values have expired, provided that no further value is
    /// written.
    fn free_from_ns(&self, lock: usize) -> u64 {
        let state = &self.locks[lock];
        let spare = if self.nodes == 1 || state.single {
            0
        } else {
            self.nodes.saturating_sub(state.quorum)
        };
        let values = self.values.iter();
        let blocking = values.filter(|value| value.lock == lock && !value.is_released);
        let mut expires_at_ns: Vec<u64> = blocking.map(|value| value.expires_at_ns).collect();
        if expires_at_ns.len() <= spare {
            return 0;
        }
        expires_at_ns.sort_unstable();
        expires_at_ns[expires_at_ns.len() - spare - 1]
    }

    /// Ends the run. Clients that are still waiting for a free lock have waited until now.
    fn close(&mut self, end_ns: u64) {
        for lock in 0..self.locks.len() {
            self.count(end_ns, lock);
            if self.locks[lock].asking > 0 {
                self.record_handover(lock);
            }
        }
    }
}

#[cfg(test)]
mod tests;
