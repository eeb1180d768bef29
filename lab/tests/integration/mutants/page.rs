//! The page: the tables of mutants, and the table of classes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use picklock_harness::check::judge;
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::lock_kinds::kind_of;
use picklock_impls::reference::{Declared, reference_for, renews};
use picklock_impls::{BuiltInLock, MUTANTS};
use picklock_lab::generated_part::replaced_between;
use picklock_lab::simulated::simulate;
use picklock_scenarios::profile::{self, Declaration};
use picklock_scenarios::{BackendName, catalog};

use super::all_found;
use super::classes::CLASSES;
use super::rows::{ROWS, Row, SAFE, Told};

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

/// Seeds in which a scenario must catch a mutant to be listed in the second table.
const LIKE_SEEDS: RangeInclusive<u64> = 1..=3;

/// Maximum number of scenarios to list per mutant. Further scenarios are only counted.
const NAMED: usize = 8;

/// Returns the scenarios that catch a mutant in each of [`LIKE_SEEDS`] when it is compared with its original
/// (`--reference`).
fn caught_by(mutant: &'static BuiltInLock, original: &str) -> Vec<&'static str> {
    let always = |name: &&str| {
        let mut seeds = LIKE_SEEDS;
        seeds.all(|seed| is_caught(mutant, original, name, seed))
    };
    catalog::names().filter(always).collect()
}

/// Returns `true` if the mutant violates what `original` keeps in the scenario with this seed.
fn is_caught(mutant: &'static BuiltInLock, original: &str, name: &str, seed: u64) -> bool {
    let scenario = catalog::named(name).unwrap_or_else(|error| panic!("{error}"));
    let expected = Expected::for_lock(&scenario, original, Tables::NamedOrAll).as_reference();
    let is_simulated = scenario.runs_in(BackendName::Sim);
    let ran = is_simulated.then(|| simulate(mutant, scenario, seed));
    let verdicts = ran
        .flatten()
        .map(|ran| judge(&ran.history))
        .unwrap_or_default();
    let mut mismatches = expected.mismatches(&verdicts).into_iter();
    is_simulated && mismatches.any(|it| it.is_judged())
}

/// The test regenerates every `STEP`th row of the second table, because a row takes seconds. An update regenerates
/// all rows.
const STEP: usize = 40;

/// Writes which scenarios catch which mutant without prior expectations. Rows outside the sample are copied from
/// `page`. If `page` is `None`, all rows are regenerated.
fn by_likeness(text: &mut String, page: Option<&str>) {
    text.push_str(
        "\n| mutant | held to | the gate of `init` | other scenarios |\n|---|---|---|---|\n",
    );
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let gate = Gate::new(mutant);
        let original = gate.reference;
        let name = mutant.name;
        let begins = format!("| `{name}` | `{original}` | ");
        let kept = page.filter(|_| !number.is_multiple_of(STEP));
        if let Some(line) = kept.and_then(|page| page.lines().find(|it| it.starts_with(&begins))) {
            writeln!(text, "{line}").ok();
            continue;
        }
        let caught = caught_by(mutant, original);
        let (quick, others): (Vec<&str>, Vec<&str>) =
            caught.into_iter().partition(|name| gate.runs(name));
        let words = |names: Vec<&str>| match names.len() {
            0 => "–".to_owned(),
            1..=NAMED => format!("`{}`", names.join("`, `")),
            all => format!(
                "`{}`, and {} more",
                names[..NAMED].join("`, `"),
                all - NAMED
            ),
        };
        let (quick, others) = (words(quick), words(others));
        writeln!(text, "{begins}{quick} | {others} |").ok();
    }
}

/// The gate that `init` writes for a lock with the same declarations as the lock from which a mutant was made.
struct Gate {
    reference: &'static str,
    declared: Declaration,
}

impl Gate {
    fn new(mutant: &'static BuiltInLock) -> Gate {
        let row = ROWS.iter().find(|row| row.mutant == mutant.name);
        let original = row.map_or("", |row| row.original);
        let declared = Declared {
            renews: renews(original),
            fences: original == "fenced",
            kind: mutant.kind,
        };
        let reference = reference_for(mutant.nodes, mutant.replicas, declared);
        Gate {
            reference: reference.expect("each mutant has a reference").name,
            declared: Declaration {
                renews: Some(declared.renews),
                nodes: mutant.nodes,
                kind: kind_of(mutant.kind),
            },
        }
    }

