//! An independent judge of runs.
//!
//! It was written from the definitions of the properties and causes alone, which are in `docs/verdicts.md` and the
//! pages of `picklock explain`, by an author who had not read the checkers. It draws random scenarios, locks and seeds,
//! simulates them, judges the history from its JSON lines with its own simple, quadratic code, and compares its answers
//! with Picklock's, for each property and cause.
//!
//! The default run is small, has a fixed seed and belongs to the quick tier. The long form is:
//!
//! ```console
//! $ PICKLOCK_JUDGE_RUNS=2000 PICKLOCK_JUDGE_SEED=7 cargo test -p picklock-lab --test judge -- --nocapture
//! ```
//!
//! `PICKLOCK_JUDGE_RUN=SCENARIO,LOCK,SEED` judges a single run; the scenario is a name from the catalog, or a file.
//!
//! Each disagreement is printed with its scenario, lock, seed, both answers and the deciding evidence. The history
//! and the scenario are saved in `target/judge/`. Where the definitions leave something open, a table at the top of
//! the file that decides it shows this judge's interpretation.

#![expect(
    clippy::print_stdout,
    reason = "the comparison is the output of the long form"
)]

mod answer;
mod attempt;
mod cause;
mod claims;
mod compare;
mod key_history;
mod kinds;
mod line;
mod overlaps;
mod progress;
mod renewal;
mod reported_lease;
mod settled;
mod tokens;
mod verdicts;
mod waiting;

use compare::Comparison;
use picklock_impls::find;
use picklock_lab::random_run::Dice;
use picklock_scenarios::{Scenario, catalog};
use serde_json::json;
use settled::{Run, settled};

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, got {text}")),
        Err(_) => default,
    }
}

/// Simulates the single run that the environment variable describes.
fn one_run(text: &str) -> compare::SimulatedJudgement {
    let [name, lock, seed] = text.split(',').collect::<Vec<_>>()[..] else {
        panic!("PICKLOCK_JUDGE_RUN is SCENARIO,LOCK,SEED, not {text}");
    };
    let parsed = match std::fs::read_to_string(name) {
        Ok(text) => Scenario::parse(&text, name),
        Err(_) => catalog::named(name),
    };
    let scenario = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
    let lock = find(lock).unwrap_or_else(|| panic!("no built-in lock has the name {lock}"));
    let seed = seed.parse().expect("a seed is a number");
    compare::simulate(lock, scenario, seed).expect("the scenario fits the lock")
}

#[test]
fn both_judges_agree() {
    if let Ok(text) = std::env::var("PICKLOCK_JUDGE_RUN") {
        let mut comparison = Comparison::default();
        comparison.compare(&one_run(&text));
        comparison.report();
        assert!(comparison.disagreements.is_empty(), "the judges disagree");
        return;
    }
    let mut dice = Dice::new(number("PICKLOCK_JUDGE_SEED", 1));
    let mut comparison = Comparison::default();
    let runs = number("PICKLOCK_JUDGE_RUNS", 60);
    while comparison.runs < runs {
        let (lock, scenario, seed) = dice.draw();
        if let Some(run) = compare::simulate(lock, scenario, seed) {
            comparison.compare(&run);
        }
    }
    comparison.report();
    assert!(comparison.disagreements.is_empty(), "the judges disagree");
    let undecided = comparison.too_often_undecided();
    assert!(undecided.is_empty(), "too often undecided: {undecided:?}");
}

#[test]
fn settled_runs_still_agree() {
    let runs = settled();
    assert!(runs.len() > 30, "settled runs are missing");
    let texts: Vec<String> = runs
        .iter()
        .flat_map(Run::disagreements)
        .map(|one| one.text)
        .collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
}

/// Positive control: the comparison detects altered verdicts.
#[test]
fn altered_verdict_is_detected() {
    let scenario = || catalog::named("gc-pause").expect("the catalog is valid");
    let lock = find("set-nx-px").expect("a built-in lock");
    let run = || compare::simulate(lock, scenario(), 1).expect("it fits");
    let differs = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut ran = run();
        change(&mut ran.verdicts);
        let mut comparison = Comparison::default();
        comparison.compare(&ran);
        let all = comparison.disagreements.iter();
        all.map(|one| one.property).collect::<Vec<_>>()
    };
    assert!(differs(&|_| {}).is_empty());
    let violated = json!({"status": "violated", "cause": "race"});
    assert_eq!(differs(&|v| v["lease"] = violated.clone()), ["lease"]);
    assert_eq!(differs(&|v| v["claims"] = violated.clone()), ["claims"]);
    let held = json!({"status": "held"});
    assert_eq!(differs(&|v| v["exclusion"] = held.clone()), ["exclusion"]);
    let cause = json!("expired-grant");
    assert_eq!(
        differs(&|v| v["exclusion"]["cause"] = cause.clone()),
        ["exclusion"]
    );
    assert_eq!(
        differs(&|v| v["resource"]["cause"] = cause.clone()),
        ["resource"]
    );
    let unknown = json!({"status": "unknown"});
    for property in ["ownership", "progress", "fencing"] {
        assert_eq!(differs(&|v| v[property] = unknown.clone()), [property]);
    }
}
