//! Generates lab/pages/mutants.md, and checks that a scenario of the catalog catches each mutant.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test -p picklock-lab mutants` rewrites the page from the tables here. [`rows`] maps
//! each mutant to the scenario that catches it, [`classes`] maps it to a class of bugs, and [`page`] writes the page.

pub mod classes;
mod page;
mod rows;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status};
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::trial::Outcome;
use picklock_impls::{MUTANTS, find};

use classes::{CLASSES, UNCLASSED};
use rows::{ROWS, Row, SAFE, Told};

/// Maximum number of seeds within which a mutant must be caught.
const SEEDS: u64 = 20;

fn trial(lock: &str, scenario: &str, seed: u64) -> Outcome {
    let factory = LockFactory::built_in(find(lock).unwrap_or_else(|| panic!("no lock `{lock}`")));
    let trial = Trial::scenario(scenario).unwrap_or_else(|error| panic!("{error}"));
    let ran = trial.seeds([seed]).run_lock(&factory);
    ran.unwrap_or_else(|error| panic!("{lock} × {scenario}: {error}"))
}

/// The result of the checkers for the property.
struct Found {
    causes: BTreeSet<String>,
    /// Number of seeds until the row's cause was found, or until the first violation if no seed gives the cause.
    seeds: Option<u64>,
}

/// Returns what the checkers found for each of [`ROWS`], for the tests of this program.
fn all_found() -> impl Iterator<Item = (&'static Row, &'static Found)> {
    static FOUND: OnceLock<Vec<Found>> = OnceLock::new();
    ROWS.iter()
        .zip(FOUND.get_or_init(|| ROWS.iter().map(found).collect()))
}

fn found(row: &Row) -> Found {
    let mut found = Found {
        causes: BTreeSet::new(),
        seeds: None,
    };
    let Some(property) = Property::named(row.property) else {
        return found;
    };
    for seed in 0..SEEDS {
        let ran = trial(row.mutant, row.scenario, seed);
        let cause = ran
            .violation(property)
            .and_then(|run| run.verdicts[&property].cause);
        let Some(cause) = cause else { continue };
        found.causes.insert(cause.as_str().to_owned());
        found.seeds.get_or_insert(seed + 1);
        if cause.as_str() == row.cause {
            found.seeds = Some(seed + 1);
            break;
        }
    }
    found
}

/// Describes the mistake in a row, or returns `None` if the row is correct.
fn complaint(row: &Row, found: &Found) -> Option<String> {
    let Some(property) = Property::named(row.property) else {
        let known = row.told != Told::Nothing;
        return known.then(|| "there is no such property".into());
    };
    let causes = &found.causes;
    let told = match (causes.is_empty(), causes.contains(row.cause)) {
        (true, _) => Told::Nothing,
        (false, false) => Told::PropertyOnly,
        (false, true) => Told::All,
    };
    if told != row.told {
        return Some(format!(
            "the checkers tell {told:?} of it, and the table says {:?}; causes: {causes:?}",
            row.told
        ));
    }
    let accused = (0..SEEDS).find_map(|seed| {
        let ran = trial(row.original, row.scenario, seed);
        ran.violation(property).map(|run| run.seed)
    });
    accused.map(|seed| format!("`{}` violates it as well, seed {seed}", row.original))
}

/// A mutant that is identified better than its row claims also fails the test, so that the row gets updated.
#[test]
fn every_mutant_is_caught_by_its_scenario() {
    let complaints: Vec<String> = all_found()
        .filter_map(|(row, found)| {
            let Row {
                mutant,
                scenario,
                property,
                cause,
                ..
            } = row;
            let complaint = complaint(row, found)?;
            Some(format!(
                "{mutant} × {scenario}, {property}: {cause}: {complaint}"
            ))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_mutant_is_in_the_tables() {
    let all: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    let listed = ROWS.iter().map(|row| row.mutant);
    let listed: BTreeSet<&str> = listed.chain(SAFE.iter().map(|(name, _)| *name)).collect();
    assert_eq!(listed, all);
    let classed = CLASSES
        .iter()
        .flat_map(|class| class.mutants)
        .chain(UNCLASSED);
    assert_eq!(classed.copied().collect::<BTreeSet<_>>(), all);
}

#[test]
fn built_in_lock_of_a_bug_class_violates_its_scenario() {
    for class in CLASSES {
        for (lock, scenario) in class.locks {
            let violates = |seed| {
                let ran = trial(lock, scenario, seed);
                Property::ALL
                    .iter()
                    .any(|one| ran.violation(*one).is_some())
            };
            assert!(
                (0..SEEDS).any(violates),
                "{}: {lock} × {scenario}",
                class.id
            );
        }
    }
}

/// Wrong rows must produce complaints.
#[test]
fn a_wrong_row_is_complained_about() {
    let row = |mutant, scenario, property, told| Row {
        mutant,
        original: "set-nx-px",
        scenario,
        property,
        cause: "stolen-release",
        told,
    };
    let wrong = [
        row("release-without-token", "calm", "ownership", Told::All),
        row(
            "release-without-token",
            "gc-pause",
            "ownership",
            Told::PropertyOnly,
        ),
        row(
            "release-without-token",
            "gc-pause",
            "exclusion",
            Told::PropertyOnly,
        ),
        row("release-without-token", "gc-pause", "manners", Told::All),
    ];
    for row in &wrong {
        assert!(
            complaint(row, &found(row)).is_some(),
            "{} {}",
            row.scenario,
            row.property
        );
    }
    let status = trial("set-nx-px", "calm", 0).runs()[0].verdicts[&Property::Lease].status;
    assert_eq!(status, Status::Held);
}
