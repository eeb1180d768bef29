//! Histories in which commands and faults change the keys of the nodes at random.
//!
//! They follow the protocol, but not the rules of a lock: a worker writes any value on any node, and gets any answer.
//! All leases are reported exactly, so that only the servers are in question.

use proptest::collection::vec;
use proptest::prelude::*;

use picklock_scenarios::Phase;

use super::generate::header;
use picklock_verdicts::history::{
    ClockShift, Event, EventKind, History, KeyChange, KeyCommand, KeyName,
};

const WORKERS: usize = 3;
const TTL_MS: u64 = 40;
const MS: u64 = 1_000_000;

/// Generates histories of at most `max` choices, on one to three nodes, with one or two locks.
pub(super) fn key_histories(max: usize) -> impl Strategy<Value = History> {
    let later = prop_oneof![4 => 0..3_u64, 2 => Just(7), 1 => Just(23), 1 => Just(41)];
    // The worker, its action, the outcome, the node, and the delay in milliseconds.
    let choice = (0..WORKERS, any::<u8>(), any::<u8>(), 0..3_usize, later);
    (vec(choice, 0..max), 1..4_usize, 1..3_u32).prop_map(|(choices, nodes, locks)| {
        let mut player = Player::new(nodes, locks);
        for (worker, what, how, node, later) in choices {
            player.pass(later);
            player.act(worker, what, how, node % nodes);
        }
        let mut header = header(locks, nodes);
        (header.key_history, header.ttl_ms) = (true, TTL_MS);
        let events = player.events;
        History { header, events }
    })
}

/// The state of a worker's latest attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Asking,
    Holding,
    Releasing,
}

/// The content of a key.
#[derive(Debug, Clone)]
struct Stored {
    value: String,
    /// When it expires, by the node's clock.
    expires_ms: Option<i64>,
}

struct Player {
    now_ms: u64,
    states: [(State, u64, u64); WORKERS],
    next_op: u64,
    /// The lock of each worker's latest attempt.
    lock_of: [usize; WORKERS],
    locks: u32,
    /// The contents of the keys, by node and key.
    keys: Vec<Vec<Option<Stored>>>,
    /// By how much each node's clock is ahead.
    ahead_ms: Vec<i64>,
    events: Vec<Event>,
}

impl Player {
    fn new(nodes: usize, locks: u32) -> Self {
        Player {
            now_ms: 0,
            states: [(State::Idle, 0, 0); WORKERS],
            next_op: 1,
            lock_of: [0; WORKERS],
            locks,
            keys: vec![vec![None; 3]; nodes],
            ahead_ms: vec![0; nodes],
            events: Vec::new(),
        }
    }

    fn push(&mut self, what: EventKind) {
        let at_ns = self.now_ms * MS;
        self.events.push(Event { at_ns, what });
    }

    /// Lets time pass, and removes keys when they expire.
    fn pass(&mut self, later_ms: u64) {
        for _ in 0..=later_ms {
            self.expire();
            self.now_ms += 1;
        }
        self.now_ms -= 1;
    }

    fn expire(&mut self) {
        for node in 0..self.keys.len() {
            let clock_ms = self.now_ms as i64 + self.ahead_ms[node];
            for key in 0..3 {
                let stored = self.keys[node][key].as_ref();
                let expires_ms = stored.and_then(|stored| stored.expires_ms);
                if expires_ms.is_some_and(|expires_ms| expires_ms <= clock_ms) {
                    self.change(node, key, None, KeyChange::Expired);
                }
            }
        }
    }

    fn change(&mut self, node: usize, key: usize, to: Option<Stored>, why: KeyChange) {
        let clock_ms = self.now_ms as i64 + self.ahead_ms[node];
        let name = match key {
            2 => KeyName::Other("other".into()),
            lock => KeyName::Lock(lock as u32),
        };
        let expires_ms = to.as_ref().and_then(|stored| stored.expires_ms);
        self.push(EventKind::KeyChanged {
            node,
            key: name,
            value: to.as_ref().map(|stored| stored.value.as_str().into()),
            ttl_ms: expires_ms.map(|expires_ms| expires_ms - clock_ms),
            why,
        });
        self.keys[node][key] = to;
    }

