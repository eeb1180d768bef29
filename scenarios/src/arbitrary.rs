//! Strategies that generate valid scenarios, fault plans included.
//!
//! Every generated value passes [`Scenario::parse`](crate::Scenario::parse) after it was written
//! out, and [`Scenario::check_for`](crate::Scenario::check_for) with the given number of nodes.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::fault::{
    Direction, FaultKind, FaultPlan, Field, Phase, Resource, Selection, ServerError, Strikes,
    Trigger, TriggerEvent, Who,
};
use crate::lease_duration::LeaseDuration;
use crate::rate::{Per, Rate};
use crate::scenario::{Judge, Scenario};
use crate::signed_duration::SignedDuration;
use crate::topology::{Persistence, Topology};
use crate::workload::{Seeds, Update, Workload, WorkloadKind};

/// The kinds that need no replicas, as generated scenarios have none, and that a right lock can survive. They have one
/// client a process, too, for which a blocked task is a pause.
fn kinds() -> Vec<FaultKind> {
    let can_be_survived = |kind: &FaultKind| FaultPlan::of(*kind).stock_fault().is_none();
    let apt = |kind: &FaultKind| !kind.is_replicated() && *kind != FaultKind::PauseTask;
    let kinds = FaultKind::all().filter(|kind| apt(kind) && can_be_survived(kind));
    kinds.collect()
}

/// Durations up to three leases.
pub fn span() -> impl Strategy<Value = LeaseDuration> {
    prop_oneof![
        (0u64..3_000).prop_map(|ms| LeaseDuration::Absolute(Duration::from_millis(ms))),
        (0u32..30).prop_map(|tenths| LeaseDuration::Ttl(f64::from(tenths) / 10.0)),
    ]
}

/// Events that can happen to one of `workers` workers and `nodes` nodes.
pub fn trigger(workers: usize, nodes: usize) -> impl Strategy<Value = Trigger> {
    let on = prop_oneof![
        Just(TriggerEvent::Acquire),
        Just(TriggerEvent::Granted),
        Just(TriggerEvent::Extend),
        Just(TriggerEvent::Extended),
        Just(TriggerEvent::StockRead),
        Just(TriggerEvent::StockChanged),
        Just(TriggerEvent::Release),
        Just(TriggerEvent::Request),
        Just(TriggerEvent::Reply),
    ];
    let command = option::of(prop_oneof![
        Just("SET".to_owned()),
        Just("expire".to_owned())
    ]);
    let during = option::of(prop_oneof![
        Just(Phase::Acquire),
        Just(Phase::Extend),
        Just(Phase::Release)
    ]);
    (
        on,
        option::of(0..workers),
        option::of(0i64..5),
        option::of(0..nodes),
        command,
        any::<bool>(),
        during,
        (any::<bool>(), 1u32..4),
    )
        .prop_map(
            |(on, worker, stock, node, command, names_key, during, (takes, nth))| {
                let wire = matches!(on, TriggerEvent::Request | TriggerEvent::Reply);
                let about_stock =
                    matches!(on, TriggerEvent::StockRead | TriggerEvent::StockChanged);
                let acquiring = matches!(during, None | Some(Phase::Acquire));
                Trigger {
                    on,
                    worker,
                    stock: stock.filter(|_| about_stock),
                    node: node.filter(|_| wire),
                    command: command.filter(|_| wire),
                    names_key: names_key && wire,
                    success: false,
                    releases: false,
                    takes: takes && on == TriggerEvent::Reply && acquiring,
                    during: during.filter(|_| wire),
                    nth,
                }
            },
        )
}

