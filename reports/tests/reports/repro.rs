//! The repro file: its values round-trip, and no name ends a comment.

use std::collections::BTreeMap;

use picklock_reports::html::page;
use picklock_reports::markdown::summary;
use picklock_reports::report_input::ReportInput;
use picklock_reports::repro::{compared, text};
use picklock_scenarios::{BackendName, Scenario, arbitrary, catalog};
use picklock_verdicts::check::{Cause, Property, Status};
use picklock_verdicts::record::{REPRO_FORMAT, RecordedVerdict, Repro, ReproLock, ReproOverrides};
use proptest::prelude::*;

use crate::cells::{HOSTILE, file, matrix};

fn outcome(status: Status, cause: Option<Cause>) -> RecordedVerdict {
    RecordedVerdict { status, cause }
}

fn repro(scenario: Scenario) -> Repro {
    Repro {
        format: REPRO_FORMAT.into(),
        picklock: "0.1.0".into(),
        backend: BackendName::Process,
        seed: 7,
        scenario_given: scenario.name.clone(),
        lock: ReproLock {
            label: None,
            name: "redlock".into(),
            renews: false,
            min_hold_ms: None,
            lease_margin_ms: None,
            needs_every_node: false,
            version: "0.1.0".into(),
            directory: None,
            nodes: None,
            replicas: None,
            environment: BTreeMap::new(),
            options: BTreeMap::from([("retry_delay".into(), "50ms".into())]),
        },
        overrides: ReproOverrides::default(),
        verdicts: BTreeMap::from([
            (
                Property::Exclusion,
                outcome(Status::Violated, Some(Cause::OutlivedLease)),
            ),
            (Property::Lease, outcome(Status::Held, None)),
            (Property::Progress, outcome(Status::Unknown, None)),
        ]),
        scenario,
    }
}

fn round_trip(repro: &Repro) -> Repro {
    toml::from_str(&text(repro).unwrap()).unwrap()
}

#[test]
fn repro_file_matches_the_snapshot() {
    let scenario = catalog::named("lost-reply").unwrap();
    let mut repro = repro(scenario);
    repro.overrides.workers = Some(3);
    insta::assert_snapshot!(text(&repro).unwrap());
}

#[test]
fn every_catalog_scenario_round_trips() {
    for (name, _) in catalog::CATALOG {
        let repro = repro(catalog::named(name).unwrap());
        assert_eq!(round_trip(&repro), repro, "{name}");
    }
}

#[test]
fn every_seed_round_trips() {
    for seed in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let mut repro = repro(catalog::named("calm").unwrap());
        repro.seed = seed;
        assert_eq!(round_trip(&repro).seed, seed);
    }
    let wrong = text(&repro(catalog::named("calm").unwrap())).unwrap();
    for seed in ["-1", "1.5", "\"many\"", "true"] {
        let wrong = wrong.replace("\nseed = 7\n", &format!("\nseed = {seed}\n"));
        assert!(toml::from_str::<Repro>(&wrong).is_err(), "{seed}");
    }
}

#[test]
fn line_breaks_in_names_stay_in_the_comment() {
    let mut repro = repro(catalog::named("calm").unwrap());
    repro.lock.name = format!("exec:{HOSTILE}\nformat = \"mine\"\r\n[lock]");
    repro.scenario_given = HOSTILE.into();
    repro.scenario.summary = HOSTILE.into();
    repro.picklock = "0.1.0\nseed = 8".into();
    assert_eq!(round_trip(&repro), repro);
    let text = text(&repro).unwrap();
    let (head, _) = text.split_once("\n\n").unwrap();
    assert!(head.lines().all(|line| line.starts_with('#')), "{head}");
    assert!(!text.contains('\u{1b}') && !head.contains('\u{202e}'));
    assert!(head.contains("Check it first"), "{head}");
}

#[test]
fn comparison_names_changed_verdicts() {
    let then = repro(catalog::named("calm").unwrap());
    let mut now = then.verdicts.clone();
    assert_eq!(compared(&then, &now, "0.1.0"), "replay: same verdicts");
    now.insert(
        Property::Exclusion,
        outcome(Status::Violated, Some(Cause::Race)),
    );
    now.insert(Property::Lease, outcome(Status::Violated, None));
    now.remove(&Property::Progress);
    assert_eq!(
        compared(&then, &now, "0.2.0"),
        "replay: different verdicts: exclusion violated: race, was violated: outlived-lease; \
         lease violated, was held; progress inconclusive, was unknown (then picklock 0.1.0, now 0.2.0)"
    );
}

#[test]
fn comparison_explains_the_exit_code_if_a_violation_is_gone() {
    let mut then = repro(catalog::named("calm").unwrap());
    let stolen = outcome(Status::Violated, Some(Cause::StolenRelease));
    then.verdicts.insert(Property::Ownership, stolen);
    let mut now = then.verdicts.clone();
    now.insert(Property::Ownership, outcome(Status::Held, None));
    let line = compared(&then, &now, "0.1.0");
    assert!(
        line.ends_with("; the exit code is 1, because exclusion is violated"),
        "{line}"
    );
    now.insert(Property::Exclusion, outcome(Status::Held, None));
    assert!(!compared(&then, &now, "0.1.0").contains("exit code"));
}

proptest! {
    #[test]
    fn generated_scenario_round_trips(scenario in arbitrary::scenario(3, 4)) {
        let repro = repro(scenario);
        prop_assert_eq!(round_trip(&repro), repro);
    }
}

#[test]
fn only_replayable_runs_show_the_replay_command() {
    let mut material = matrix();
    let reports = |material: &ReportInput| {
        [
            summary(material),
            file(material, "junit", "junit.xml"),
            crate::html::expanded(&page(material).unwrap()).replace("</span> <span>", " "),
        ]
    };
    for text in reports(&material) {
        assert!(!text.contains("picklock replay"), "{text}");
    }
    for evidence in &mut material.evidence {
        evidence.has_repro = true;
    }
    for text in reports(&material) {
        assert!(text.contains("picklock replay runs/3"), "{text}");
    }
    for evidence in &mut material.evidence {
        evidence.run_dir.insert_str(0, "my ");
    }
    let cells = &mut material.matrix.cells;
    for run_dir in cells.iter_mut().flat_map(|cell| &mut cell.run_dir) {
        run_dir.insert_str(0, "my ");
    }
    for text in reports(&material) {
        let text = text.replace("&apos;", "'").replace("&#39;", "'");
        assert!(text.contains("picklock replay 'my runs/3'"), "{text}");
    }
}
