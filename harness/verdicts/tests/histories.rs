//! Histories with known verdicts: every `histories/*.jsonl` is judged, and must come out as its line in
//! `histories/expected.json` says. `histories/README.md` argues each of them.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot read its own files may fail loudly"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use picklock_verdicts::check::{Property, Status, Verdict, Verdicts, judge};
use picklock_verdicts::history::read_history;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// The names of all histories.
fn names() -> Vec<String> {
    let entries = fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".jsonl")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

fn judged(name: &str) -> Verdicts {
    let file = File::open(directory().join(format!("{name}.jsonl"))).unwrap();
    judge(&read_history(BufReader::new(file)).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn brief(verdict: &Verdict) -> String {
    match verdict.cause {
        Some(cause) => format!("{}: {cause}", verdict.status),
        None => verdict.status.to_string(),
    }
}

#[test]
fn every_history_comes_out_as_expected() {
    let names = names();
    assert!(names.len() > 40, "histories are missing: {names:?}");
    let text = fs::read_to_string(directory().join("expected.json")).unwrap();
    let all: BTreeMap<String, BTreeMap<Property, String>> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
    let mut wrong = Vec::new();
    for (name, expected) in all {
        let actual: BTreeMap<Property, String> = judged(&name)
            .iter()
            .map(|(property, verdict)| (*property, brief(verdict)))
            .collect();
        for property in Property::ALL {
            let (expected, actual) = (&expected[&property], &actual[&property]);
            if expected != actual {
                wrong.push(format!("{name}: {property}: {actual}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_stories_read_well() {
    let mut text = String::new();
    for name in names() {
        for (property, verdict) in judged(&name) {
            if matches!(verdict.status, Status::Violated | Status::Unknown) {
                let count = match verdict.violations {
                    0 => String::new(),
                    count => format!(" ({count})"),
                };
                text += &format!("# {name}: {property} {}{count}\n", brief(&verdict));
                text += &verdict.story.join("\n");
                text += "\n\n";
            }
        }
    }
    insta::assert_snapshot!("stories", text);
}

#[test]
fn the_readme_argues_every_history() {
    let readme = fs::read_to_string(directory().join("README.md")).unwrap();
    let argued = |name: &&String| readme.contains(&format!("`{name}`"));
    let missing: Vec<_> = names().into_iter().filter(|name| !argued(&name)).collect();
    assert!(missing.is_empty(), "not argued in README.md: {missing:?}");
}
