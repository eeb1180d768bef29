//! JUnit XML: what a CI server counts, and that every server can read it.

use std::process::Command;

use picklock_reports::report_input::ReportInput;

use crate::cells::{file, hostile, matrix};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/junit.xsd");

fn junit(material: &ReportInput) -> String {
    file(material, "junit", "junit.xml")
}

#[test]
fn suites_are_locks_and_cases_are_scenarios() {
    insta::assert_snapshot!(junit(&matrix()));
}

/// Says what is wrong with the document; the schema states the rules of Jenkins's `junit-10.xsd`.
fn complaints(document: &str) -> Option<String> {
    let path = std::env::temp_dir().join(format!("picklock-junit-{}.xml", document.len()));
    std::fs::write(&path, document).unwrap();
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema", SCHEMA])
        .arg(&path)
        .output()
        .expect("xmllint runs (Debian: libxml2-utils; scripts/test installs it)");
    std::fs::remove_file(&path).ok();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => None,
        Some(3) => Some(said),
        other => panic!("xmllint ended with {other:?}; is the schema itself wrong?\n{said}"),
    }
}

#[test]
fn any_matrix_conforms_to_the_schema() {
    assert_eq!(complaints(&junit(&matrix())), None);
    assert_eq!(complaints(&junit(&hostile())), None);
    let mut empty = matrix();
    empty.matrix.cells.clear();
    assert_eq!(complaints(&junit(&empty)), None);
}

#[test]
fn schema_rejects_a_wrong_document() {
    let document = junit(&matrix());
    for (right, wrong) in [
        ("<testsuites ", "<testsuites skipped=\"1\" "),
        ("<testcase name=", "<testcase title="),
        ("<failure ", "<failure line=\"3\" "),
        (" errors=", " mistakes="),
        ("</testsuite>", "<note/></testsuite>"),
    ] {
        let spoilt = document.replacen(right, wrong, 1);
        assert_ne!(spoilt, document, "{right}");
        assert!(complaints(&spoilt).is_some(), "{wrong}");
    }
}

#[test]
fn control_characters_are_replaced() {
    let document = junit(&hostile());
    let forbidden =
        |c: char| (c < ' ' && !"\t\n\r".contains(c)) || ('\u{fffe}'..='\u{ffff}').contains(&c);
    assert_eq!(document.chars().find(|c| forbidden(*c)), None);
    assert!(!document.chars().any(|c| c.is_control() && c != '\n'));
    assert!(document.contains(r"\u{1b}"), "an escape is shown");
    assert!(!document.contains("<script"));
}
