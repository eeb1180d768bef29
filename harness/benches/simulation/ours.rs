//! Our side: runs of the simulation, judged by all checkers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::context::Plan;
use picklock_harness::history::History;
use picklock_harness::sim::{LockFactory, Simulation, run_many};
use picklock_impls::BuiltInLock;
use picklock_scenarios::catalog;

use crate::counted::{Behind, Count, Counted};
use crate::shape::{Shape, key};

pub fn redlock() -> &'static BuiltInLock {
    picklock_impls::find("redlock").expect("redlock is built in")
}

/// What many runs came to.
#[derive(Debug, Default)]
pub struct Totals {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// Simulates with seeds from zero on and judges each run.
fn judged<T: Send + 'static>(
    shape: &Shape,
    runs: u64,
    lock: &LockFactory,
    look: impl Fn(History) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let simulations = shape.plans(runs).into_iter().map(|plan| Simulation {
        plan,
        lock: lock.clone(),
        log: None,
    });
    let look = move |history: History| {
        must_hold(&history);
        look(history)
    };
    let ran = run_many(simulations.collect(), look).into_iter();
    ran.map(|ran| ran.expect("the simulation runs")).collect()
}

/// A violation would be news, and would make the figures worthless.
fn must_hold(history: &History) {
    let (seed, verdicts) = (history.header.seed, judge(history));
    for property in [Property::Exclusion, Property::Lease, Property::Resource] {
        let verdict = &verdicts[&property];
        assert_eq!(
            verdict.status,
            Status::Held,
            "seed {seed}, {property}: {:?}",
            verdict.story
        );
    }
}

/// The catalog's crowd, judged, with seeds from zero on.
pub fn crowd(strategy: &str, runs: u64) {
    let strategy = picklock_impls::find(strategy).expect("the strategy is built in");
    let scenario = catalog::named("flash-sale").expect("the crowd is in the catalog");
    let simulations = (0..runs).map(|seed| Simulation {
        plan: Plan {
            ttl: scenario.workload.ttl.resolve(Duration::ZERO),
            nodes: strategy.nodes,
            quorum: None,
            model: picklock_harness::model::ServerVersion::default(),
            keys: vec![key()],
            seed,
            options: BTreeMap::new(),
            scenario: scenario.clone(),
        },
        lock: LockFactory::of(strategy),
        log: None,
    });
    for ran in run_many(simulations.collect(), |history| must_hold(&history)) {
        ran.expect("the simulation runs");
    }
}

/// Runs with seeds from zero on.
pub fn round(shape: &Shape, runs: u64) {
    judged(shape, runs, &LockFactory::of(redlock()), drop);
}

/// The same runs, not timed but counted.
pub fn counted(shape: &Shape, runs: u64) -> Totals {
    let count = Count::default();
    let counting = Arc::clone(&count);
    let lock = LockFactory::new("redlock", shape.nodes, move |nodes, context| {
        let nodes = nodes
            .into_iter()
            .map(|node| Counted::around(node, &counting));
        Behind((redlock().build)(nodes.collect(), context))
    });
    let ends_ns = judged(shape, runs, &lock, |history| {
        history.events.last().map_or(0, |event| event.at_ns)
    });
    let virtual_time = ends_ns.into_iter().map(Duration::from_nanos).sum();
    Totals {
        commands: count.load(Ordering::Relaxed),
        virtual_time,
    }
}

/// Speed that is bought with determinism is worth nothing.
pub fn same_seed_same_bytes(shape: &Shape) {
    let bytes = || {
        judged(shape, 20, &LockFactory::of(redlock()), |history| {
            serde_json::to_string(&history.events).expect("a history is JSON")
        })
    };
    assert!(bytes() == bytes(), "two runs of one seed differ");
}