    fn runs(&self, scenario: &str) -> bool {
        let quick = profile::named("quick").expect("there is such a profile");
        quick.includes(scenario, self.declared)
    }

    /// Returns `true` if no scenario fails for the mutant with this seed.
    fn passes(&self, mutant: &'static BuiltInLock, seed: u64) -> bool {
        let mut quick = catalog::names().filter(|name| self.runs(name));
        !quick.any(|name| is_caught(mutant, self.reference, name, seed))
    }
}

/// A lock with such a mistake fails its first gate. The locks that pass are listed in [`SAFE`], with the reasons.
#[test]
fn gate_of_init_catches_every_mutant() {
    let passed = MUTANTS
        .iter()
        .filter(|mutant| Gate::new(mutant).passes(mutant, 1));
    let passed = passed.map(|mutant| mutant.name);
    let safe = SAFE.iter().map(|(name, _)| *name);
    assert_eq!(passed.collect::<BTreeSet<_>>(), safe.collect());
}

fn classes_of(mutant: &str) -> String {
    let classes = CLASSES
        .iter()
        .filter(|class| class.mutants.contains(&mutant));
    let ids: Vec<&str> = classes.map(|class| class.id).collect();
    if ids.is_empty() {
        "–".to_owned()
    } else {
        ids.join(", ")
    }
}

fn of_mutants(text: &mut String) {
    text.push_str("| mutant | what is wrong | class | scenario | violated | cause | seeds |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for mutant in MUTANTS {
        let wrong = mutant.summary.trim_start_matches("mutant: ");
        let name = mutant.name;
        let classes = classes_of(name);
        if let Some((_, why)) = SAFE.iter().find(|(safe, _)| *safe == name) {
            writeln!(
                text,
                "| `{name}` | {wrong} | {classes} | – | {why} | – | – |"
            )
            .ok();
        }
        for (row, found) in all_found().filter(|(row, _)| row.mutant == name) {
            let Row {
                scenario,
                property,
                cause,
                ..
            } = row;
            let mark = if row.told == Told::All { "" } else { " *" };
            let seeds = found
                .seeds
                .map_or("–".to_owned(), |seeds| seeds.to_string());
            writeln!(
                text,
                "| `{name}` | {wrong} | {classes} | `{scenario}` | {property} | `{cause}`{mark} | {seeds} |"
            )
            .ok();
        }
    }
}

fn of_classes(text: &mut String) {
    text.push_str(
        "\n| class | what it is | mutants | built-in locks that have it |\n|---|---|---|---|\n",
    );
    for class in CLASSES {
        let mutants = class.mutants.iter().map(|name| format!("`{name}`"));
        let locks = class.locks.iter();
        let locks = locks.map(|(lock, scenario)| format!("`{lock}` × `{scenario}`"));
        let listed = |all: Vec<String>| {
            if all.is_empty() {
                "–".to_owned()
            } else {
                all.join(", ")
            }
        };
        let (mutants, locks) = (listed(mutants.collect()), listed(locks.collect()));
        writeln!(
            text,
            "| {} | {} | {mutants} | {locks} |",
            class.id, class.about
        )
        .ok();
    }
    let none = |class: &&super::classes::Class| class.mutants.is_empty() && class.locks.is_empty();
    let none: Vec<&str> = CLASSES.iter().filter(none).map(|class| class.id).collect();
    writeln!(text, "\nNothing shows {}.", none.join(", ")).ok();
}

#[test]
fn the_page_is_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pages/mutants.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let is_update = std::env::var_os(UPDATE).is_some();
    let mut tables = String::new();
    of_mutants(&mut tables);
    by_likeness(&mut tables, (!is_update).then_some(&page));
    of_classes(&mut tables);
    let wanted = replaced_between(&page, &tables).expect("lab/pages/mutants.md has both markers");
    if is_update {
        std::fs::write(path, wanted).expect("the page can be written");
        return;
    }
    assert!(
        page == wanted,
        "lab/pages/mutants.md is not up to date: `{UPDATE}=1 cargo test -p picklock-lab mutants` writes it anew"
    );
}
