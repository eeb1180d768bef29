//! A scenario file: read, checked, and described as the front end would.

use std::hint::black_box;
use std::time::Duration;

use picklock_scenarios::{Scenario, Target};
use picklock_verdicts::record::scenario_hash;

/// Lease times for which relative durations are computed.
const LEASES: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_secs(10),
    Duration::from_secs(365 * 24 * 3600),
];

/// Reads a scenario.
///
/// # Panics
/// Panics if the scenario reads differently after it was written.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match Scenario::parse(text, "input.toml") {
        Ok(scenario) => use_it(&scenario),
        Err(error) => drop(error.to_string()),
    }
}

fn use_it(scenario: &Scenario) {
    for nodes in [1, 5] {
        if let Err(error) = scenario.check_for(nodes) {
            drop(error.to_string());
        }
    }
    for ttl in LEASES {
        resolve(scenario, ttl);
    }
    drop(scenario_hash(scenario));
    // A repro file contains the scenario.
    let written = toml::to_string(scenario).expect("a scenario that was read can be written");
    let again = Scenario::parse(&written, "written.toml");
    let again = again.expect("a scenario that was written can be read");
    assert_eq!(
        *scenario, again,
        "it reads differently after it was written"
    );
}

fn resolve(scenario: &Scenario, ttl: Duration) {
    let workload = &scenario.workload;
    let durations = [
        workload.limit.resolve(ttl),
        workload.command_timeout.resolve(ttl),
        scenario.judge.progress_within.resolve(ttl),
    ];
    black_box(durations);
    for fault in &scenario.faults {
        drop((fault.actions(), fault.lasts(), fault.needs()));
        black_box(fault.clock_shift_ns(ttl));
        black_box(fault.duration.map(|duration| duration.resolve(ttl)));
        let everybody = Target {
            workers: vec![0, 1],
            nodes: vec![0],
        };
        drop(fault.describe(&everybody, ttl));
        black_box(fault.kind.affects());
    }
}
