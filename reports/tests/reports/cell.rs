//! Handwritten cells of matrices. The tests of the lab include this file, too.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Cause, Property, Status, Verdict, Verdicts};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Counts, Latency, LockInfo, Tally};

/// Returns a violation with a cause and a story.
pub fn violated(cause: Cause, story: &[&str]) -> Verdict {
    Verdict {
        status: Status::Violated,
        cause: Some(cause),
        story: story.iter().map(|line| (*line).to_owned()).collect(),
        violations: 1,
        at_ns: Some(1),
        ..Verdict::held()
    }
}

/// Returns a cell of one run in which every property is held, except for those in `otherwise`.
pub fn cell(lock: &str, scenario: &str, otherwise: &[(Property, Verdict)]) -> Cell {
    let mut verdicts: Verdicts = Property::ALL
        .into_iter()
        .map(|property| (property, Verdict::held()))
        .collect();
    verdicts.insert(Property::Fencing, Verdict::not_applicable());
    verdicts.extend(otherwise.iter().cloned());
    let tally = verdicts.iter().map(|(property, verdict)| {
        let count = |status| u64::from(verdict.status == status);
        let causes = verdict.cause.iter();
        let tally = Tally {
            held: count(Status::Held),
            violated: count(Status::Violated),
            unknown: count(Status::Unknown),
            not_applicable: count(Status::NotApplicable),
            causes: causes.map(|cause| (*cause, 1)).collect(),
        };
        (*property, tally)
    });
    Cell {
        lock: LockInfo {
            name: lock.into(),
            version: "0.1.0".into(),
        },
        options: BTreeMap::new(),
        scenario: scenario.into(),
        summary: "What | happens.".into(),
        scenario_hash: "0".repeat(40),
        setting: None,
        redis: None,
        backend: picklock_scenarios::BackendName::Sim,
        runs: 1,
        seed: 1,
        tally: tally.collect(),
        verdicts,
        expected: BTreeMap::from([(Property::Lease, Expectation::Held)]),
        mismatches: Vec::new(),
        counts: Counts::default(),
        warnings: Vec::new(),
        reruns: 0,
        key_history: None,
        latency: BTreeMap::from([(
            "acquire".to_owned(),
            Latency {
                count: 3,
                p99_us: 670_000,
                ..Latency::default()
            },
        )]),
        error: None,
        elapsed_ms: None,
        run_dir: None,
        reproduce: format!("picklock scenario {scenario} --impl {lock} --backend sim --seed 1"),
    }
}
