//! Generates arbitrary events of a history.

use picklock_scenarios::{BackendName, StockFault};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use picklock_verdicts::history::{
    Belated, Budget, ClockShift, EndReason, EndedBy, EventKind, Misbehaviour,
};

/// Numbers of workers and keys in the header of the histories.
pub(super) const WORKERS: usize = 3;
pub(super) const KEYS: u32 = 2;

/// Generates any event. A sequence of them need not be consistent.
pub(super) fn any_event() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        6 => acquiring(),
        3 => extending(),
        6 => working(),
        2 => run_event(),
        1 => loss(),
        1 => arrivals(),
    ]
}

fn belated() -> impl Strategy<Value = Option<Belated>> {
    let by = prop_oneof![
        Just(StockFault::LateWrite),
        Just(StockFault::LateCommit),
        Just(StockFault::UncheckedWrite),
    ];
    let belated = (by, any::<u64>()).prop_map(|(by, requested_at_ns)| Belated {
        by,
        requested_at_ns,
    });
    option::of(belated)
}

fn acquiring() -> impl Strategy<Value = EventKind> {
    let token = any::<String>();
    let worker_op = || (0..WORKERS, 0..6_u64);
    let times = (
        option::of(0..5_u64),
        option::of(any::<u64>()),
        option::of(0..9_u64),
    );
    let intended = option::of(any::<u64>());
    prop_oneof![
        (worker_op(), 0..KEYS, any::<(u64, u64, u32)>(), intended).prop_map(
            |((worker, op), key, (ttl_ms, wait_ms, weight), intended_ns)| EventKind::Acquire {
                worker,
                op,
                key,
                ttl_ms,
                wait_ms,
                intended_ns,
                weight
            }
        ),
        (worker_op(), token, times).prop_map(
            |((worker, op), token, (fence, valid_ms, elapsed_ms))| EventKind::Granted {
                worker,
                op,
                token,
                fence,
                valid_ms,
                elapsed_ms
            }
        ),
        worker_op().prop_map(|(worker, op)| EventKind::Cancel { worker, op }),
        worker_op().prop_map(|(worker, op)| EventKind::Refused { worker, op }),
        worker_op().prop_map(|(worker, op)| EventKind::SectionFailed { worker, op }),
        worker_op().prop_map(|(worker, op)| EventKind::InnerReleased { worker, op }),
        (worker_op(), any::<u64>()).prop_map(|((worker, op), ttl_ms)| EventKind::Reenter {
            worker,
            op,
            ttl_ms
        }),
        (worker_op(), any::<bool>()).prop_map(|((worker, op), granted)| EventKind::Reentered {
            worker,
            op,
            granted
        }),
        (worker_op(), any::<String>(), any::<bool>()).prop_map(
            |((worker, op), message, definite)| EventKind::AcquireFailed {
                worker,
                op,
                message,
                definite
            }
        ),
        (worker_op(), any::<u64>(), option::of(any::<u64>())).prop_map(
            |((worker, op), valid_ms, elapsed_ms)| EventKind::Extended {
                worker,
                op,
                valid_ms,
                elapsed_ms
            }
        ),
        worker_op().prop_map(|(worker, op)| EventKind::Lost { worker, op }),
    ]
}

fn extending() -> impl Strategy<Value = EventKind> {
    let worker_op = || (0..WORKERS, 0..6_u64);
    let times = (option::of(any::<u64>()), option::of(any::<u64>()));
    prop_oneof![
        (worker_op(), any::<u64>()).prop_map(|((worker, op), ttl_ms)| EventKind::Extend {
            worker,
            op,
            ttl_ms
        }),
        (worker_op(), any::<String>(), times).prop_map(
            |((worker, op), token, (valid_ms, elapsed_ms))| EventKind::ExtendGranted {
                worker,
                op,
                token,
                valid_ms,
                elapsed_ms
            }
        ),
        worker_op().prop_map(|(worker, op)| EventKind::Act { worker, op }),
        (worker_op(), any::<Option<u64>>()).prop_map(|((worker, op), epoch)| EventKind::MayAct {
            worker,
            op,
            epoch
        }),
        (worker_op(), any::<bool>()).prop_map(|((worker, op), definite)| EventKind::ActFailed {
            worker,
            op,
            message: "no answer".into(),
            definite
        }),
        worker_op().prop_map(|(worker, op)| EventKind::ExtendRefused { worker, op }),
        (worker_op(), any::<String>(), any::<bool>()).prop_map(
            |((worker, op), message, definite)| EventKind::ExtendFailed {
                worker,
                op,
                message,
                definite
            }
        ),
    ]
}

