//! Checks the form of comments and of test names.

use std::path::Path;

use crate::sources::{FOLDERS, below, name_of, root};

/// Maximum number of columns of a line that is a comment.
const MAX_COLUMNS: usize = 120;

/// Maximum number of characters of a test's name.
const MAX_TEST_NAME: usize = 60;

/// Spellings that comments do not use, each with the one that they use.
const SPELLINGS: [(&str, &str); 6] = [
    ("eturns true", "returns `true`"),
    ("eturns false", "returns `false`"),
    ("eturns whether ", "returns `true` if"),
    ("/// True if ", "whether"),
    ("/// True while ", "whether"),
    ("/// True when ", "whether"),
];

/// Beginnings of names that are clauses, where a test's name starts with its subject.
const CLAUSES: [&str; 2] = ["what_", "who_"];

/// Returns what is wrong with a line. Tables and drawings in comments may be wide.
fn problem(line: &str) -> Option<String> {
    let line = line.trim_end();
    if let Some(name) = test_name(line) {
        return problem_of_name(name);
    }
    let comment = line.trim_start();
    if !comment.starts_with("//") {
        return None;
    }
    let spelling = SPELLINGS.iter().find(|(old, _)| comment.contains(old));
    if let Some((_, new)) = spelling {
        return Some(format!("write \"{new}\": {comment}"));
    }
    let is_drawn = comment.contains('│') || comment.contains('─');
    let is_wide = line.chars().count() > MAX_COLUMNS && !comment.contains("| ") && !is_drawn;
    is_wide.then(|| format!("more than {MAX_COLUMNS} columns: {comment}"))
}

/// Returns the name of the function that begins on this line, as a test's does: without arguments.
fn test_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("async ").unwrap_or(line);
    let (name, _) = rest.strip_prefix("fn ")?.split_once("()")?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some(name)
}

fn problem_of_name(name: &str) -> Option<String> {
    if CLAUSES.iter().any(|clause| name.starts_with(clause)) {
        return Some(format!("start the name with its subject: {name}"));
    }
    let is_long = name.len() > MAX_TEST_NAME;
    is_long.then(|| format!("more than {MAX_TEST_NAME} characters: {name}"))
}

#[test]
fn comments_and_test_names_have_one_form() {
    let this_file = Path::new(file!());
    let mut problems = Vec::new();
    for folder in FOLDERS.into_iter().chain(["adapters"]) {
        for path in below(folder) {
            let name = name_of(&path);
            if Path::new(&name) == this_file {
                continue;
            }
            let text = std::fs::read_to_string(root().join(&name)).expect("the file can be read");
            for (index, line) in text.lines().enumerate() {
                let found = problem(line);
                problems.extend(found.map(|found| format!("{name}:{}: {found}", index + 1)));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns `true` for a file that is compiled into the product or the lab, and not only into tests.
fn is_product(name: &str) -> bool {
    let is_of_tests = name.ends_with("tests.rs") || name.contains("/tests/");
    (name.starts_with("src/") || name.contains("/src/")) && !is_of_tests
}

#[test]
fn every_module_of_the_product_begins_with_a_comment() {
    let mut missing = Vec::new();
    for path in FOLDERS.into_iter().flat_map(below) {
        let name = name_of(&path);
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        if is_product(&name) && !text.starts_with("//!") {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "no module comment: {missing:#?}");
}

#[test]
fn wrong_forms_of_comments_and_names_are_found() {
    let long = format!("    /// {}", "word ".repeat(30));
    let name = format!("fn {}() {{", "a_".repeat(31));
    for line in [
        "/// Returns true if it is.",
        "/// True if it is.",
        "fn what_it_does() {",
        &long,
        &name,
    ] {
        assert!(problem(line).is_some(), "{line}");
    }
    let table = format!("//! | a | {} |", "word ".repeat(30));
    for line in [
        "/// Returns `true` if it is.",
        "fn it_works() {",
        "let true_if = 1;",
        &table,
    ] {
        assert_eq!(problem(line), None);
    }
}
