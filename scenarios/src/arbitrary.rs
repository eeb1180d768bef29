//! Strategies that generate valid scenarios, including fault plans.
//!
//! Every generated value passes [`Scenario::parse`](crate::Scenario::parse) after it has been written out, and
//! [`Scenario::check_for`](crate::Scenario::check_for) with the given number of nodes.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fault::{
    Affects, Direction, FaultKind, FaultPlan, Field, Phase, Resource, Selection, ServerError,
    Trigger, TriggerEvent, Who,
};
use crate::lease_duration::LeaseDuration;
use crate::rate::{Per, Rate};
use crate::scenario::{Judge, Scenario};
use crate::signed_duration::SignedDuration;
use crate::topology::Topology;
use crate::workload::{Seeds, Update, Workload};

/// Returns the kinds that a correct lock can survive and that suit generated scenarios, which have no replicas and
/// one client per process (so that a blocked task is the same as a pause).
fn kinds() -> Vec<FaultKind> {
    let can_be_survived = |kind: &FaultKind| FaultPlan::new(*kind).stock_fault().is_none();
    let is_suitable = |kind: &FaultKind| !kind.is_replicated() && *kind != FaultKind::PauseTask;
    let kinds = FaultKind::all().filter(|kind| is_suitable(kind) && can_be_survived(kind));
    kinds.collect()
}

/// Generates durations of up to three leases. `min` is in milliseconds, or in tenths of a lease.
fn span(min: u32) -> impl Strategy<Value = LeaseDuration> {
    prop_oneof![
        (min..3_000).prop_map(|ms| LeaseDuration::Absolute(Duration::from_millis(ms.into()))),
        (min..30).prop_map(|tenths| LeaseDuration::Ttl(f64::from(tenths) / 10.0)),
    ]
}

/// Generates triggers on events of `workers` workers and `nodes` nodes.
fn trigger(workers: usize, nodes: usize) -> impl Strategy<Value = Trigger> {
    let command = option::of(select(vec!["SET".to_owned(), "expire".to_owned()]));
    let phases = vec![Phase::Acquire, Phase::Extend, Phase::Release];
    let during = option::of(select(phases));
    (
        select(TriggerEvent::ALL.to_vec()),
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
                let proxy = matches!(on, TriggerEvent::Request | TriggerEvent::Reply);
                let about_stock =
                    matches!(on, TriggerEvent::StockRead | TriggerEvent::StockChanged);
                let acquiring = matches!(during, None | Some(Phase::Acquire));
                Trigger {
                    on,
                    worker,
                    stock: stock.filter(|_| about_stock),
                    node: node.filter(|_| proxy),
                    command: command.filter(|_| proxy),
                    names_key: names_key && proxy,
                    success: false,
                    releases: false,
                    takes: takes && on == TriggerEvent::Reply && acquiring,
                    during: during.filter(|_| proxy),
                    nth,
                }
            },
        )
}

/// Generates valid faults for a run of `workers` workers and `nodes` nodes.
fn fault(workers: usize, nodes: usize) -> impl Strategy<Value = FaultPlan> {
    let kinds = kinds();
    (
        0..kinds.len(),
        span(0),
        option::of(trigger(workers, nodes)),
        (span(0), span(0), any::<bool>()),
        (vec(0..workers, 1..=workers), vec(0..nodes, 1..=nodes)),
        option::of(select(vec![Direction::Request, Direction::Reply])),
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
                (jittered, all, optional),
            )| {
                let kind = kinds[kind];
                let selected = |list| {
                    if all {
                        Selection::Word(Who::All)
                    } else {
                        Selection::List(list)
                    }
                };
                let (what, error) = if jittered {
                    (Resource::Memory, ServerError::Readonly)
                } else {
                    (Resource::Connections, ServerError::Loading)
                };
                let by = match kind.affects() {
                    Affects::Links => by.into(),
                    Affects::Workers | Affects::Nodes => clock_shift(by, jittered),
                };
                let ends = kind.requires(Field::For) || lasting;
                FaultPlan {
                    at: when.is_none().then_some(at),
                    when,
                    duration: (kind.takes(Field::For) && ends).then_some(lasts),
                    workers: kind.takes(Field::Workers).then_some(selected(on)),
                    nodes: kind.takes(Field::Nodes).then_some(selected(at_nodes)),
                    direction: direction.filter(|_| kind.takes(Field::Direction)),
                    by: kind.takes(Field::By).then_some(by),
                    jitter: (kind.takes(Field::Jitter) && jittered).then_some(by.span),
                    frames: frames.filter(|_| kind.takes(Field::Frames)),
                    // Every run has a first key.
                    keys: (kind.takes(Field::Keys) && jittered).then(|| vec![0]),
                    what: kind.takes(Field::Resource).then_some(what),
                    error: kind.takes(Field::Error).then_some(error),
                    grace: (kind.takes(Field::Grace) && jittered).then_some(lasts),
                    optional,
                    ..FaultPlan::new(kind)
                }
            },
        )
}

/// Returns a shift of a clock forward or back, but never by zero.
fn clock_shift(by: LeaseDuration, back: bool) -> SignedDuration {
    let none = by.resolve(Duration::from_secs(1)).is_zero();
    let span = if none { LeaseDuration::Ttl(1.5) } else { by };
    SignedDuration { span, back }
}

/// Generates the arrival rate and duration of an open loop with up to a few dozen arrivals in total.
fn arrivals() -> impl Strategy<Value = (Rate, LeaseDuration)> {
    let rate = |count: u32, parts: f64, per: Per| Rate {
        count: f64::from(count) / parts,
        per,
    };
    let per = prop_oneof![
        (1u32..8).prop_map(move |count| rate(count, 1.0, Per::Ttl)),
        (1u32..20).prop_map(move |count| rate(count, 2.0, Per::Second)),
        (1u32..4).prop_map(move |count| rate(count, 256.0, Per::Millisecond)),
    ];
    (per, span(1))
}

/// Returns how often a holder extends, so that `times` extensions fit into a section of this length, or `None` if the
/// section is too short.
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

/// Generates valid scenarios with up to `faults` faults on `nodes` nodes.
pub fn scenario(nodes: usize, faults: usize) -> impl Strategy<Value = Scenario> {
    let open = option::weighted(0.3, arrivals());
    let section = (span(0), option::weighted(0.3, 1u32..4));
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
                    ..Topology::default()
                },
                workload: Workload {
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
