//! Handwritten searches.

use picklock_verdicts::record::{Placed, SearchRecord};
use serde_json::json;

/// Returns a sweep of a lock with one counterexample, and a heat map of two injection points and three
/// faults.
pub fn sweep(lock: &str) -> SearchRecord {
    let scenario = picklock_scenarios::catalog::named("gc-pause").unwrap();
    let document = json!({
        "format": "picklock-search/1", "picklock": "0.1.0", "kind": "sweep",
        "impl": { "name": lock, "version": "0.1.0" }, "backend": "sim", "seed": 1,
        "settings": { "workload": "short", "faults": ["clients"] },
        "depth": 1, "schedules": 41, "violations": 12, "exhaustive": true, "complete": true, "elapsed_s": 0.02,
        "coverage": {
            "injection_points": 14, "faults": ["pause-client for 1.5ttl"], "placements": 40, "pruned": 0, "missed": 0,
            "stuck": 0, "fixed": ["seed 1"],
        },
        "counterexamples": [{
            "property": "ownership", "cause": "stolen-release", "signature": ["pause-client at reply"],
            "faults": ["client 0 is frozen for 1.5 leases"], "schedules": 12, "first": 3,
            "story": ["0.412 s  client 0 deleted what client 1 had written"], "seed": 1,
            "scenario": scenario, "repro": "out/ownership-stolen-release-1/repro.toml",
            "reproduce": "picklock replay out/ownership-stolen-release-1/repro.toml",
        }],
        "reproduce": "picklock sweep --impl LOCK",
    });
    let mut record: SearchRecord = serde_json::from_value(document).unwrap();
    let placed = |injection_point: &str, fault: &str, schedules, counterexamples| Placed {
        injection_point: injection_point.into(),
        fault: fault.into(),
        schedules,
        counterexamples,
    };
    record.coverage.placed = vec![
        placed("granted", "crash-client", 8, 0),
        placed("granted", "pause-client", 8, 8),
        placed("reply EVALSHA during release", "drop", 12, 1),
        placed("reply EVALSHA during release", "pause-client", 12, 3),
    ];
    record
}
