//! The numbers in prose: how many locks, mutants, scenarios and libraries there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use picklock_impls::{Kind, LOCKS, MUTANTS, SEMAPHORES};
use picklock_scenarios::catalog;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the number as prose has it: a word up to twenty.
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

#[test]
fn numbers_in_prose_are_right() {
    let scenarios = catalog::names().count();
    let for_permits =
        catalog::names().filter(|name| catalog::named(name).unwrap().workload.needs_permits());
    let semaphore_mutants = MUTANTS
        .iter()
        .filter(|it| it.kind == Kind::Semaphore)
        .count();
    let locks = in_prose(LOCKS.len());
    let semaphores = in_prose(SEMAPHORES.len());
    let mutants = MUTANTS.len();
    let stated = [
        ("README.md", format!("- {locks} locks,")),
        ("README.md", format!("- {mutants} mutants:")),
        ("README.md", format!("- {scenarios} scenarios:")),
        ("README.md", format!("{} lock libraries", libraries().len())),
        ("CHANGELOG.md", format!("- {locks} built-in locks,")),
        (
            "CHANGELOG.md",
            format!("- {semaphores} built-in semaphores"),
        ),
        (
            "CHANGELOG.md",
            format!("with {} separate scenarios", in_prose(for_permits.count())),
        ),
        (
            "CHANGELOG.md",
            format!("{} mutants, and the causes", in_prose(semaphore_mutants)),
        ),
        (
            "CHANGELOG.md",
            format!("{scenarios} scenarios, and your own"),
        ),
        (
            "CHANGELOG.md",
            format!("{mutants} mutants, locks that are broken"),
        ),
        ("docs/matrix.md", format!("of the {mutants} [mutants]")),
    ];
    for (page, words) in stated {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let text = text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        assert!(
            text.contains(&words.to_lowercase()),
            "{page} does not state: {words}"
        );
    }
}
