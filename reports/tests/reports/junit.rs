//! JUnit XML: the counts of a CI server, and the validity of the document.

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

#[test]
fn lock_with_options_is_a_separate_suite() {
    let mut input = matrix();
    input.matrix.cells.truncate(1);
    let mut other = input.matrix.cells[0].clone();
    other.options.insert("retry_delay".into(), "50ms".into());
    input.matrix.cells.push(other);
    let document = junit(&input);
    for lock in ["set-nx-px", "set-nx-px,retry_delay=50ms"] {
        let case = format!(r#"<testcase name="calm (process)" classname="{lock}"/>"#);
        let suite = format!(r#"<testsuite name="{lock}""#);
        for one in [case, suite] {
            assert_eq!(document.matches(&one).count(), 1, "{one}: {document}");
        }
    }
}

/// Returns the schema violations of a document. The schema states the rules of Jenkins's `junit-10.xsd`.
fn complaints(document: &str) -> Option<String> {
    let path = std::env::temp_dir().join(format!("picklock-junit-{}.xml", document.len()));
    std::fs::write(&path, document).unwrap();
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema", SCHEMA])
        .arg(&path)
        .output()
        .expect("xmllint runs (Debian: libxml2-utils; scripts/test installs it)");
    std::fs::remove_file(&path).ok();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => None,
        Some(3) => Some(errors),
        other => panic!("xmllint ended with {other:?}; is the schema itself wrong?\n{errors}"),
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
        let invalid = document.replacen(right, wrong, 1);
        assert_ne!(invalid, document, "{right}");
        assert!(complaints(&invalid).is_some(), "{wrong}");
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
