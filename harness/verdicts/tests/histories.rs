//! Histories with known verdicts: every one in `histories/*.jsonl` is judged, and must come out as its line in
//! `histories/expected.json` says. `histories/README.md` argues each of them.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot read its own files may fail loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use picklock_verdicts::check::{Property, Status, Verdict, Verdicts, judge};
use picklock_verdicts::history::read_history;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// The first line of each history in a file that has several.
const NAMED: &str = "{\"history\":\"";

/// All histories by name. A file has one, which has its name; or several, each after a line with its name.
fn histories() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with(NAMED) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            all.insert(name.to_owned(), text);
            continue;
        }
        for part in text.split(NAMED).skip(1) {
            let (name, lines) = part.split_once("\"}\n").unwrap();
            let known = all.insert(name.to_owned(), lines.to_owned());
            assert!(known.is_none(), "two histories are called {name}");
        }
    }
    all
}

fn judged(name: &str, text: &str) -> Verdicts {
    judge(&read_history(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn brief(verdict: &Verdict) -> String {
    match verdict.cause {
        Some(cause) => format!("{}: {cause}", verdict.status),
        None => verdict.status.to_string(),
    }
}

#[test]
fn every_history_comes_out_as_expected() {
    let histories = histories();
    let names: Vec<&String> = histories.keys().collect();
    assert!(names.len() > 40, "histories are missing: {names:?}");
    let text = fs::read_to_string(directory().join("expected.json")).unwrap();
    let all: BTreeMap<String, BTreeMap<Property, String>> = serde_json::from_str(&text).unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), names);
    let mut wrong = Vec::new();
    for (name, expected) in all {
        let actual: BTreeMap<Property, String> = judged(&name, &histories[&name])
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
    for (name, history) in histories() {
        for (property, verdict) in judged(&name, &history) {
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
    let histories = histories();
    let missing: Vec<_> = histories.keys().filter(|name| !argued(name)).collect();
    assert!(missing.is_empty(), "not argued in README.md: {missing:?}");
}
