//! Histories that follow the protocol, but not the rules of a lock.

use picklock_scenarios::LockKind;
use proptest::collection::vec;
use proptest::prelude::*;

use picklock_verdicts::history::{Event, EventKind, FORMAT, Header, History};

const WORKERS: usize = 4;
const TTL_MS: u64 = 5;
const MS: u64 = 1_000_000;

/// A choice: the worker, its action, the outcome, and the delay in milliseconds.
type Choice = (usize, u8, u8, u64);

/// Generates histories of at most `max` choices.
pub(super) fn histories(max: usize) -> impl Strategy<Value = History> {
    (
        vec((0..WORKERS, any::<u8>(), any::<u8>(), 0..4_u64), 0..max),
        1..3_u32,
        any::<bool>(),
    )
        .prop_map(|(choices, keys, fenced)| play(&choices, keys, fenced, Mode::Any))
}

/// Generates histories of one key, in which every grant is released with success, and no worker is killed.
pub(super) fn complete_histories(max: usize) -> impl Strategy<Value = History> {
    vec((0..WORKERS, any::<u8>(), any::<u8>(), 0..3_u64), 0..max)
        .prop_map(|choices| play(&choices, 1, false, Mode::Complete))
}

/// Generates complete histories of two keys with long breaks.
pub(super) fn slow_histories(max: usize) -> impl Strategy<Value = History> {
    let later = prop_oneof![3 => 0..4_u64, 1 => Just(11), 1 => Just(17)];
    vec((0..WORKERS, any::<u8>(), any::<u8>(), later), 0..max)
        .prop_map(|choices| play(&choices, 2, false, Mode::Complete))
}

/// Generates histories with long breaks on three nodes. Faults keep some workers from some nodes, attempts and releases
/// end in doubt, and workers are killed.
pub(super) fn faulty_histories(max: usize) -> impl Strategy<Value = History> {
    let later = prop_oneof![3 => 0..4_u64, 1 => Just(11), 1 => Just(17)];
    vec((0..WORKERS, any::<u8>(), any::<u8>(), later), 0..max)
        .prop_map(|choices| play(&choices, 2, false, Mode::Faulty))
}

/// The kinds of events that a history may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Anything, with failovers.
    Any,
    /// Every grant is released with success, and no worker is killed.
    Complete,
    /// Anything, with partitions of three nodes.
    Faulty,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Idle,
    Asking { op: u64, since_ns: u64 },
    Holding { op: u64, requested_at_ns: u64 },
    Releasing { op: u64, since_ns: u64 },
}

struct Player {
    now_ns: u64,
    next_op: u64,
    next_fence: u64,
    keys: u32,
    fenced: bool,
    mode: Mode,
    events: Vec<Event>,
}

fn play(choices: &[Choice], keys: u32, fenced: bool, mode: Mode) -> History {
    let mut player = Player {
        now_ns: 0,
        next_op: 0,
        next_fence: 1,
        keys,
        fenced,
        mode,
        events: Vec::new(),
    };
    let mut states = [State::Idle; WORKERS];
    for &(worker, what, how, later) in choices {
        player.now_ns += later * MS;
        states[worker] = player.act(worker, states[worker], what, how);
    }
    if mode == Mode::Complete {
        for (worker, state) in states.into_iter().enumerate() {
            player.wind_up(worker, state);
        }
    }
    History {
        header: header(keys, if mode == Mode::Faulty { 3 } else { 1 }),
        events: player.events,
    }
}

pub(super) fn header(keys: u32, nodes: usize) -> Header {
    Header {
        format: FORMAT.into(),
        scenario: "generated".into(),
        lock: "none".into(),
        backend: picklock_scenarios::BackendName::Sim,
        seed: 0,
        workers: WORKERS,
        nodes,
        quorum: None,
        keys: (0..keys).map(|key| format!("k{key}")).collect(),
        capacity: 1,
        kind: LockKind::Mutex,
        ttl_ms: TTL_MS,
        stock_start: 3,
        update: picklock_scenarios::Update::Decrement,
        min_grants: 0,
        progress_within_ms: 3 * TTL_MS,
        max_overtakes: None,
        schedule: None,
        renews: false,
        declares: Default::default(),
        key_history: false,
        key_history_check: None,
    }
}

impl Player {
    fn push(&mut self, what: EventKind) {
        self.events.push(Event {
            at_ns: self.now_ns,
            what,
        });
    }

    fn complete(&self) -> bool {
        self.mode == Mode::Complete
    }

    fn act(&mut self, worker: usize, state: State, what: u8, how: u8) -> State {
        if !self.complete() && what % 16 == 15 {
            return self.mishap(worker, state, how);
        }
        match state {
            State::Idle => self.ask(worker, how),
            State::Asking { op, since_ns } => self.answer(worker, op, since_ns, what, how),
            State::Holding {
                op,
                requested_at_ns,
            } => {
                match what % 8 {
                    0 if !self.complete() => self.extend(worker, op, requested_at_ns, how),
                    1 if !self.complete() => self.push(EventKind::Lost { worker, op }),
                    _ => {
                        self.push(EventKind::Release { worker, op });
                        let since_ns = self.now_ns;
                        return State::Releasing { op, since_ns };
                    }
                }
                state
            }
            State::Releasing { op, since_ns } => self.released(worker, op, since_ns, what, how),
        }
    }

