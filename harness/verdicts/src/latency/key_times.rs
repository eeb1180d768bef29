//! Times that only the servers' keys show: how long a lock was free while somebody waited for it, and how
//! long its holder went on after it had lost it.
//!
//! A lock is free when no value stands in its key, or only those whose clients have had their releases
//! answered: a release that leaves the key costs the others a lease. This is a measure, and no verdict: it
//! goes by the expiries that were written, whatever faults do to clocks.

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, History, KeyChange, KeyCommand, KeyName};
use crate::key_history::Expiry;
use crate::timeline::ms;

/// What was measured, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyTimes {
    /// For each taking of a lock: how long it had been free since the one before, while somebody waited.
    pub(super) handover_us: Vec<u64>,
    /// For each holder that lost its lock and was told: how long after that.
    pub(super) loss_report_us: Vec<u64>,
}

/// The times of a history; `None`: it has no key history.
pub(super) fn key_times(history: &History) -> Option<KeyTimes> {
    let header = &history.header;
    if !header.key_history {
        return None;
    }
    let lock = Lock {
        quorum: header.quorum.unwrap_or(header.nodes / 2 + 1),
        ..Lock::default()
    };
    let mut reader = Reader {
        nodes: header.nodes.max(1),
        locks: vec![lock; header.keys.len()],
        attempts: vec![None; header.workers],
        ..Reader::default()
    };
    let over = |event: &Event| match event.what {
        EventKind::CommandsSent { .. } | EventKind::KeyLeft { .. } | EventKind::End { .. } => {
            Some(event.at_ns)
        }
        EventKind::Probe { waited_ms, .. } => Some(event.at_ns.saturating_sub(ms(waited_ms))),
        _ => None,
    };
    for event in &history.events {
        if let Some(ended_at_ns) = over(event) {
            // All workers are ended then.
            reader.close(ended_at_ns);
            break;
        }
        reader.event(event);
    }
    Some(reader.times)
}

/// A value that stands in a lock's key.
#[derive(Debug)]
struct Standing {
    lock: usize,
    node: usize,
    key: KeyName,
    op: u64,
    /// When it runs out.
    ended_at_ns: u64,
    /// Its client's release was answered: it keeps others out, and nobody holds the lock.
    let_go: bool,
}

/// What is known of a lock.
#[derive(Debug, Clone, Default)]
struct Lock {
    quorum: usize,
    /// All its grants rested on one node each: it needs no more.
    single: bool,
    /// A value stood in the key of its own name: other keys are none of its own.
    has_own_key: bool,
    asking: u32,
    /// Until when the time is counted.
    counted_ns: u64,
    /// How long it was free and wanted since it was last taken.
    free_ns: u64,
}

