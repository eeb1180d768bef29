//! The causes of simulated runs, compared with the same runs without some of their faults.
//!
//! The small form runs in the suite. `picklock-lab counterfactuals --page lab/pages/counterfactuals.md` is the long
//! form, which rewrites the page.

use picklock_impls::find;
use picklock_lab::counterfactual::{Case, Outcome, drawn, examine, needs_table, study};
use picklock_scenarios::{Cause, Scenario, catalog};
use picklock_verdicts::check::{Verdicts, judge};
use picklock_verdicts::history::History;

#[test]
fn random_causes_agree_with_counterfactual_runs() {
    let study = study(drawn(58), 120, 2);
    assert_eq!(
        study.too_early, 0,
        "a fault changed the run before it fired"
    );
    assert!(study.disagreements.is_empty(), "{:#?}", study.disagreements);
    let confirmed = Cause::ALL.map(|cause| study.count(cause, Outcome::Confirmed));
    assert!(confirmed.iter().sum::<u64>() > 60, "{study:#?}");
}

fn outcomes(lock: &str, scenario: &str, judge: fn(&History) -> Verdicts) -> Vec<Outcome> {
    let lock = find(lock).expect("a built-in lock");
    let scenario = catalog::named(scenario).expect("the catalog is valid");
    let case = Case {
        judge,
        ..Case::new(lock, scenario, 1)
    };
    let examination = examine(&case).expect("the scenario fits the lock");
    examination.checks.iter().map(|it| it.outcome).collect()
}

fn judge_with(history: &History, cause: Cause) -> Verdicts {
    let mut verdicts = judge(history);
    for verdict in verdicts.values_mut().filter(|it| it.cause.is_some()) {
        verdict.cause = Some(cause);
    }
    verdicts
}

/// Positive control: a judge that names a fault that did not occur, one that blames the lock for the effect of a fault,
/// and one that names a fault that came after the violation.
#[test]
fn wrong_causes_are_detected() {
    let disagrees = |lock, scenario, judge| {
        let outcomes = outcomes(lock, scenario, judge);
        outcomes.contains(&Outcome::Disagreement)
    };
    assert!(!disagrees("set-nx-px", "gc-pause", judge));
    assert!(!disagrees("set-nx-px", "eviction", judge));
    assert!(disagrees("set-nx-px", "gc-pause", |history| {
        judge_with(history, Cause::ClockJump)
    }));
    assert!(disagrees("set-nx-px", "eviction", |history| {
        judge_with(history, Cause::Race)
    }));
    assert!(disagrees("set-nx-px", "eviction", |history| {
        judge_with(history, Cause::LostOnRestart)
    }));
}

#[test]
fn page_has_the_current_table_of_needs() {
    let page = include_str!("../../pages/counterfactuals.md");
    assert!(
        page.contains(&needs_table()),
        "picklock-lab counterfactuals --page lab/pages/counterfactuals.md writes it anew"
    );
}

/// Without the `drop`, the extension of the holder is refused and the holder stops before the other client comes.
#[test]
fn fault_that_keeps_a_loss_from_its_holder_is_no_disagreement() {
    let text = r#"
        name = "unnoticed"
        summary = "The value is lost while the holder cannot reach the node."
        [workload]
        workers = 3
        stock = 2
        ttl = "1500ms"
        section = "1.2ttl"
        extend = "0.3ttl"
        arrivals = "1.5/ttl"
        duration = "6ttl"
        wait = "3ttl"
        command_timeout = "3ttl"
        [[fault]]
        kind = "drop"
        at = "0.4ttl"
        for = "0.6ttl"
        workers = [0]
        direction = "request"
        [[fault]]
        kind = "flush-all"
        at = "0.6ttl"
        nodes = [0]
        [judge]
        min_grants = 2
    "#;
    let scenario = Scenario::parse(text, "unnoticed").expect("it is valid");
    let case = Case::new(find("set-nx-px").expect("a built-in lock"), scenario, 1);
    let examination = examine(&case).expect("the scenario fits the lock");
    let of_loss = examination
        .checks
        .iter()
        .filter(|it| it.cause == Cause::Evicted);
    let outcomes: Vec<Outcome> = of_loss.map(|it| it.outcome).collect();
    assert!(outcomes.contains(&Outcome::Ended), "{examination:#?}");
    assert!(
        !outcomes.contains(&Outcome::Disagreement),
        "{examination:#?}"
    );
}