    fn ask(&mut self, worker: usize, how: u8) -> State {
        let op = self.next_op;
        self.next_op += 1;
        self.push(EventKind::Acquire {
            worker,
            op,
            key: u32::from(how) % self.keys,
            ttl_ms: TTL_MS,
            wait_ms: u64::from(how % 3),
            // Some attempts serve one of two buyers of an open loop, repeatedly.
            intended_ns: (how >= 192).then_some(u64::from(how % 2)),
            weight: 1,
        });
        State::Asking {
            op,
            since_ns: self.now_ns,
        }
    }

    fn answer(&mut self, worker: usize, op: u64, requested_at_ns: u64, what: u8, how: u8) -> State {
        match what % 8 {
            0 => self.push(EventKind::Refused { worker, op }),
            1 | 2 if !self.complete() => self.push(EventKind::AcquireFailed {
                worker,
                op,
                message: "timeout".into(),
                definite: how.is_multiple_of(2),
            }),
            _ => {
                self.grant(worker, op, requested_at_ns, how);
                return State::Holding {
                    op,
                    requested_at_ns,
                };
            }
        }
        State::Idle
    }

    fn grant(&mut self, worker: usize, op: u64, requested_at_ns: u64, how: u8) {
        let fence = self.next_fence;
        // Usually the counter increases; sometimes it stays or falls back.
        self.next_fence = match how % 7 {
            0 => fence,
            1 => fence.saturating_sub(2),
            _ => fence + 1,
        };
        let taken_ms = (self.now_ns - requested_at_ns) / MS;
        self.push(EventKind::Granted {
            worker,
            op,
            token: format!("token-{op}"),
            fence: self.fenced.then_some(fence),
            valid_ms: how.is_multiple_of(2).then_some(u64::from(how / 2) % 8),
            elapsed_ms: how.is_multiple_of(3).then_some(taken_ms / 2),
        });
    }

    fn extend(&mut self, worker: usize, op: u64, requested_at_ns: u64, how: u8) {
        let elapsed_ms = (self.now_ns - requested_at_ns) / MS;
        self.push(EventKind::Extended {
            worker,
            op,
            valid_ms: u64::from(how) % 7,
            elapsed_ms: (how < 200).then_some(elapsed_ms),
        });
    }

    fn released(&mut self, worker: usize, op: u64, sent_ns: u64, what: u8, how: u8) -> State {
        if !self.complete() && what.is_multiple_of(8) {
            self.push(EventKind::ReleaseFailed {
                worker,
                op,
                message: "timeout".into(),
                definite: false,
            });
            return State::Idle;
        }
        let span_ms = (self.now_ns - sent_ns) / MS + 1;
        self.push(EventKind::Released {
            worker,
            op,
            released: match (self.complete(), what % 8) {
                (false, 1) => Some(false),
                (false, 2) => None,
                _ => Some(true),
            },
            last_command_ns: (how >= 64).then_some(sent_ns + u64::from(how) % span_ms * MS),
        });
        State::Idle
    }

    /// Kills a worker, or begins or ends a fault.
    fn mishap(&mut self, worker: usize, state: State, how: u8) -> State {
        if self.mode == Mode::Faulty && how % 8 < 6 {
            self.partition(how);
            return state;
        }
        match how % 8 {
            0 => {
                self.push(EventKind::FaultBegan {
                    id: u32::from(how),
                    fault: "failover".into(),
                    detail: "failover of node 0".into(),
                    workers: Vec::new(),
                    nodes: vec![0],
                    clock: None,
                    delay_ms: None,
                });
                state
            }
            1 => {
                self.push(EventKind::FaultEnded { id: u32::from(how) });
                state
            }
            _ => {
                self.push(EventKind::WorkerDown {
                    worker,
                    by_fault: true,
                    reason: "killed".into(),
                    ended_by: None,
                });
                State::Idle
            }
        }
    }

    /// Begins or ends one of two partitions or delays. Each names some workers and nodes, or none.
    fn partition(&mut self, how: u8) {
        let id = u32::from(how % 2);
        if how & 32 != 0 {
            return self.push(EventKind::FaultEnded { id });
        }
        let some = |bits: u8, total: usize| (0..total).filter(|one| bits >> one & 1 == 1).collect();
        // A command under a delay arrives later; under a partition it does not arrive.
        let kind = ["partition", "delay"][usize::from(how >> 1 & 1)];
        self.push(EventKind::FaultBegan {
            id,
            fault: kind.into(),
            detail: kind.into(),
            workers: some(how >> 3, 2),
            nodes: some(how >> 6, 2),
            clock: None,
            delay_ms: None,
        });
    }

    /// Ends an active attempt or hold with success.
    fn wind_up(&mut self, worker: usize, state: State) {
        self.now_ns += MS;
        match state {
            State::Holding { op, .. } => {
                self.push(EventKind::Release { worker, op });
                self.wind_up(worker, State::Releasing { op, since_ns: 0 });
            }
            State::Releasing { op, .. } => self.push(EventKind::Released {
                worker,
                op,
                released: Some(true),
                last_command_ns: None,
            }),
            State::Asking { op, .. } => self.push(EventKind::Refused { worker, op }),
            State::Idle => {}
        }
    }
}
