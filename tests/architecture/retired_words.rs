//! Words that Picklock no longer uses, so that they do not come back. `docs/`, code and help use the field's terms.

use std::path::Path;

use crate::sources::{root, sources};

/// Retired identifiers and words, each with the term that replaced it.
const RETIRED: &[(&str, &str)] = &[
    ("custody", "key history"),
    ("standstill", "stall"),
    ("museum", "known-bug corpus"),
    ("exhibit", "known bug"),
    ("unjudged", "inconclusive"),
    ("dead alarm", "unexpected pass"),
    ("dead_alarm", "unexpected_pass"),
    ("told-late", "late-loss-report"),
    ("kept_run", "saved_run"),
    ("kept_finds", "saved_counterexamples"),
    ("wirelog", "CommandLog"),
    ("wire.jsonl", "commands.jsonl"),
    ("fault-escaped", "freeze-breach"),
    ("faultstruck", "FaultFired"),
    ("never struck", "never fired"),
    ("in_words", "describe"),
];

/// Files that must contain a retired word, each with the reason.
const EXCUSED: &[(&str, &str)] = &[
    ("tests/architecture/retired_words.rs", "the list itself"),
    ("CHANGELOG.md", "it says what was renamed"),
    (
        "lab/pages/findings.md",
        "it is generated and quotes runs of earlier builds",
    ),
    ("lab/pages/hunts.md", "a broken lock has this name"),
    (
        "src/usage_hint.rs",
        "it names the new option for a retired one",
    ),
];

fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir()
                && name != "cases"
                && !name.starts_with('.')
                && name != "target"
                && name != "node_modules"
            {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let inside = path.strip_prefix(root()).expect("below the root");
                pages.push(inside.to_string_lossy().into_owned());
            }
        }
    }
    pages
}

fn retired_in(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let found = RETIRED
        .iter()
        .filter(|(word, _)| contains_word(&text, word));
    found
        .map(|(word, now)| format!("`{word}` is retired; write `{now}`"))
        .collect()
}

/// Returns `true` if the word begins at a word boundary in the text.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric();
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part))
}

#[test]
fn retired_words_do_not_come_back() {
    let code = sources().iter().map(|source| source.name.clone());
    let mut problems = Vec::new();
    for name in code.chain(pages()) {
        if EXCUSED
            .iter()
            .any(|(excused, _)| Path::new(excused) == Path::new(&name))
        {
            continue;
        }
        let text = std::fs::read_to_string(root().join(&name)).expect("the file can be read");
        problems.extend(
            retired_in(&text)
                .into_iter()
                .map(|it| format!("{name}: {it}")),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn retired_word_is_found_at_the_start_of_a_word_only() {
    assert_eq!(retired_in("the Custody of keys").len(), 1);
    assert_eq!(retired_in("fn kept_run() {}").len(), 1);
    assert_eq!(retired_in("unkept_run"), [""; 0]);
}
