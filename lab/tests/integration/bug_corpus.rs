//! The known-bug corpus: every class is covered or has a reason why not, and searches find a sample of the bugs.

use std::collections::BTreeSet;

use picklock_lab::bug_corpus::{Budget, KNOWN_BUGS, NOT_COVERED, evaluate, table};

use crate::mutants::classes::CLASSES;

#[test]
fn every_class_has_either_a_known_bug_or_a_reason() {
    let classes: BTreeSet<&str> = CLASSES.iter().map(|class| class.id).collect();
    let shown: BTreeSet<&str> = KNOWN_BUGS.iter().map(|known_bug| known_bug.class).collect();
    let absent: BTreeSet<&str> = NOT_COVERED.iter().map(|one| one.class).collect();
    assert_eq!(
        shown.union(&absent).copied().collect::<BTreeSet<_>>(),
        classes
    );
    assert_eq!(shown.intersection(&absent).count(), 0);
}

#[test]
fn page_has_a_row_for_every_known_bug_and_absent_class() {
    let page = include_str!("../../pages/bug-corpus.md");
    for known_bug in KNOWN_BUGS {
        let row = format!(
            "| {} | `{}` | {} | `{}` |",
            known_bug.class, known_bug.lock, known_bug.property, known_bug.cause
        );
        assert!(
            page.contains(&row),
            "{row}: picklock-lab known-bug corpus --page makes it anew"
        );
    }
    let absent = table(
        &[],
        Budget {
            seeds: 1,
            runs: 1,
            threads: 1,
        },
    );
    let rows = absent
        .lines()
        .filter(|line| line.starts_with("| S") || line.starts_with("| L"));
    for row in rows {
        assert!(page.contains(row), "{row}");
    }
}

/// A hunt must find each bug with the right cause, and shrink it to few faults and clients.
#[test]
fn sample_of_known_bugs_is_found_and_shrunk() {
    let budget = Budget {
        seeds: 1,
        runs: 1_500,
        threads: 2,
    };
    for known_bug in KNOWN_BUGS.iter().step_by(40) {
        let evaluation = evaluate(*known_bug, budget);
        assert!(evaluation.hunted[0].is_some(), "{known_bug:?}");
        let plan = evaluation.smallest.unwrap();
        let (faults, clients) = (plan.scenario.faults.len(), plan.scenario.workload.workers);
        assert!(faults <= 3 && clients <= 3, "{known_bug:?}: {plan:?}");
    }
}
