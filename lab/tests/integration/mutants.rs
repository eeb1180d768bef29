//! lab/pages/mutants.md is what comes out: each mutant is caught by a scenario of the catalog.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test -p picklock-lab mutants` writes the page anew from the table here.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status, judge};
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::record::Surprise;
use picklock_harness::trial::Outcome;
use picklock_impls::{BuiltInLock, MUTANTS, find};
use picklock_lab::generated_part::replaced_between;
use picklock_lab::simulated::simulate;
use picklock_scenarios::{BackendName, catalog, profile};

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

/// A mutant must be caught within so many seeds.
const SEEDS: u64 = 20;

/// The seeds in which a scenario must catch a mutant to be named in the second table.
const LIKE_SEEDS: RangeInclusive<u64> = 1..=3;

/// Further scenarios that catch a mutant are only counted.
const NAMED: usize = 8;

/// How much of a row the checkers can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// The property and its cause.
    All,
    /// The property. The cause that is given is another one, or `undetermined`.
    PropertyOnly,
    /// Nothing.
    Nothing,
}

/// The scenario that catches a mutant, and as what. The lock that the mutant was made from keeps the
/// property there.
struct Row {
    mutant: &'static str,
    original: &'static str,
    scenario: &'static str,
    property: &'static str,
    cause: &'static str,
    told: Told,
}

/// One row for each way in which a mutant is caught.
macro_rules! rows {
    ($($mutant:literal, $original:literal, $scenario:literal, $property:literal, $cause:literal, $told:ident;)*) => {
        &[$(Row {
            mutant: $mutant,
            original: $original,
            scenario: $scenario,
            property: $property,
            cause: $cause,
            told: Told::$told,
        }),*]
    };
}

const ROWS: &[Row] = rows! {
    "no-lock", "set-nx-px", "calm", "lease", "unbacked-grant", All;
    "no-expiry", "set-nx-px", "holder-crash", "progress", "no-ttl", All;
    "release-without-token", "set-nx-px", "gc-pause", "ownership", "stolen-release", All;
    "expired-is-held", "redlock", "late-grant", "exclusion", "expired-grant", All;
    "redlock-no-quorum", "redlock", "split-vote", "lease", "unbacked-grant", All;
    "phantom-extend", "watchdog", "late-extend", "lease", "phantom-extend", All;
    "watchdog-silent", "watchdog", "late-grant", "resource", "expired-grant", All;
    "watchdog-outlives-unlock", "watchdog", "lost-release", "progress", "renewed-after-release", All;
    "renews-in-doubt", "watchdog", "lost-reply", "progress", "ambiguous-acquire", All;
    "fence-per-client", "fenced", "calm", "fencing", "undetermined", All;
    "retry-without-token", "set-nx-px", "lost-release-reply", "lease", "stolen-release", All;
    "retry-without-token", "set-nx-px", "lost-release-reply", "ownership", "race", All;
    "token-per-client", "set-nx-px", "late-release", "lease", "stolen-release", All;
    "whole-seconds", "set-nx-px", "fractional-lease", "lease", "wrong-expiry", All;
    "whole-seconds", "set-nx-px", "fractional-lease", "claims", "wrong-expiry", All;
    "seconds-as-millis", "set-nx-px", "calm", "lease", "wrong-expiry", All;
    "seconds-as-millis", "set-nx-px", "calm", "claims", "wrong-expiry", All;
    "error-is-grant", "set-nx-px", "memory-full", "lease", "unbacked-grant", All;
    "timeout-is-release", "set-nx-px", "lost-release", "claims", "false-release", All;
    "stale-hold-count", "set-nx-px", "stale-delete", "exclusion", "unbacked-grant", All;
    "half-quorum", "redlock", "split-vote", "lease", "unbacked-grant", All;
    "truncated-key", "set-nx-px", "two-keys", "progress", "shared-key", All;
    "truncated-key", "set-nx-px", "two-keys", "claims", "shared-key", All;
    "one-key-for-all", "set-nx-px", "two-keys", "progress", "shared-key", All;
    "one-key-for-all", "set-nx-px", "two-keys", "claims", "shared-key", All;
    "releases-every-key", "set-nx-px", "two-keys", "lease", "stolen-release", All;
    "validity-underflow", "redlock", "late-grant", "lease", "wrong-expiry", All;
    "validity-underflow", "redlock", "late-grant", "claims", "wrong-expiry", All;
    "validity-by-wall-clock", "set-nx-px", "clock-back", "lease", "wrong-expiry", All;
    "validity-by-wall-clock", "set-nx-px", "clock-back", "claims", "wrong-expiry", All;
    "renews-by-set", "watchdog", "late-extend", "lease", "phantom-extend", All;
    "renews-by-set", "watchdog", "late-eviction", "resource", "evicted", All;
    "extend-recreates", "set-nx-px", "extend-after-gap", "resource", "phantom-extend", All;
    "extend-without-token", "set-nx-px", "late-extend", "lease", "foreign-renewal", All;
    "extend-without-token", "set-nx-px", "late-extend", "ownership", "foreign-renewal", All;
    "sleeps-until-notified", "signal-list", "sleeping-waiters", "progress", "lost-wake-up", All;
};

/// Mutants that keep every property: what is wrong with them is something else.
const SAFE: &[(&str, &str)] = &[(
    "twice-as-slow",
    "no property: a limit on the latency of `acquire` catches it (`picklock gate`)",
)];

