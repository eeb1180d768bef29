//! The judge of locks with weights, of scheduled jobs and of leaders.
//!
//! It was written from `docs/verdicts.md`, `docs/scenarios.md` and the pages of `picklock explain` alone, before its
//! author had read the checkers. Where the definitions name the cause, it answers with the
//! cause (`permit-minted`, `permit-leaked`, `writer-starved`, `ran-twice`, `skipped-tick`); elsewhere with the status.
//!
//! ```console
//! $ PICKLOCK_JUDGE_RUNS=2000 PICKLOCK_JUDGE_SEED=7 cargo test -p picklock-lab --test judge kinds -- --nocapture
//! ```
//!
//! The top of each file states the interpretation of definitions that leave something open.

mod after_the_run;
mod leadership;
mod ticks;
mod weights;

use std::collections::BTreeMap;

use picklock_lab::random_run::Dice;
use serde_json::json;

use super::answer::{Answer, Finding};
use super::cause::Case;
use super::compare::{self, Comparison, SimulatedJudgement};
use super::line::File;
use super::verdicts::apply_validity;
use super::{number, tokens};

/// Returns `true` if this is the text of a history of one of these kinds.
pub fn is_of_another_kind(text: &str) -> bool {
    let file = File::read(text);
    file.schedule.is_some() || file.kind != "mutex"
}

/// Judges the text of a history of one of these kinds.
pub fn judge(text: &str) -> BTreeMap<&'static str, Finding> {
    let case = Case::read(text);
    let mut found: BTreeMap<&'static str, Finding> = BTreeMap::new();
    found.insert("exclusion", weights::exclusion(&case));
    found.insert("lease", weights::lease(&case));
    found.insert("fencing", tokens::fencing(&case));
    if case.file.schedule.is_some() {
        found.insert("resource", Finding::plain(Answer::NotApplicable));
        found.insert("once", ticks::once(&case));
    } else {
        found.insert("resource", weights::resource(&case));
    }
    if matches!(case.file.kind.as_str(), "semaphore" | "rwlock") {
        found.insert("progress", after_the_run::progress(&case));
    }
    let judged = found.into_iter();
    judged
        .map(|(property, finding)| {
            (
                property,
                apply_validity(&case.file, &case.attempts, finding),
            )
        })
        .collect()
}

fn drawn(runs: u64, seed: u64) -> Vec<SimulatedJudgement> {
    let mut dice = Dice::new(seed);
    let mut all = Vec::new();
    while (all.len() as u64) < runs {
        let (lock, scenario, seed) = dice.draw_of_another_kind();
        all.extend(compare::simulate(lock, scenario, seed));
    }
    all
}

#[test]
fn both_judges_agree_on_other_kinds() {
    let mut comparison = Comparison::default();
    if let Ok(text) = std::env::var("PICKLOCK_JUDGE_RUN") {
        let run = super::one_run(&text);
        comparison.compare_with(&run, &judge(&run.history));
    } else {
        let runs = number("PICKLOCK_JUDGE_RUNS", 60);
        for run in drawn(runs, number("PICKLOCK_JUDGE_SEED", 1)) {
            comparison.compare_with(&run, &judge(&run.history));
        }
    }
    comparison.report();
    assert!(comparison.disagreements.is_empty(), "the judges disagree");
}

/// Positive control: the comparison detects altered verdicts of each kind.
#[test]
fn altered_verdict_of_another_kind_is_detected() {
    let cases = [
        ("permits-finally-unlock", "semaphore-counter", "exclusion"),
        ("permits-holder-crash", "semaphore-list", "progress"),
        ("read-write-writer-starved", "rwlock-hash", "progress"),
        ("ticks-short-job", "set-nx-px", "once"),
        ("leader-pause", "leader-timer", "exclusion"),
    ];
    for (scenario, lock, property) in cases {
        let mut run = super::one_run(&format!("{scenario},{lock},1"));
        let findings = judge(&run.history);
        let mut comparison = Comparison::default();
        comparison.compare_with(&run, &findings);
        comparison.report();
        assert!(comparison.disagreements.is_empty(), "{scenario}, {lock}");
        assert!(matches!(findings[property].answer, Answer::Violated(_)));
        run.verdicts[property] = json!({"status": "held"});
        comparison.compare_with(&run, &findings);
        let differ = comparison.disagreements.iter().map(|one| one.property);
        assert_eq!(differ.collect::<Vec<_>>(), [property], "{scenario}, {lock}");
    }
}
