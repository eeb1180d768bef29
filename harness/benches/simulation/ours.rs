//! Our side: runs of the simulation, judged by all checkers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::History;
use picklock_harness::sim::{Simulation, Subject, run, run_many};
use picklock_impls::Strategy;

use crate::counted::{Behind, Count, Counted};
use crate::shape::Shape;

pub fn redlock() -> &'static Strategy {
    picklock_impls::find("redlock").expect("redlock is built in")
}

/// What many runs came to.
#[derive(Debug, Default)]
pub struct Totals {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// One run, judged; a violation would be news, and would make the figures worthless.
pub fn judged(shape: &Shape, seed: u64, subject: Subject) -> History {
    let plan = shape.plan(seed);
    let history = run(Simulation { plan, subject }).expect("the simulation runs");
    must_hold(seed, &history);
    history
}

fn must_hold(seed: u64, history: &History) {
    let verdicts = judge(history);
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

/// Runs with seeds from zero on.
pub fn round(shape: &Shape, runs: u64) {
    let simulations = (0..runs).map(|seed| Simulation {
        plan: shape.plan(seed),
        subject: Subject::of(redlock()),
    });
    let judged = |history: History| must_hold(history.header.seed, &history);
    for ran in run_many(simulations.collect(), judged) {
        ran.expect("the simulation runs");
    }
}

/// The same runs, not timed but counted.
pub fn counted(shape: &Shape, runs: u64) -> Totals {
    let count = Count::default();
    let mut virtual_time = Duration::ZERO;
    for seed in 0..runs {
        let count = Arc::clone(&count);
        let subject = Subject::new("redlock", shape.nodes, move |nodes, context| {
            let nodes = nodes.into_iter().map(|node| Counted::new(node, &count));
            Behind((redlock().build)(nodes.collect(), context))
        });
        let history = judged(shape, seed, subject);
        let end_ns = history.events.last().map_or(0, |event| event.at_ns);
        virtual_time += Duration::from_nanos(end_ns);
    }
    Totals {
        commands: count.load(Ordering::Relaxed),
        virtual_time,
    }
}

/// Speed that is bought with determinism is worth nothing.
pub fn same_seed_same_bytes(shape: &Shape) {
    for seed in 0..20 {
        let bytes = || {
            let history = judged(shape, seed, Subject::of(redlock()));
            serde_json::to_string(&history.events).expect("a history is JSON")
        };
        assert!(bytes() == bytes(), "seed {seed}: two runs differ");
    }
}