fn trial(lock: &str, scenario: &str, seed: u64) -> Outcome {
    let factory = LockFactory::of(find(lock).unwrap_or_else(|| panic!("no lock `{lock}`")));
    let trial = Trial::of(scenario).unwrap_or_else(|error| panic!("{error}"));
    let ran = trial.seeds([seed]).run_lock(&factory);
    ran.unwrap_or_else(|error| panic!("{lock} × {scenario}: {error}"))
}

/// Which causes the checkers gave for a violation of the property, over the seeds.
fn causes(row: &Row, property: Property) -> BTreeSet<String> {
    let mut causes = BTreeSet::new();
    for seed in 0..SEEDS {
        let ran = trial(row.mutant, row.scenario, seed);
        let cause = ran
            .violation(property)
            .and_then(|run| run.verdicts[&property].cause);
        causes.extend(cause.map(|cause| cause.word().to_owned()));
        if causes.contains(row.cause) {
            break;
        }
    }
    causes
}

/// What is wrong with a row, in words; `None`: nothing.
fn complaint(row: &Row) -> Option<String> {
    let Some(property) = Property::named(row.property) else {
        let known = row.told != Told::Nothing;
        return known.then(|| "there is no such property".into());
    };
    let causes = causes(row, property);
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

/// A row that is told better than the table says fails as well: then the table has to say so.
#[test]
fn every_mutant_is_caught_by_its_scenario() {
    let complaints: Vec<String> = ROWS
        .iter()
        .filter_map(|row| {
            let Row {
                mutant,
                scenario,
                property,
                cause,
                ..
            } = row;
            let complaint = complaint(row)?;
            Some(format!(
                "{mutant} × {scenario}, {property}: {cause}: {complaint}"
            ))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_mutant_is_in_the_table() {
    let listed = ROWS.iter().map(|row| row.mutant);
    let listed: BTreeSet<&str> = listed.chain(SAFE.iter().map(|(name, _)| *name)).collect();
    let all: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(listed, all);
}

fn table() -> String {
    let mut text = String::from("| mutant | what is wrong | scenario | violated | cause |\n");
    text.push_str("|---|---|---|---|---|\n");
    for mutant in MUTANTS {
        let wrong = mutant.summary.trim_start_matches("mutant: ");
        let name = mutant.name;
        if let Some((_, why)) = SAFE.iter().find(|(safe, _)| *safe == name) {
            writeln!(text, "| `{name}` | {wrong} | – | {why} | – |").ok();
        }
        for row in ROWS.iter().filter(|row| row.mutant == name) {
            writeln!(
                text,
                "| `{name}` | {wrong} | `{}` | {} | `{}`{} |",
                row.scenario,
                row.property,
                row.cause,
                if row.told == Told::All { "" } else { " *" }
            )
            .ok();
        }
    }
    text
}

/// The scenarios that catch a mutant when it is held to its original (`--like`), in each of [`LIKE_SEEDS`].
fn caught_by(mutant: &'static BuiltInLock, original: &str) -> Vec<&'static str> {
    let is_caught = |name: &&str| {
        let scenario = catalog::named(name).unwrap_or_else(|error| panic!("{error}"));
        let expected = Expected::of(&scenario, original, Tables::NamedOrAll).as_standard();
        scenario.runs_in(BackendName::Sim)
            && LIKE_SEEDS.into_iter().all(|seed| {
                let ran = simulate(mutant, scenario.clone(), seed);
                let verdicts = ran.map(|ran| judge(&ran.history)).unwrap_or_default();
                expected
                    .surprises(&verdicts)
                    .iter()
                    .any(Surprise::is_judged)
            })
    };
    catalog::names().filter(is_caught).collect()
}

/// Which scenarios catch which mutant without being told what to look for.
fn like_table() -> String {
    let quick = profile::named("quick").expect("there is such a profile");
    let mut text = String::from("| mutant | held to | `--profile quick` | other scenarios |\n");
    text.push_str("|---|---|---|---|\n");
    for mutant in MUTANTS {
        let row = ROWS.iter().find(|row| row.mutant == mutant.name);
        let original = row.map_or("set-nx-px", |row| row.original);
        let caught = caught_by(mutant, original);
        let (quick, others): (Vec<&str>, Vec<&str>) = caught
            .into_iter()
            .partition(|name| quick.scenarios.contains(name));
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
        writeln!(
            text,
            "| `{}` | `{original}` | {quick} | {others} |",
            mutant.name
        )
        .ok();
    }
    text
}

#[test]
fn the_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pages/mutants.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let wanted = replaced_between(&page, &format!("{}\n{}", table(), like_table()))
        .expect("lab/pages/mutants.md has both markers");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, wanted).expect("the page can be written");
        return;
    }
    assert!(
        page == wanted,
        "lab/pages/mutants.md is not up to date: `{UPDATE}=1 cargo test -p picklock-lab mutants` writes it anew"
    );
}

/// The complaints are seen to come.
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
            complaint(row).is_some(),
            "{} {}",
            row.scenario,
            row.property
        );
    }
    let status = trial("set-nx-px", "calm", 0).runs()[0].verdicts[&Property::Lease].status;
    assert_eq!(status, Status::Held);
}