/// A client that holds a lock.
#[derive(Debug)]
struct Holder {
    op: u64,
    /// On how many nodes its value must stand.
    needed: usize,
    lost_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct Reader {
    nodes: usize,
    locks: Vec<Lock>,
    /// The latest attempt of each worker, its lock, and whether it waits for its answer.
    attempts: Vec<Option<(u64, usize, bool)>>,
    standing: Vec<Standing>,
    holders: Vec<Holder>,
    times: KeyTimes,
}

impl Reader {
    fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Acquire {
                worker, op, key, ..
            } => self.asked(at_ns, *worker, *op, *key as usize),
            EventKind::Granted { worker, op, .. } => {
                self.answered(at_ns, *worker);
                self.granted(at_ns, *op);
            }
            EventKind::Refused { worker, .. } | EventKind::AcquireFailed { worker, .. } => {
                self.answered(at_ns, *worker);
            }
            EventKind::WorkerDown { worker, .. } => {
                self.answered(at_ns, *worker);
                if let Some(Some((op, ..))) = self.attempts.get(*worker) {
                    self.holders.retain(|holder| holder.op != *op);
                }
            }
            EventKind::Lost { op, .. } | EventKind::ExtendRefused { op, .. } => {
                self.told(at_ns, *op);
            }
            EventKind::Released { op, released, .. } => {
                if *released == Some(false) {
                    self.told(at_ns, *op);
                }
                self.let_go(at_ns, *op);
            }
            EventKind::ReleaseFailed { op, .. } => self.let_go(at_ns, *op),
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
                let ended_at_ns = expiry.map_or(u64::MAX, Expiry::ended_at_ns);
                let ended_at_ns = value.as_ref().map(|_| ended_at_ns);
                self.key_changed(at_ns, (*node, key), ended_at_ns, why);
            }
            _ => {}
        }
    }

    fn asked(&mut self, at_ns: u64, worker: usize, op: u64, lock: usize) {
        self.answered(at_ns, worker);
        if lock < self.locks.len()
            && let Some(attempt) = self.attempts.get_mut(worker)
        {
            *attempt = Some((op, lock, true));
            self.count(at_ns, lock);
            self.locks[lock].asking += 1;
        }
    }

    fn answered(&mut self, at_ns: u64, worker: usize) {
        let attempt = self.attempts.get_mut(worker).and_then(Option::as_mut);
        if let Some((_, lock, asking)) = attempt
            && std::mem::take(asking)
        {
            let lock = *lock;
            self.count(at_ns, lock);
            self.locks[lock].asking -= 1;
        }
    }

    fn granted(&mut self, at_ns: u64, op: u64) {
        let standing = self.standing.iter();
        let mut of_it = standing.filter(|it| it.op == op && it.ended_at_ns > at_ns);
        let Some(first) = of_it.next() else { return };
        let single = of_it.next().is_none();
        let lock = &mut self.locks[first.lock];
        lock.single = single;
        let needed = if single { 1 } else { lock.quorum };
        self.holders.push(Holder {
            op,
            needed,
            lost_ns: None,
        });
    }

    /// The client's release was answered.
    fn let_go(&mut self, at_ns: u64, op: u64) {
        self.holders.retain(|holder| holder.op != op);
        for index in 0..self.standing.len() {
            if self.standing[index].op == op {
                self.count(at_ns, self.standing[index].lock);
                self.standing[index].let_go = true;
            }
        }
    }

    /// The client was told that it has no lock any more.
    fn told(&mut self, at_ns: u64, op: u64) {
        let Some(index) = self.holders.iter().position(|holder| holder.op == op) else {
            return;
        };
        self.record_loss(at_ns, op);
        let holder = self.holders.swap_remove(index);
        if let Some(lost_ns) = holder.lost_ns {
            let reported_at_ns = at_ns.saturating_sub(lost_ns);
            self.times
                .loss_report_us
                .push(reported_at_ns.div_ceil(1_000));
        }
    }

    /// If the values of an attempt that stand are too few by now, its client has lost the lock.
    fn record_loss(&mut self, at_ns: u64, op: u64) {
        let standing = &self.standing;
        let Some(holder) = self.holders.iter_mut().find(|holder| holder.op == op) else {
            return;
        };
        let of_it = standing.iter().filter(|it| it.op == op);
        let mut ended_at_ns: Vec<u64> = of_it.map(|it| it.ended_at_ns).collect();
        ended_at_ns.sort_unstable_by(|one, other| other.cmp(one));
        // As many as it needs stood until then.
        let last = holder.needed.saturating_sub(1);
        let until_ns = ended_at_ns.get(last).copied().unwrap_or(at_ns);
        if until_ns <= at_ns {
            holder.lost_ns.get_or_insert(until_ns);
        }
    }

    fn key_changed(
        &mut self,
        at_ns: u64,
        (node, key): (usize, &KeyName),
        ended_at_ns: Option<u64>,
        why: &KeyChange,
    ) {
        let place = |it: &Standing| it.node == node && it.key == *key;
        let known = self.standing.iter().position(place);
        let command = why.command();
        let lock = match known {
            Some(known) => Some(self.standing[known].lock),
            None => command.and_then(|by| self.lock_of(key, by, ended_at_ns)),
        };
        let Some(lock) = lock else { return };
        self.count(at_ns, lock);
        let was_free = self.free_from_ns(lock) <= at_ns;
        // What a release writes marks that the lock is free.
        let stands = ended_at_ns.filter(|_| command.is_none_or(|by| by.phase != Phase::Release));
        match (known, stands) {
            (Some(known), Some(ended_at_ns)) => self.rewritten(at_ns, known, command, ended_at_ns),
            (Some(known), None) => self.removed(at_ns, known, command),
            (None, Some(ended_at_ns)) => self.standing.push(Standing {
                lock,
                node,
                key: key.clone(),
                op: command.map_or(0, |by| by.op),
                ended_at_ns,
                let_go: false,
            }),
            (None, None) => {}
        }
        if was_free && self.free_from_ns(lock) > at_ns {
            self.handed_over(lock);
        }
    }

    /// The lock is taken, or the run is over.
    fn handed_over(&mut self, lock: usize) {
        let free_ns = std::mem::take(&mut self.locks[lock].free_ns);
        if free_ns > 0 {
            self.times.handover_us.push(free_ns.div_ceil(1_000));
        }
    }

    /// The lock for which a command has written a key; `None`: it is none of a lock's.
    fn lock_of(
        &mut self,
        key: &KeyName,
        by: &KeyCommand,
        ended_at_ns: Option<u64>,
    ) -> Option<usize> {
        if let KeyName::Lock(lock) = key {
            let lock = usize::try_from(*lock).ok()?;
            let state = self.locks.get_mut(lock)?;
            if !std::mem::replace(&mut state.has_own_key, true) {
                self.standing.retain(|it| it.lock != lock);
            }
            return Some(lock);
        }
        let (op, lock, _) = (*self.attempts.get(by.worker)?)?;
        let is_lock_value =
            by.phase == Phase::Acquire && ended_at_ns.is_some_and(|over| over != u64::MAX);
        (op == by.op && is_lock_value && !self.locks[lock].has_own_key).then_some(lock)
    }

    /// A value stands on: it is another one, or has another life.
    fn rewritten(&mut self, at_ns: u64, known: usize, by: Option<&KeyCommand>, ended_at_ns: u64) {
        let standing = &mut self.standing[known];
        let before = standing.op;
        let is_takeover = by.is_some_and(|by| by.phase == Phase::Acquire && by.op != before);
        // A waiter may set the expiry without taking the lock; then its value is the same, and it has no
        // grant. Whose it is decides only who can lose it.
        let was_over = standing.ended_at_ns <= at_ns;
        standing.ended_at_ns = ended_at_ns;
        if is_takeover && (was_over || standing.let_go) {
            standing.op = by.map_or(before, |by| by.op);
            standing.let_go = false;
            self.record_loss(at_ns, before);
        }
    }

    fn removed(&mut self, at_ns: u64, known: usize, by: Option<&KeyCommand>) {
        let op = self.standing[known].op;
        match by {
            // It has let go of it itself.
            Some(by) if by.op == op => self.holders.retain(|holder| holder.op != op),
            _ => {
                self.standing[known].ended_at_ns = self.standing[known].ended_at_ns.min(at_ns);
                self.record_loss(at_ns, op);
            }
        }
        self.standing.swap_remove(known);
    }

    /// Counts the time until now, in which nobody began or ceased to ask, and no key was changed.
    fn count(&mut self, now_ns: u64, lock: usize) {
        let free_ns = self.free_from_ns(lock);
        let state = &mut self.locks[lock];
        let from_ns = std::mem::replace(&mut state.counted_ns, now_ns).max(free_ns);
        if state.asking > 0 {
            state.free_ns += now_ns.saturating_sub(from_ns);
        }
    }

    /// From when on so few values stand, if no more are written, that a client can have the lock.
    fn free_from_ns(&self, lock: usize) -> u64 {
        let state = &self.locks[lock];
        let spare = match self.nodes == 1 || state.single {
            true => 0,
            false => self.nodes.saturating_sub(state.quorum),
        };
        let standing = self.standing.iter();
        let standing = standing.filter(|it| it.lock == lock && !it.let_go);
        let mut ended_at_ns: Vec<u64> = standing.map(|it| it.ended_at_ns).collect();
        if ended_at_ns.len() <= spare {
            return 0;
        }
        ended_at_ns.sort_unstable();
        ended_at_ns[ended_at_ns.len() - spare - 1]
    }

    /// The run is over: who still waits for a lock that is free has waited until now.
    fn close(&mut self, end_ns: u64) {
        for lock in 0..self.locks.len() {
            self.count(end_ns, lock);
            if self.locks[lock].asking > 0 {
                self.handed_over(lock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;

    const HEADER: &str = concat!(
        r#"{"format":"picklock-history/1","scenario":"calm","lock":"s","backend":"sim","#,
        r#""seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":1,"#,
        r#""update":"decrement","min_grants":0,"progress_within_ms":1000,"key_history":true}"#,
    );

    /// The times of these events: each its time in milliseconds and the rest of its line.
    fn times(events: &[(u64, &str)]) -> KeyTimes {
        let lines = events
            .iter()
            .map(|(at_ms, rest)| format!(r#"{{"at_ns":{},{rest}}}"#, at_ms * 1_000_000));
        let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(lines).collect();
        let history = read_history(lines.join("\n").as_bytes()).unwrap();
        key_times(&history).unwrap()
    }

    const ASKED: [&str; 2] = [
        r#""event":"acquire","worker":0,"op":1,"key":0,"ttl_ms":1000,"wait_ms":9000"#,
        r#""event":"acquire","worker":1,"op":2,"key":0,"ttl_ms":1000,"wait_ms":9000"#,
    ];
    const TAKEN: [&str; 2] = [
        r#""event":"key-changed","node":0,"key":0,"value":"a","ttl_ms":1000,"why":"command","worker":0,"op":1,"phase":"acquire","command":"SET""#,
        r#""event":"key-changed","node":0,"key":0,"value":"b","ttl_ms":1000,"why":"command","worker":1,"op":2,"phase":"acquire","command":"SET""#,
    ];
    const GRANTED: [&str; 2] = [
        r#""event":"granted","worker":0,"op":1,"token":"a""#,
        r#""event":"granted","worker":1,"op":2,"token":"b""#,
    ];
    const DELETED: &str = r#""event":"key-changed","node":0,"key":0,"why":"command","worker":0,"op":1,"phase":"release","command":"DEL""#;
    const RELEASE: &str = r#""event":"release","worker":0,"op":1"#;
    const RELEASED: &str = r#""event":"released","worker":0,"op":1,"released":true"#;
    const NOT_RELEASED: &str = r#""event":"released","worker":0,"op":1,"released":false"#;
    const EXPIRED: &str = r#""event":"key-changed","node":0,"key":0,"why":"expired""#;
    const OVER: &str = r#""event":"commands-sent","acquiring":9"#;

    #[test]
    fn time_counts_while_the_lock_is_free_and_somebody_waits() {
        let seen = times(&[
            (0, ASKED[0]),
            (2, TAKEN[0]),
            (3, GRANTED[0]),
            (10, RELEASE),
            (11, DELETED),
            // Nobody waits yet.
            (20, ASKED[1]),
            (45, TAKEN[1]),
        ]);
        assert_eq!(seen.handover_us, [2_000, 25_000]);
        assert_eq!(seen.loss_report_us, [0; 0]);
    }

    #[test]
    fn value_that_has_run_out_or_was_left_by_a_release_keeps_nobody_out() {
        let until_expiry = [
            (0, ASKED[0]),
            (0, TAKEN[0]),
            (0, ASKED[1]),
            // Its server sees it later.
            (1_400, EXPIRED),
            (1_500, TAKEN[1]),
        ];
        assert_eq!(times(&until_expiry).handover_us, [500_000]);
        let left = [
            (0, ASKED[0]),
            (0, TAKEN[0]),
            (1, GRANTED[0]),
            (1, ASKED[1]),
            (10, RELEASE),
            (20, RELEASED),
            (1_000, EXPIRED),
            (1_020, TAKEN[1]),
        ];
        assert_eq!(times(&left).handover_us, [1_000_000]);
    }

    #[test]
    fn who_sleeps_until_the_end_has_waited_until_the_workers_were_ended() {
        let asleep = [
            (0, ASKED[0]),
            (0, TAKEN[0]),
            (0, ASKED[1]),
            (3_000, OVER),
            (9_000, EXPIRED),
        ];
        assert_eq!(times(&asleep).handover_us, [2_000_000]);
    }

    #[test]
    fn holder_is_told_so_long_after_the_loss_of_its_lock() {
        let taken = [(0, ASKED[0]), (0, TAKEN[0]), (1, GRANTED[0]), (1, ASKED[1])];
        let evicted = [
            (
                200,
                r#""event":"key-changed","node":0,"key":0,"why":"evicted""#,
            ),
            (500, r#""event":"lost","worker":0,"op":1"#),
        ];
        assert_eq!(
            times(&[&taken[..], &evicted].concat()).loss_report_us,
            [300_000]
        );
        let outlived = [(1_300, RELEASE), (1_310, NOT_RELEASED)];
        assert_eq!(
            times(&[&taken[..], &outlived].concat()).loss_report_us,
            [310_000]
        );
        // It has let go of it itself, and nothing was lost.
        let released = [(300, RELEASE), (301, DELETED), (302, NOT_RELEASED)];
        assert_eq!(
            times(&[&taken[..], &released].concat()).loss_report_us,
            [0; 0]
        );
        let in_time = [(300, RELEASE), (301, NOT_RELEASED)];
        assert_eq!(
            times(&[&taken[..], &in_time].concat()).loss_report_us,
            [0; 0]
        );
    }
}
