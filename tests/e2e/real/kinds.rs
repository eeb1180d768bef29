//! The examples of `picklock init --kind`: each keeps the protocol, and a scenario of its kind finds no violation.
//! Every language has one of them here, and all of them in the longer tier.

use super::is_long;
use super::languages::{Adapter, keeps_the_protocol, languages, verdicts};

/// A scenario of each kind in which a correct lock violates nothing.
const KINDS: [(&str, &str); 4] = [
    ("semaphore", "permits"),
    ("rwlock", "read-write"),
    ("leader", "leader"),
    ("cron", "ticks-short-job"),
];

/// The kind whose example a language runs. Each kind has a language.
const RUNS: [(&str, &str); 7] = [
    ("bash", "rwlock"),
    ("csharp", "semaphore"),
    ("go", "rwlock"),
    ("java", "leader"),
    ("node", "semaphore"),
    ("python", "cron"),
    ("rust", "leader"),
];

#[test]
fn example_of_every_kind_is_correct() {
    let here = languages();
    std::thread::scope(|scope| {
        for (language, run) in RUNS.into_iter().filter(|(name, _)| here.contains(name)) {
            scope.spawn(move || {
                let kinds = KINDS.into_iter();
                let wanted = |kind: &str| kind == run || is_long() && exists(language, kind);
                for (kind, scenario) in kinds.filter(|(kind, _)| wanted(kind)) {
                    let adapter = Adapter::made(language, &format!("--kind {kind}"));
                    keeps_the_protocol(&adapter, language);
                    violates_nothing(&adapter, language, scenario);
                }
            });
        }
    });
}

/// Only bash cannot lead, because its module answers no `act`.
fn exists(language: &str, kind: &str) -> bool {
    (language, kind) != ("bash", "leader")
}

fn violates_nothing(adapter: &Adapter, language: &str, scenario: &str) {
    let (seen, outcome) = verdicts(scenario, adapter.lock(), &adapter.folder());
    for (property, verdict) in &seen {
        let is_right = ["held ", "not-applicable "].contains(&verdict.as_str());
        assert!(
            is_right,
            "{language}, {scenario}: {property}\n{}",
            outcome.all()
        );
    }
    assert_eq!(seen["exclusion"], "held ", "{language}, {scenario}");
}
