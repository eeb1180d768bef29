//! `explain`, `completions` and `man`: the output is well formed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use picklock_harness::check::Status;
use picklock_impls::{LOCKS, MUTANTS};
use picklock_scenarios::{CAUSES, PROPERTIES, catalog};

use crate::matrix::record;
use crate::running::picklock;

#[test]
fn everything_that_has_a_name_is_explained() {
    let locks = LOCKS.iter().chain(MUTANTS).map(|lock| lock.name);
    let names = PROPERTIES
        .iter()
        .chain(CAUSES)
        .copied()
        .chain(catalog::names())
        .chain(locks);
    let all = picklock("explain").run();
    for name in names {
        let outcome = picklock(&format!("explain {name}")).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.all());
        assert!(
            outcome.stdout.starts_with(&format!("# {name}")),
            "{}",
            outcome.stdout
        );
        assert!(outcome.stdout.lines().count() > 5, "{}", outcome.stdout);
        assert!(
            all.stdout.contains(&format!("  {name}")),
            "{name} is not listed:\n{}",
            all.stdout
        );
    }
}

#[test]
fn every_property_is_in_the_tables_and_front_ends() {
    let (readme, verdicts) = (
        include_str!("../../README.md"),
        include_str!("../../docs/verdicts.md"),
    );
    let types = include_str!("../../integrations/node/index.d.ts");
    for name in PROPERTIES {
        let row = format!("\n| `{name}` |");
        assert!(readme.contains(&row), "README.md: {name}");
        assert!(verdicts.contains(&row), "docs/verdicts.md: {name}");
        let is_typed = types.contains(&format!("\"{name}\""));
        assert!(is_typed, "integrations/node/index.d.ts: {name}");
    }
}

#[test]
fn a_scenario_and_a_lock_explain_themselves() {
    insta::assert_snapshot!(picklock("explain gc-pause").run().stdout);
}

/// Returns the lines of a lock's page, by scenario.
fn said_of_scenarios(lock: &str) -> BTreeMap<String, String> {
    let page = picklock(&format!("explain {lock}")).run().exits(0).stdout;
    let lines = page.replace("\n  ", " ");
    let lines = lines.lines().filter_map(|line| line.strip_prefix("- "));
    let parts = lines.map(|line| {
        line.split_once(": ")
            .expect("a scenario, and what is said of it")
    });
    let name = |head: &str| head.split(' ').next().unwrap_or_default().to_owned();
    parts
        .map(|(head, said)| (name(head), said.to_owned()))
        .collect()
}

/// Returns the statement about a property, or `None` if there is none, which means that it holds.
fn said_of(said: &str, property: &str) -> Option<String> {
    let mut parts = said.split("; ");
    let names = |part: &&str| {
        let names = part.split(" violated").next().unwrap_or_default();
        let names = names.split(" held or").next().unwrap_or_default();
        names.split(", ").any(|name| name == property)
    };
    parts.find(names).map(str::to_owned)
}

#[test]
fn explain_says_of_every_built_in_lock_what_the_matrix_shows() {
    let matrix = record(
        &picklock("matrix --backend sim --quiet --json")
            .run()
            .exits(0),
    );
    for lock in LOCKS {
        let said = said_of_scenarios(lock.name);
        let names: BTreeSet<&str> = said.keys().map(String::as_str).collect();
        assert_eq!(names, catalog::names().collect(), "{}", lock.name);
        for cell in matrix
            .cells
            .iter()
            .filter(|cell| cell.lock.name == lock.name)
        {
            let said = &said[&cell.scenario];
            for (property, verdict) in &cell.verdicts {
                let told = said_of(said, property.as_str());
                let cause = verdict
                    .cause
                    .map_or(String::new(), |cause| format!("({cause})"));
                let is_told = match (verdict.status, &told) {
                    (_, Some(told)) if told.contains("held or violated") => true,
                    (Status::Violated, Some(told)) => {
                        told.ends_with("violated") || told.ends_with(&cause)
                    }
                    (Status::Held | Status::NotApplicable, None) => true,
                    _ => false,
                };
                let place = format!("{} × {}: {property}", lock.name, cell.scenario);
                assert!(is_told, "{place} is {}, and told: {said}", verdict.status);
            }
        }
        for one in matrix.skipped.iter().filter(|one| one.lock == lock.name) {
            let said = &said[&one.scenario];
            let is_for_others = one.reason.contains("only these backends");
            let is_told = *said == format!("not applicable: {}", one.reason);
            assert!(
                is_for_others || is_told,
                "{} × {}: {said}",
                one.lock,
                one.scenario
            );
        }
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    for (name, meant) in [
        ("outlived-leas", "outlived-lease"),
        ("gc-pauze", "gc-pause"),
        ("redlok", "redlock"),
    ] {
        let outcome = picklock(&format!("explain {name}")).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.all());
        assert!(
            outcome.stderr.contains(&format!("did you mean `{meant}`?")),
            "{}",
            outcome.stderr
        );
    }
    let outcome = picklock("man reprot").run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.all());
    assert!(
        outcome.stderr.contains("did you mean `report`?"),
        "{}",
        outcome.stderr
    );
}

/// Feeds `text` to a command and returns `true` if it succeeded, with all its output.
fn fed(program: &str, arguments: &[&str], text: &str) -> (bool, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = picklock(&format!("completions {shell}")).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.all());
        for word in ["scenario", "report", "explain", "backend"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
    }
    let script = picklock("completions bash").run().stdout;
    assert_eq!(fed("bash", &["-n"], &script), (true, String::new()));
    assert!(
        !fed("bash", &["-n"], &format!("{script}\nif")).0,
        "the check can fail"
    );
}

#[test]
fn manual_pages_render() {
    for (page, word) in [
        ("", "COMMANDS"),
        ("report", "--against"),
        ("scenario", "--backend"),
    ] {
        let outcome = picklock(&format!("man {page}")).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.all());
        assert!(
            outcome.stdout.contains("\n.TH picklock"),
            "{}",
            outcome.stdout
        );
        // groff may not be installed; where it is, it is the better check.
        if Command::new("groff")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok()
        {
            let (rendered, text) = fed(
                "groff",
                &["-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u"],
                &outcome.stdout,
            );
            assert!(rendered, "{text}");
            let text = text.replace('‐', "-");
            assert!(
                text.contains(word) || text.contains(&word.to_lowercase()),
                "{word}:\n{text}"
            );
        }
    }
}