fn working() -> impl Strategy<Value = EventKind> {
    let worker_op = || (0..WORKERS, 0..6_u64);
    prop_oneof![
        (worker_op(), 0..KEYS, any::<i64>(), option::of(any::<u64>())).prop_map(
            |((worker, op), key, stock, as_of_ns)| EventKind::StockRead {
                worker,
                op,
                key,
                stock,
                as_of_ns
            }
        ),
        (worker_op(), 0..KEYS, any::<(i64, i64)>(), belated()).prop_map(
            |((worker, op), key, (from, to), belated)| EventKind::StockChanged {
                worker,
                op,
                key,
                from,
                to,
                belated
            }
        ),
        (worker_op(), 0..KEYS, any::<u64>(), any::<u64>()).prop_map(
            |((worker, op), key, fence, highest)| EventKind::FencedOff {
                worker,
                op,
                key,
                fence,
                highest
            }
        ),
        worker_op().prop_map(|(worker, op)| EventKind::Release { worker, op }),
        (worker_op(), any::<Option<bool>>(), option::of(any::<u64>())).prop_map(
            |((worker, op), released, last_command_ns)| EventKind::Released {
                worker,
                op,
                released,
                last_command_ns
            }
        ),
        (worker_op(), any::<String>(), any::<bool>()).prop_map(
            |((worker, op), message, definite)| EventKind::ReleaseFailed {
                worker,
                op,
                message,
                definite
            }
        ),
    ]
}

fn fault() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "failover",
        "crash-node",
        "pause-client",
        "clock-skew",
        "?",
    ])
}

fn began() -> impl Strategy<Value = EventKind> {
    let clock = (any::<i64>(), any::<bool>());
    let clock = option::of(clock.prop_map(|(by_ns, for_good)| ClockShift { by_ns, for_good }));
    (
        0..4_u32,
        fault(),
        any::<String>(),
        vec(0..WORKERS, 0..3),
        clock,
    )
        .prop_map(
            |(id, fault, detail, workers, clock)| EventKind::FaultBegan {
                id,
                fault: fault.into(),
                detail,
                workers,
                nodes: Vec::new(),
                clock,
                delay_ms: None,
            },
        )
}

fn run_event() -> impl Strategy<Value = EventKind> {
    let kind = prop::sample::select(vec![
        Misbehaviour::Garbage,
        Misbehaviour::Hung,
        Misbehaviour::Stopped,
        Misbehaviour::OutOfTurn,
    ]);
    let reason = prop::sample::select(vec![EndReason::SoldOut, EndReason::Interrupted]);
    let stocks = || vec(any::<i64>(), 0..4);
    prop_oneof![
        (0..WORKERS, any::<u32>()).prop_map(|(worker, incarnation)| EventKind::WorkerUp {
            worker,
            incarnation
        }),
        (0..WORKERS, any::<bool>(), any::<String>()).prop_map(|(worker, by_fault, reason)| {
            EventKind::WorkerDown {
                worker,
                by_fault,
                reason,
                ended_by: (!by_fault).then_some(EndedBy::Itself),
            }
        }),
        (0..WORKERS, kind, any::<String>()).prop_map(|(worker, kind, detail)| {
            EventKind::Misbehaved {
                worker,
                kind,
                detail,
            }
        }),
        began(),
        (0..4_u32).prop_map(|id| EventKind::FaultEnded { id }),
        (fault(), any::<String>(), any::<bool>()).prop_map(|(fault, reason, optional)| {
            EventKind::FaultMissed {
                fault: fault.into(),
                reason,
                optional,
                because: None,
            }
        }),
        (0..KEYS, any::<bool>(), any::<u64>()).prop_map(|(key, granted, waited_ms)| {
            EventKind::Probe {
                key,
                granted,
                waited_ms,
                permits: granted.then_some(2),
            }
        }),
        (any::<usize>(), 0..KEYS, -2..3_i64).prop_map(|(node, key, ttl_ms)| EventKind::KeyLeft {
            node,
            key,
            ttl_ms
        }),
        value(),
        (reason, stocks(), stocks()).prop_map(|(reason, stock_left, sold)| EventKind::End {
            reason,
            stock_left,
            sold
        }),
    ]
}

fn value() -> impl Strategy<Value = EventKind> {
    let holder = || ((0..WORKERS, 0..6_u64), 0..KEYS);
    prop_oneof![
        (holder(), any::<(i64, i64)>()).prop_map(|(((worker, op), key), (first, second))| {
            EventKind::ValueRead {
                worker,
                op,
                key,
                first,
                second,
            }
        }),
        (holder(), any::<i64>()).prop_map(|(((worker, op), key), to)| EventKind::ValueWritten {
            worker,
            op,
            key,
            to,
        }),
        (0..WORKERS, 0..4_u64).prop_map(|(worker, tick)| EventKind::TickDue { worker, tick }),
        (holder(), 0..4_u64).prop_map(|(((worker, op), key), tick)| EventKind::JobBegan {
            worker,
            op,
            key,
            tick,
        }),
    ]
}

