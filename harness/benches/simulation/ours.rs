//! Our side: runs of the simulation, judged by all checkers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::History;
use picklock_harness::run::RunResult;
use picklock_harness::search::fault_model::Group;
use picklock_harness::search::{Sweep, Target, ViolationFilter, workload};
use picklock_harness::sim::{LockFactory, Simulation, run_many};
use picklock_harness::spec::RunSpec;
use picklock_impls::BuiltInLock;
use picklock_scenarios::{Scenario, catalog};

use crate::counted::{Behind, Count, Counted};
use crate::shape::Shape;

pub fn redlock() -> &'static BuiltInLock {
    picklock_impls::find("redlock").expect("redlock is built in")
}

/// What many runs came to.
#[derive(Debug, Default)]
pub struct Totals {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// The runs with seeds from zero on.
fn simulations(scenario: &Scenario, lock: &LockFactory, runs: u64) -> Vec<Simulation> {
    let spec = lock.spec(&BTreeMap::new());
    let simulation = |seed| Simulation {
        spec: RunSpec::simulated(spec.clone(), scenario.clone(), seed),
        lock: lock.clone(),
        logs_commands: false,
    };
    (0..runs).map(simulation).collect()
}

/// Simulates with seeds from zero on and judges each run.
fn judged<T: Send + 'static>(
    shape: &Shape,
    runs: u64,
    lock: &LockFactory,
    look: impl Fn(History) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let look = move |result: RunResult| {
        must_hold(&result.history);
        look(result.history)
    };
    let ran = run_many(simulations(&shape.scenario(), lock, runs), look).into_iter();
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
    let lock = LockFactory::built_in(strategy);
    let look = |result: RunResult| must_hold(&result.history);
    for ran in run_many(simulations(&scenario, &lock, runs), look) {
        ran.expect("the simulation runs");
    }
}

/// Runs with seeds from zero on.
pub fn round(shape: &Shape, runs: u64) {
    judged(shape, runs, &LockFactory::built_in(redlock()), drop);
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
        judged(shape, 20, &LockFactory::built_in(redlock()), |history| {
            serde_json::to_string(&history.events).expect("a history is JSON")
        })
    };
    assert!(bytes() == bytes(), "two runs of one seed differ");
}

/// A sweep of Redlock on one thread: what a search pays for a schedule.
pub fn sweep() {
    let sweep = Sweep {
        target: Target::new(LockFactory::built_in(redlock())),
        base: workload::named("short")
            .expect("it is there")
            .expect("it is valid"),
        seed: 1,
        depth: 1,
        groups: vec![Group::Clients, Group::Network],
        wanted: ViolationFilter::default(),
        shard: (1, 1),
    };
    let mut schedules = 0;
    let took = crate::timed(|| {
        let tried = sweep
            .run(1, &AtomicBool::new(false), |_| {})
            .expect("it runs");
        schedules = tried.schedules;
    });
    println!(
        "{schedules} schedules, {:.1} us each",
        took * 1e6 / schedules as f64
    );
}
