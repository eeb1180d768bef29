//! The packages of `integrations/` print the same failure in every language.
//!
//! `scripts/test-packages` compares the files of `integrations/captured` with what the packages print.

use std::fs;
use std::path::Path;

const LANGUAGES: [&str; 5] = ["csharp", "go", "java", "node", "python"];

/// Scenario of the captured failure.
const SCENARIO: &str = "gc-pause";

/// Returns the captured failure of a language without its indentation, the names that the language gives to lock and
/// folder, and the words of the test framework in front of the title.
fn failure(language: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/captured");
    let text = fs::read_to_string(folder.join(format!("{language}.txt"))).unwrap();
    let (title, rest) = text.split_once('\n').unwrap();
    let (_, title) = title.split_once(&format!(" in {SCENARIO}: ")).unwrap();
    let indentations = (rest.lines().filter(|line| !line.is_empty()))
        .map(|line| line.len() - line.trim_start().len());
    let indentation = indentations.min().unwrap_or(0);
    let mut lines = vec![format!("LOCK in {SCENARIO}: {title}")];
    for line in rest.lines() {
        let line = line.get(indentation..).unwrap_or_default();
        let words = line
            .split(' ')
            .map(|word| match word.split_once(&format!("/{SCENARIO}/")) {
                Some((_, file)) => format!("FOLDER/{file}"),
                None => word.to_owned(),
            });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

#[test]
fn failure_reads_the_same_in_every_language() {
    insta::assert_snapshot!(failure("python"));
    for language in LANGUAGES {
        assert_eq!(failure(language), failure("python"), "{language}");
    }
}