    fn act(&mut self, worker: usize, what: u8, how: u8, node: usize) {
        let (state, op, requested_ms) = self.states[worker];
        if what >= 232 {
            return self.mishap(worker, how, node);
        }
        if what >= 170 && op > 0 {
            return self.command(worker, what, how, node);
        }
        let state = match state {
            State::Idle => {
                let op = self.next_op;
                self.next_op += 1;
                self.lock_of[worker] = usize::from(how) % self.locks as usize;
                self.push(EventKind::Acquire {
                    worker,
                    op,
                    key: u32::from(how) % self.locks,
                    ttl_ms: TTL_MS,
                    wait_ms: 100,
                    intended_ns: None,
                    weight: 1,
                });
                self.states[worker] = (State::Asking, op, self.now_ms);
                return;
            }
            State::Asking if what < 20 => {
                self.push(EventKind::Refused { worker, op });
                State::Idle
            }
            State::Asking => {
                self.take(worker, how);
                self.push(EventKind::Granted {
                    worker,
                    op,
                    token: format!("t{op}"),
                    fence: None,
                    valid_ms: Some([38, 40, 41, 43, 90, 1, 30, 42][usize::from(how % 8)]),
                    elapsed_ms: Some((self.now_ms - requested_ms) / (1 + u64::from(how) / 128)),
                });
                State::Holding
            }
            State::Holding if what < 90 => {
                let elapsed_ms = self.now_ms - requested_ms;
                self.push(EventKind::Extended {
                    worker,
                    op,
                    valid_ms: [38, 40, 43, 90][usize::from(how % 4)],
                    elapsed_ms: Some(elapsed_ms),
                });
                State::Holding
            }
            State::Holding => {
                self.push(EventKind::Release { worker, op });
                State::Releasing
            }
            State::Releasing => {
                self.push(EventKind::Released {
                    worker,
                    op,
                    released: Some(what < 120),
                    last_command_ns: None,
                });
                State::Idle
            }
        };
        self.states[worker] = (state, op, requested_ms);
    }

    /// Writes the values on which most grants rest: on the nodes that are free, or on all nodes.
    fn take(&mut self, worker: usize, how: u8) {
        let (_, op, _) = self.states[worker];
        let key = match how % 8 {
            7 => 0,
            _ => self.lock_of[worker],
        };
        for node in 0..self.keys.len() {
            let free = self.keys[node][key].is_none();
            if how.is_multiple_of(4) || !free && how >= 32 {
                continue;
            }
            let to = Stored {
                value: format!("t{op}"),
                expires_ms: Some(self.now_ms as i64 + self.ahead_ms[node] + 40),
            };
            let why = KeyChange::Command(KeyCommand {
                worker,
                op,
                phase: Phase::Acquire,
                command: "SET".into(),
                sent_ns: None,
                forwarded_at_ns: None,
                names_unread_value: false,
            });
            self.change(node, key, Some(to), why);
        }
    }

    /// Changes a key by a command of a worker, in any phase of its attempt.
    fn command(&mut self, worker: usize, what: u8, how: u8, node: usize) {
        let (state, op, _) = self.states[worker];
        let phase = match (state, how / 64) {
            (State::Asking, _) | (State::Holding, 0) => Phase::Acquire,
            (State::Holding, 1) => Phase::Extend,
            (State::Releasing, _) => Phase::Release,
            _ => Phase::Idle,
        };
        let key = [0, 0, 0, 1, 2][usize::from(how % 5)];
        let present = self.keys[node][key].clone();
        let clock_ms = self.now_ms as i64 + self.ahead_ms[node];
        let lives_ms = [40, 40, 40, 38, 41, 1000, 1002, 3][usize::from(what % 8)];
        let expires_ms = (!how.is_multiple_of(11)).then_some(clock_ms + lives_ms);
        let written = |value: String| Some(Stored { value, expires_ms });
        let (command, to) = match (what % 5, &present) {
            (0 | 1, None) => ("SETNX", written(format!("t{op}"))),
            (1, Some(_)) => ("SET", written(format!("t{op}"))),
            (2, _) => ("GETSET", written(format!("t{op} at {}", self.now_ms))),
            (3, Some(stored)) => ("PEXPIRE", written(stored.value.clone())),
            (_, Some(_)) => ("DEL", None),
            (_, None) => return,
        };
        let why = KeyChange::Command(KeyCommand {
            worker,
            op,
            phase,
            command: command.into(),
            sent_ns: None,
            forwarded_at_ns: None,
            names_unread_value: false,
        });
        self.change(node, key, to, why);
    }

    /// Injects a fault of a node, or kills a worker.
    fn mishap(&mut self, worker: usize, how: u8, node: usize) {
        let lost = match how % 8 {
            0 => KeyChange::Evicted,
            1 => KeyChange::Flushed,
            2 => KeyChange::Restarted,
            3 => KeyChange::FailedOver,
            4 => KeyChange::Found,
            5 => return self.leap(node, i64::from(how / 8) * 3 - 30),
            _ => {
                self.push(EventKind::WorkerDown {
                    worker,
                    by_fault: true,
                    reason: "killed".into(),
                    ended_by: None,
                });
                self.states[worker].0 = State::Idle;
                return;
            }
        };
        for key in 0..3 {
            if self.keys[node][key].is_some() {
                self.change(node, key, None, lost.clone());
            }
        }
    }

    fn leap(&mut self, node: usize, by_ms: i64) {
        let shift = ClockShift {
            by_ns: by_ms * MS as i64,
            for_good: true,
        };
        self.push(EventKind::FaultBegan {
            id: 1000 + self.events.len() as u32,
            fault: "clock-jump".into(),
            detail: "clock-jump".into(),
            workers: Vec::new(),
            nodes: vec![node],
            clock: Some(shift),
            delay_ms: None,
        });
        self.ahead_ms[node] += by_ms;
    }
}
