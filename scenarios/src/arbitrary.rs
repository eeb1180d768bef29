//! Strategies that generate valid scenarios, fault plans included.
//!
//! Every generated value passes [`Scenario::parse`](crate::Scenario::parse) after it was written
//! out, and [`Scenario::check_for`](crate::Scenario::check_for) with the given number of nodes.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::fault::{
    Direction, EventKind, FaultKind, FaultPlan, Nodes, Phase, Resource, Trigger, Who, Workers,
};
use crate::rate::{Per, Rate};
use crate::scenario::{Judge, Persistence, Scenario, Topology, Update, Workload, WorkloadKind};
use crate::shift::Shift;
use crate::span::Span;

const KINDS: [FaultKind; 15] = [
    FaultKind::PauseClient,
    FaultKind::CrashClient,
    FaultKind::Delay,
    FaultKind::Drop,
    FaultKind::Hold,
    FaultKind::Cut,
    FaultKind::Partition,
    FaultKind::PauseNode,
    FaultKind::CrashNode,
    FaultKind::Evict,
    FaultKind::FlushAll,
    FaultKind::FlushScripts,
    FaultKind::Exhaust,
    FaultKind::ClockJump,
    FaultKind::ClockSkew,
];

/// Durations up to three leases.
pub fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        (0u64..3_000).prop_map(|ms| Span::Absolute(Duration::from_millis(ms))),
        (0u32..30).prop_map(|tenths| Span::Ttl(f64::from(tenths) / 10.0)),
    ]
}

/// Events that can happen to one of `workers` workers and `nodes` nodes.
pub fn trigger(workers: usize, nodes: usize) -> impl Strategy<Value = Trigger> {
    let on = prop_oneof![
        Just(EventKind::Acquire),
        Just(EventKind::Granted),
        Just(EventKind::StockRead),
        Just(EventKind::StockChanged),
        Just(EventKind::Release),
        Just(EventKind::Request),
        Just(EventKind::Reply),
    ];
    let command = option::of(prop_oneof![
        Just("SET".to_owned()),
        Just("expire".to_owned())
    ]);
    let during = option::of(prop_oneof![Just(Phase::Acquire), Just(Phase::Release)]);
    (
        on,
        option::of(0..workers),
        option::of(0i64..5),
        option::of(0..nodes),
        command,
        any::<bool>(),
        during,
        1u32..4,
    )
        .prop_map(
            |(on, worker, stock, node, command, names_key, during, nth)| {
                let wire = matches!(on, EventKind::Request | EventKind::Reply);
                let about_stock = matches!(on, EventKind::StockRead | EventKind::StockChanged);
                Trigger {
                    on,
                    worker,
                    stock: stock.filter(|_| about_stock),
                    node: node.filter(|_| wire),
                    command: command.filter(|_| wire),
                    names_key: names_key && wire,
                    success: false,
                    during: during.filter(|_| wire),
                    nth,
                }
            },
        )
}

