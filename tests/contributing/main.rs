//! The worked example of CONTRIBUTING.md, followed: its lock is compiled and run through its
//! scenario, and its lines fit the tables that they are for.
//!
//! A copy of the workspace with the example in it would have to be compiled whole, every time: a
//! minute and more. So the lock's file stands here instead, CONTRIBUTING.md must show it to the
//! letter, and it is compiled in a crate whose root has the same public names as that of the
//! locks. Scenario and table lines are taken from CONTRIBUTING.md itself.

use std::collections::BTreeMap;

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};
use picklock_harness::sim::Subject;
use picklock_impls::find;
use syn::parse::Parser;
use syn::punctuated::Punctuated;

/// What the lock's file finds at the root of its crate.
use picklock_impls::{Context, Grant, Lock, LockError, Node, Strategy};

mod resuming;

const PAGE: &str = include_str!("../../CONTRIBUTING.md");
const LOCKS: &str = include_str!("../../impls/src/lib.rs");
const CATALOG: &str = include_str!("../../scenarios/src/catalog.rs");

/// The blocks of the page that say where they belong, by the file that is named in the last line
/// before the block.
fn blocks() -> BTreeMap<&'static str, &'static str> {
    let mut blocks = BTreeMap::new();
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("\n```") {
        let (language, after) = after.split_once('\n').expect("a block has a first line");
        let (block, after) = after.split_once("```").expect("a block has an end");
        let says = before.trim_end().lines().last().unwrap_or_default();
        let file = says
            .strip_suffix("`:")
            .and_then(|says| says.rsplit_once('`'));
        if let Some((_, file)) = file
            && ["rust", "toml"].contains(&language)
        {
            blocks.insert(file, block);
        }
        rest = after;
    }
    blocks
}

const SCENARIO: &str = "lost-reply-long-work";

fn scenario() -> Trial {
    let text = blocks()["scenarios/catalog/lost-reply-long-work.toml"];
    let trial = Trial::of_toml(text).unwrap_or_else(|error| panic!("{error}"));
    trial.seeds(0..5)
}

fn example() -> Subject {
    Subject::of(&resuming::STRATEGY)
}

#[test]
fn the_page_shows_the_lock_that_is_compiled() {
    let shown = blocks()["impls/src/strategies/resuming.rs"];
    let compiled = include_str!("resuming.rs");
    assert_eq!(
        shown, compiled,
        "copy tests/contributing/resuming.rs into CONTRIBUTING.md"
    );
    assert!(
        find(resuming::STRATEGY.name).is_none(),
        "an example is not in the table"
    );
}

/// What is in the catalog already does not see what is wrong with the lock.
#[test]
fn the_example_passes_what_is_there() {
    for name in ["calm", "lost-reply", "holder-crash", "stale-delete"] {
        let trial = Trial::of(name).unwrap().seeds(0..5);
        trial.run_subject(&example()).unwrap().assert_as_expected();
    }
}

#[test]
fn the_new_scenario_catches_the_new_lock() {
    assert_eq!(scenario().scenario().name, SCENARIO);
    let ran = scenario().run_subject(&example()).unwrap();
    ran.assert_as_expected();
    ran.assert_violated(Property::Exclusion, Cause::Undetermined);
    ran.assert_violated(Property::Resource, Cause::Undetermined);
}

/// What it expects of everybody else is so, and is said of every lock.
#[test]
fn the_new_scenario_is_right_about_every_built_in_lock() {
    for strategy in picklock_impls::STRATEGIES {
        let ran = scenario().run_subject(&Subject::of(strategy)).unwrap();
        ran.assert_as_expected();
    }
}

/// The lines between the one that begins so and the one that ends its table.
fn table(file: &'static str, begins: &str, ends: &str) -> &'static str {
    let (_, after) = file.split_once(begins).expect("the table is there");
    let (table, _) = after.split_once(ends).expect("it ends");
    table
}

/// A line stands in a table as the others do: with the name replaced it is one of them.
fn is_of_the_form(line: &str, table: &str, name: &str, known: &str) {
    let like = line.replace(name, known);
    assert!(
        table.contains(&like),
        "{line}: there is no {like} in the table"
    );
}

#[test]
fn the_table_lines_have_the_form_of_the_tables() {
    let entry = blocks()["impls/src/lib.rs"].trim_end();
    let strategies = table(LOCKS, "STRATEGIES in strategies:\n", "\n}");
    is_of_the_form(entry, strategies, "resuming", "redlock");
    assert_eq!(
        strategies.lines().count(),
        picklock_impls::STRATEGIES.len(),
        "one line each"
    );

    let entry = blocks()["scenarios/src/catalog.rs"];
    let begins = "pub const CATALOG: &[(&str, &str)] = &[\n";
    let scenarios = table(CATALOG, begins, "\n];");
    // Of a long name, because rustfmt breaks such lines.
    is_of_the_form(entry, scenarios, SCENARIO, "quorum-erosion-delayed");
    let with_it = format!("{entry}{scenarios}");
    let entries = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
    let entries = entries
        .parse_str(&with_it)
        .expect("the table is still Rust");
    assert_eq!(
        entries.len(),
        picklock_scenarios::catalog::CATALOG.len() + 1
    );
}

#[test]
fn the_commands_name_what_was_added() {
    let command = format!("$ cargo run -- scenario {SCENARIO} --impl resuming --backend sim");
    assert!(PAGE.contains(&command), "{command}");
}
