//! The page: the table of mutants, and the table of classes.

use std::fmt::Write;

use picklock_harness::check::{Property, Status};
use picklock_impls::MUTANTS;
use picklock_lab::generated_part::replaced_between;
use picklock_scenarios::profile;

use super::classes::CLASSES;
use super::rows::{ROWS, Row, SAFE, Told};
use super::{found, trial};

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

/// The first scenario of the profile `quick` in which the mutant violates something that the lock that it
/// was made from keeps.
fn caught_by_quick(mutant: &str, original: &str) -> Option<&'static str> {
    let quick = profile::named("quick").expect("there is such a profile");
    quick.scenarios.iter().copied().find(|scenario| {
        let (mutant, original) = (trial(mutant, scenario, 1), trial(original, scenario, 1));
        Property::ALL.iter().any(|property| {
            let of = |ran: &picklock_harness::trial::Outcome| {
                let verdict = ran.runs()[0].verdicts.get(property);
                verdict.map(|verdict| verdict.status)
            };
            of(&mutant) == Some(Status::Violated) && of(&original) == Some(Status::Held)
        })
    })
}

fn classes_of(mutant: &str) -> String {
    let classes = CLASSES.iter().filter(|class| class.mutants.contains(&mutant));
    let ids: Vec<&str> = classes.map(|class| class.id).collect();
    match ids.is_empty() {
        true => "–".to_owned(),
        false => ids.join(", "),
    }
}

fn of_mutants(text: &mut String) {
    text.push_str("| mutant | what is wrong | class | scenario | violated | cause | seeds | by `quick` |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for mutant in MUTANTS {
        let wrong = mutant.summary.trim_start_matches("mutant: ");
        let name = mutant.name;
        let classes = classes_of(name);
        if let Some((_, why)) = SAFE.iter().find(|(safe, _)| *safe == name) {
            writeln!(text, "| `{name}` | {wrong} | {classes} | – | {why} | – | – | – |").ok();
        }
        for row in ROWS.iter().filter(|row| row.mutant == name) {
            let Row {
                original,
                scenario,
                property,
                cause,
                ..
            } = row;
            let mark = if row.told == Told::All { "" } else { " *" };
            let quick = caught_by_quick(name, original);
            let quick = quick.map_or("–".to_owned(), |quick| format!("`{quick}`"));
            let known = Property::named(property);
            let seeds = known.and_then(|property| found(row, property).seeds);
            let seeds = seeds.map_or("–".to_owned(), |seeds| seeds.to_string());
            writeln!(
                text,
                "| `{name}` | {wrong} | {classes} | `{scenario}` | {property} | `{cause}`{mark} | {seeds} | {quick} |"
            )
            .ok();
        }
    }
}

fn of_classes(text: &mut String) {
    text.push_str("\n| class | what it is | mutants | built-in locks that have it |\n|---|---|---|---|\n");
    for class in CLASSES {
        let mutants = class.mutants.iter().map(|name| format!("`{name}`"));
        let locks = class.locks.iter();
        let locks = locks.map(|(lock, scenario)| format!("`{lock}` × `{scenario}`"));
        let listed = |all: Vec<String>| match all.is_empty() {
            true => "–".to_owned(),
            false => all.join(", "),
        };
        let (mutants, locks) = (listed(mutants.collect()), listed(locks.collect()));
        writeln!(text, "| {} | {} | {mutants} | {locks} |", class.id, class.about).ok();
    }
    let none = |class: &&super::classes::Class| class.mutants.is_empty() && class.locks.is_empty();
    let none: Vec<&str> = CLASSES.iter().filter(none).map(|class| class.id).collect();
    writeln!(text, "\nNothing shows {}.", none.join(", ")).ok();
}

#[test]
fn the_page_is_the_tables() {
    let mut tables = String::new();
    of_mutants(&mut tables);
    of_classes(&mut tables);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pages/mutants.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let wanted = replaced_between(&page, &tables).expect("lab/pages/mutants.md has both markers");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, wanted).expect("the page can be written");
        return;
    }
    assert!(
        page == wanted,
        "lab/pages/mutants.md is not up to date: `{UPDATE}=1 cargo test -p picklock-lab mutants` writes it anew"
    );
}