/// A valid fault for a run of `workers` workers and `nodes` nodes.
pub fn fault(workers: usize, nodes: usize) -> impl Strategy<Value = FaultPlan> {
    (
        0..KINDS.len(),
        span(),
        option::of(trigger(workers, nodes)),
        (span(), span(), any::<bool>()),
        (vec(0..workers, 1..=workers), vec(0..nodes, 1..=nodes)),
        option::of(prop_oneof![
            Just(Direction::Request),
            Just(Direction::Reply)
        ]),
        option::of(1u32..4),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |(kind, at, when, (lasts, by, lasting), (on, at_nodes), direction, frames, bits)| {
                let kind = KINDS[kind];
                let (jittered, words, optional) = bits;
                let client = kind.is_of_a_client();
                let server = kind.is_of_a_node();
                let pause = matches!(kind, FaultKind::PauseClient | FaultKind::PauseNode);
                let framed = matches!(kind, FaultKind::Delay | FaultKind::Drop | FaultKind::Hold);
                let link = !client && !server;
                let workers = match (server, words) {
                    (true, _) => None,
                    (false, true) => Some(Workers::Word(Who::All)),
                    (false, false) => Some(Workers::List(on)),
                };
                let nodes = match (client, words) {
                    (true, _) => None,
                    (false, true) => Some(Nodes::Word(Who::All)),
                    (false, false) => Some(Nodes::List(at_nodes)),
                };
                FaultPlan {
                    kind,
                    at: when.is_none().then_some(at),
                    when,
                    duration: (pause || (may_last(kind) && lasting)).then_some(lasts),
                    workers,
                    nodes,
                    direction: direction.filter(|_| link && kind != FaultKind::Cut),
                    by: match kind {
                        FaultKind::Delay => Some(by.into()),
                        _ if kind.is_of_a_clock() => Some(leap(by, jittered)),
                        _ => None,
                    },
                    jitter: (kind == FaultKind::Delay && jittered).then_some(by),
                    frames: frames.filter(|_| framed),
                    // Every run has a first key.
                    keys: (kind == FaultKind::Evict && jittered).then(|| vec![0]),
                    what: (kind == FaultKind::Exhaust).then_some(if jittered {
                        Resource::Memory
                    } else {
                        Resource::Connections
                    }),
                    optional,
                }
            },
        )
}

/// A clock is set forward or back, but never by zero.
fn leap(by: Span, back: bool) -> Shift {
    let none = by.resolve(Duration::from_secs(1)).is_zero();
    let span = if none { Span::Ttl(1.5) } else { by };
    Shift { span, back }
}

/// False for faults that are over at once.
fn may_last(kind: FaultKind) -> bool {
    !matches!(
        kind,
        FaultKind::Cut | FaultKind::Evict | FaultKind::FlushAll | FaultKind::FlushScripts
    )
}

/// Arrival rate and duration of an open loop: up to a few dozen arrivals in total.
pub fn arrivals() -> impl Strategy<Value = (Rate, Span)> {
    let per = prop_oneof![
        (1u32..8).prop_map(|count| Rate {
            count: f64::from(count),
            per: Per::Ttl
        }),
        (1u32..20).prop_map(|count| Rate {
            count: f64::from(count) / 2.0,
            per: Per::Second
        }),
        (1u32..4).prop_map(|count| Rate {
            count: f64::from(count) / 256.0,
            per: Per::Millisecond
        }),
    ];
    let duration = prop_oneof![
        (1u64..3_000).prop_map(|ms| Span::Absolute(Duration::from_millis(ms))),
        (1u32..30).prop_map(|tenths| Span::Ttl(f64::from(tenths) / 10.0)),
    ];
    (per, duration)
}

/// A valid scenario with up to `faults` faults on `nodes` nodes.
pub fn scenario(nodes: usize, faults: usize) -> impl Strategy<Value = Scenario> {
    let open = option::weighted(0.3, arrivals());
    (2usize..5, 1usize..3, 1i64..6, any::<bool>(), span(), open).prop_flat_map(
        move |(workers, keys, stock, write, section, open)| {
            vec(fault(workers, nodes), 0..=faults).prop_map(move |faults| Scenario {
                name: "generated".into(),
                summary: "A generated plan.".into(),
                source: None,
                worlds: Vec::new(),
                topology: Topology {
                    nodes: Some(nodes),
                    min_nodes: None,
                    replicas: 0,
                    sentinels: 0,
                    persistence: Persistence::None,
                },
                workload: Workload {
                    kind: WorkloadKind::FlashSale,
                    workers,
                    keys,
                    stock,
                    arrivals: open.map(|(rate, _)| rate),
                    duration: open.map(|(_, duration)| duration),
                    update: if write {
                        Update::Write
                    } else {
                        Update::Decrement
                    },
                    section,
                    ..Workload::default()
                },
                faults,
                judge: Judge::default(),
                expect: std::collections::BTreeMap::new(),
            })
        },
    )
}