/// A valid fault for a run of `workers` workers and `nodes` nodes.
pub fn fault(workers: usize, nodes: usize) -> impl Strategy<Value = FaultPlan> {
    let kinds = kinds();
    (
        0..kinds.len(),
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
            move |(
                kind,
                at,
                when,
                (lasts, by, lasting),
                (on, at_nodes),
                direction,
                frames,
                bits,
            )| {
                let kind = kinds[kind];
                let (jittered, words, optional) = bits;
                let workers = match words {
                    true => Selection::Word(Who::All),
                    false => Selection::List(on),
                };
                let nodes = match words {
                    true => Selection::Word(Who::All),
                    false => Selection::List(at_nodes),
                };
                let by = match kind.strikes() {
                    Strikes::Links => by.into(),
                    Strikes::Workers | Strikes::Nodes => clock_shift(by, jittered),
                };
                let ends = kind.requires(Field::For) || lasting;
                FaultPlan {
                    kind,
                    at: when.is_none().then_some(at),
                    when,
                    duration: (kind.takes(Field::For) && ends).then_some(lasts),
                    workers: kind.takes(Field::Workers).then_some(workers),
                    nodes: kind.takes(Field::Nodes).then_some(nodes),
                    direction: direction.filter(|_| kind.takes(Field::Direction)),
                    by: kind.takes(Field::By).then_some(by),
                    jitter: (kind.takes(Field::Jitter) && jittered).then_some(by.span),
                    frames: frames.filter(|_| kind.takes(Field::Frames)),
                    // Every run has a first key.
                    keys: (kind.takes(Field::Keys) && jittered).then(|| vec![0]),
                    what: kind.takes(Field::Resource).then_some(if jittered {
                        Resource::Memory
                    } else {
                        Resource::Connections
                    }),
                    error: kind.takes(Field::Error).then_some(if jittered {
                        ServerError::Readonly
                    } else {
                        ServerError::Loading
                    }),
                    scope: None,
                    optional,
                }
            },
        )
}

/// A clock is set forward or back, but never by zero.
fn clock_shift(by: LeaseDuration, back: bool) -> SignedDuration {
    let none = by.resolve(Duration::from_secs(1)).is_zero();
    let span = if none { LeaseDuration::Ttl(1.5) } else { by };
    SignedDuration { span, back }
}

/// Arrival rate and duration of an open loop: up to a few dozen arrivals in total.
pub fn arrivals() -> impl Strategy<Value = (Rate, LeaseDuration)> {
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
        (1u64..3_000).prop_map(|ms| LeaseDuration::Absolute(Duration::from_millis(ms))),
        (1u32..30).prop_map(|tenths| LeaseDuration::Ttl(f64::from(tenths) / 10.0)),
    ];
    (per, duration)
}

/// How often a holder extends during a section of this length. `None`: it never does, because
/// there is no time for it.
fn extend_within(section: LeaseDuration, times: u32) -> Option<LeaseDuration> {
    match section {
        LeaseDuration::Absolute(length) => {
            let extend = length / (times + 1);
            (!extend.is_zero()).then_some(LeaseDuration::Absolute(extend))
        }
        LeaseDuration::Ttl(factor) => {
            (factor > 0.0).then(|| LeaseDuration::Ttl(factor / f64::from(times + 1)))
        }
    }
}

/// A valid scenario with up to `faults` faults on `nodes` nodes.
pub fn scenario(nodes: usize, faults: usize) -> impl Strategy<Value = Scenario> {
    let open = option::weighted(0.3, arrivals());
    let section = (span(), option::weighted(0.3, 1u32..4));
    let bits = (any::<bool>(), prop::bool::weighted(0.1));
    (2usize..5, 1usize..3, 1i64..6, bits, section, open).prop_flat_map(
        move |(workers, keys, stock, (write, same), (section, extensions), open)| {
            vec(fault(workers, nodes), 0..=faults).prop_map(move |faults| Scenario {
                name: "generated".into(),
                summary: "A generated plan.".into(),
                source: None,
                measures: None,
                backends: Vec::new(),
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
                    seeds: if same { Seeds::Same } else { Seeds::Different },
                    section,
                    extend: extensions.and_then(|times| extend_within(section, times)),
                    ..Workload::default()
                },
                faults,
                judge: Judge::default(),
                expect: std::collections::BTreeMap::new(),
            })
        },
    )
}