fn loss() -> impl Strategy<Value = EventKind> {
    let node_and_reason = (any::<usize>(), any::<String>());
    prop_oneof![
        node_and_reason.prop_map(|(node, reason)| EventKind::NodeLost { node, reason }),
        any::<usize>().prop_map(|node| EventKind::UnrequestedFailover { node }),
        any::<u64>().prop_map(|late_ms| EventKind::HarnessStalled { late_ms }),
        (0..4_u32, any::<u64>(), option::of(0..WORKERS)).prop_map(|(id, took_ms, waiting)| {
            EventKind::FaultFired {
                id,
                took_ms,
                waiting,
            }
        }),
        (0..4_u32, any::<u64>()).prop_map(|(id, late_ms)| EventKind::FaultOverran { id, late_ms }),
        any::<String>().prop_map(|reason| EventKind::ResourceExhausted { reason }),
        (0..WORKERS, any::<String>())
            .prop_map(|(worker, sent)| EventKind::ClientGone { worker, sent }),
        not_done(),
        stall(),
        (0..4_u32, 0..WORKERS, option::of(0..5_usize), any::<u64>()).prop_map(
            |(id, worker, node, arrived_at_ns)| EventKind::FreezeBreach {
                id,
                worker,
                node,
                arrived_at_ns
            }
        ),
        (0..WORKERS, 0..6_u64, vec(any::<String>(), 0..3))
            .prop_map(|(worker, op, nodes)| EventKind::GrantWithoutCommand { worker, op, nodes }),
    ]
}

/// Generates events about stalls, refused clients and exhausted budgets.
fn stall() -> impl Strategy<Value = EventKind> {
    let budget = prop::sample::select(vec![
        Budget::Events,
        Budget::Memory,
        Budget::Steps,
        Budget::VirtualTime,
    ]);
    prop_oneof![
        (any::<usize>(), any::<u64>(), any::<u64>()).prop_map(|(node, since_ns, stalled_ms)| {
            EventKind::NodeStalled {
                node,
                since_ns,
                stalled_ms,
            }
        }),
        (0..WORKERS, any::<u64>(), any::<u64>()).prop_map(|(worker, since_ns, stalled_ms)| {
            EventKind::WorkerStalled {
                worker,
                since_ns,
                stalled_ms,
            }
        }),
        (0..WORKERS, any::<u64>(), any::<u64>()).prop_map(|(worker, since_ns, waited_ms)| {
            EventKind::WorkerDelayed {
                worker,
                since_ns,
                waited_ms,
            }
        }),
        (0..WORKERS, any::<u32>(), any::<u32>()).prop_map(|(worker, user, served)| {
            EventKind::ClientRefused {
                worker,
                user,
                served,
            }
        }),
        (budget, any::<u64>()).prop_map(|(budget, most)| EventKind::BudgetSpent { budget, most }),
    ]
}

/// Generates events about things that the harness or the clients could not do.
fn not_done() -> impl Strategy<Value = EventKind> {
    let words = any::<String>;
    prop_oneof![
        (words(), words()).prop_map(|(what, reason)| EventKind::FaultNotUndone { what, reason }),
        words().prop_map(|command| EventKind::CommandUnknown { command }),
        option::of(words()).prop_map(|unsupported| EventKind::ExtensionUntested { unsupported }),
        (any::<(u64, u64)>(), words()).prop_map(|((ttl_ms, granted_ms), message)| {
            EventKind::LeaseRefused {
                ttl_ms,
                granted_ms,
                message,
            }
        }),
        words().prop_map(|message| EventKind::SentinelsRefused { message }),
        (0..WORKERS, any::<(u64, u64)>()).prop_map(|(worker, (from_ns, until_ns))| {
            EventKind::SlowStart {
                worker,
                from_ns,
                until_ns,
            }
        }),
        words().prop_map(|reason| EventKind::StockUnknown { reason }),
        (words(), any::<bool>())
            .prop_map(|(reason, has_gap)| EventKind::KeyHistoryIncomplete { reason, has_gap }),
        words().prop_map(|reason| EventKind::FinalInspectionFailed { reason }),
        Just(EventKind::BackendUnsupported {
            backend: BackendName::Sim,
            supported: vec![BackendName::Process]
        }),
    ]
}

fn arrivals() -> impl Strategy<Value = EventKind> {
    any::<(u64, u64)>().prop_map(|(came, unserved)| EventKind::Arrivals { came, unserved })
}
