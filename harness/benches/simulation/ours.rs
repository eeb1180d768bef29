//! Picklock's side: runs of the simulation, judged by all checkers.

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

/// The totals of many runs.
#[derive(Debug, Default)]
pub struct Totals {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// Returns the simulations with consecutive seeds from zero.
fn simulations(scenario: &Scenario, lock: &LockFactory, runs: u64) -> Vec<Simulation> {
    let spec = lock.spec().clone();
    let simulation = |seed| Simulation {
        spec: RunSpec::simulated(spec.clone(), scenario.clone(), seed),
        lock: lock.clone(),
        logs_commands: false,
    };
    (0..runs).map(simulation).collect()
}

/// Simulates with consecutive seeds from zero, and judges each run.
fn judged<T: Send + 'static>(
    shape: &Shape,
    runs: u64,
    lock: &LockFactory,
    inspect: impl Fn(History) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let inspect = move |result: RunResult| {
        assert_held(&result.history);
        inspect(result.history)
    };
    let results = run_many(simulations(&shape.scenario(), lock, runs), inspect).into_iter();
    results
        .map(|result| result.expect("the simulation runs"))
        .collect()
}

/// Asserts that nothing is violated, because a violation would make the figures worthless.
fn assert_held(history: &History) {
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

/// Runs and judges the catalog's scenario with a crowd of buyers, with consecutive seeds from zero.
pub fn crowd(lock_name: &str, runs: u64) {
    let lock_name = picklock_impls::find(lock_name).expect("the lock_name is built in");
    let scenario = catalog::named("flash-sale").expect("the crowd is in the catalog");
    let lock = LockFactory::built_in(lock_name);
    let inspect = |result: RunResult| assert_held(&result.history);
    for result in run_many(simulations(&scenario, &lock, runs), inspect) {
        result.expect("the simulation runs");
    }
}

/// Runs one round with consecutive seeds from zero.
pub fn round(shape: &Shape, runs: u64) {
    judged(shape, runs, &LockFactory::built_in(redlock()), drop);
}

/// Makes the same runs, and counts commands instead of measuring time.
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

/// Asserts that the simulation is deterministic, because speed without that is worthless.
pub fn same_seed_same_bytes(shape: &Shape) {
    let bytes = || {
        judged(shape, 20, &LockFactory::built_in(redlock()), |history| {
            serde_json::to_string(&history.events).expect("a history is JSON")
        })
    };
    assert!(bytes() == bytes(), "two runs of one seed differ");
}

/// Sweeps Redlock on one thread, and prints the cost of a schedule.
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
    let elapsed_s = crate::timed(|| {
        let outcome = sweep
            .run(1, &AtomicBool::new(false), |_| {})
            .expect("it runs");
        schedules = outcome.schedules;
    });
    println!(
        "{schedules} schedules, {:.1} us each",
        elapsed_s * 1e6 / schedules as f64
    );
}
