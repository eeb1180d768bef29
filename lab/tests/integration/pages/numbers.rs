//! The numbers in prose: how many locks, mutants, scenarios and libraries there are.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test -p picklock-lab numbers` corrects the pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use picklock_impls::{LOCKS, MUTANTS};
use picklock_scenarios::catalog;

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the number as it is written in prose: as a word up to twenty.
fn in_prose(number: usize) -> String {
    const WORDS: [&str; 20] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    let word = number.checked_sub(1).and_then(|index| WORDS.get(index));
    word.map_or(number.to_string(), |word| (*word).to_owned())
}

/// Returns the names of the libraries that have findings, each once, whatever the number of its versions.
fn libraries() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![root().join("adapters")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("findings.toml") {
                let file: toml::Table = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
                names.insert(file["name"].as_str().unwrap().to_owned());
            }
        }
    }
    names
}

/// A number in the prose of a page, between the words that surround it.
struct Stated {
    page: &'static str,
    before: &'static str,
    number: String,
    after: &'static str,
}

impl Stated {
    fn new(page: &'static str, before: &'static str, number: String, after: &'static str) -> Self {
        Stated {
            page,
            before,
            number,
            after,
        }
    }

    /// Returns the text with the stated number replaced by the right one. The number keeps its case.
    fn corrected(&self, text: &str) -> Option<String> {
        text.match_indices(self.before).find_map(|(at, before)| {
            let start = at + before.len();
            let (stated, rest) = text[start..].split_once(char::is_whitespace)?;
            if !rest.trim_start().starts_with(self.after) {
                return None;
            }
            let mut number = self.number.clone();
            if stated.starts_with(char::is_uppercase) {
                number[..1].make_ascii_uppercase();
            }
            let end = start + stated.len();
            Some(format!("{}{number}{}", &text[..start], &text[end..]))
        })
    }
}

#[test]
fn numbers_in_prose_are_right() {
    let mutants = MUTANTS.len().to_string();
    let scenarios = catalog::names().count().to_string();
    let libraries = libraries().len().to_string();
    let stated = [
        Stated::new("README.md", "- ", in_prose(LOCKS.len()), "locks,"),
        Stated::new("README.md", "- ", mutants.clone(), "mutants:"),
        Stated::new("README.md", "- ", scenarios, "scenarios:"),
        Stated::new("README.md", "has tested ", libraries, "lock libraries"),
        Stated::new("docs/matrix.md", "of the ", mutants, "[mutants]"),
    ];
    for stated in stated {
        let (page, path) = (stated.page, root().join(stated.page));
        let text = fs::read_to_string(&path).unwrap();
        let corrected = stated
            .corrected(&text)
            .unwrap_or_else(|| panic!("{page} has no number of {}", stated.after));
        if corrected == text {
            continue;
        }
        if std::env::var_os(UPDATE).is_some() {
            fs::write(path, corrected).unwrap();
            continue;
        }
        panic!(
            "{page} does not state: {} {}; `{UPDATE}=1 cargo test -p picklock-lab numbers` corrects it",
            stated.number, stated.after
        );
    }
}

#[test]
fn wrong_number_is_replaced_in_its_case() {
    let stated = Stated::new("a page", "- ", in_prose(14), "locks,");
    let text = "- One line.\n- Thirteen\nlocks, from the first to the last.";
    let corrected = "- One line.\n- Fourteen\nlocks, from the first to the last.";
    assert_eq!(stated.corrected(text).as_deref(), Some(corrected));
    assert_eq!(stated.corrected(corrected).as_deref(), Some(corrected));
    assert_eq!(stated.corrected("- Thirteen keys"), None);
}
