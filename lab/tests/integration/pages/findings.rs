//! The findings about a library, from matrices and texts.

use picklock_lab::findings::{self, Decision, Seen};
use picklock_lab::library::{Kind, Library, Limits};
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::check::{Cause, Property, Verdict};
use picklock_verdicts::record::{Cell, KeyHistoryTally, MATRIX_FORMAT, MatrixRecord, Tally};

use super::{HOSTILE, cell, violated};

const WORDS: &str = r#"
format = "picklock-library/1"
name = "some-lock"
version = "1.2.3"
home = "https://example.org/some-lock"

[promise]
quote = "Only one client has it"
source = "its README"

[[locks]]
name = "mine"
about = "As its users call it."

[[locks]]
name = "mine-too"
about = "The same in another way."

[[reading]]
kind = "limit"
causes = ["outlived-lease"]
because = "A client that is slower than its lease loses it."
documented = { quote = "a maximum life", source = "its manual" }

[[reading]]
kind = "defect"
scenarios = ["stale-delete"]
because = "It deletes what it does not own."

[[hypothesis]]
id = "S4"
says = "It releases what another client owns."
lock = "mine"
scenario = "stale-delete"
predicts = { property = "ownership", cause = "stolen-release" }
means = "Do not use it."
"#;

/// Builds a cell of ten runs, in the given number of which the property was violated for this cause.
fn ten(
    lock: &str,
    scenario: &str,
    (property, cause): (Property, Cause),
    runs: u64,
    key_history: u64,
) -> Cell {
    let verdict = match runs {
        0 => Verdict::held(),
        _ => violated(cause, &["client 1 deleted what client 2 had written"]),
    };
    let mut cell = cell(lock, scenario, &[(property, verdict)]);
    "1.2.3".clone_into(&mut cell.lock.version);
    cell.runs = 10;
    cell.tally.insert(
        property,
        Tally {
            held: 10 - runs,
            violated: runs,
            causes: [(cause, runs)]
                .into_iter()
                .filter(|(_, runs)| *runs > 0)
                .collect(),
            ..Tally::default()
        },
    );
    cell.key_history = Some(KeyHistoryTally {
        runs: 10,
        confirmed_runs: key_history,
        ..KeyHistoryTally::default()
    });
    cell
}

fn stolen(runs: u64, key_history: u64) -> Cell {
    let what = (Property::Ownership, Cause::StolenRelease);
    ten("mine", "stale-delete", what, runs, key_history)
}

fn input(cells: Vec<Cell>) -> ReportInput {
    ReportInput {
        matrix: MatrixRecord {
            format: MATRIX_FORMAT.into(),
            picklock: "0.1.0".into(),
            cells,
            ..MatrixRecord::default()
        },
        ..ReportInput::default()
    }
}

fn about_a_library() -> ReportInput {
    let outlived = (Property::Exclusion, Cause::OutlivedLease);
    input(vec![
        cell("mine", "calm", &[]),
        ten("mine", "gc-pause", outlived, 10, 10),
        ten("mine-too", "gc-pause", outlived, 10, 10),
        stolen(10, 10),
    ])
}

fn page_of(input: &ReportInput) -> String {
    findings::page(input, &[Library::read(WORDS).unwrap()], None)
}

fn page(cells: Vec<Cell>) -> String {
    page_of(&input(cells))
}

fn decision(cells: &[Cell]) -> Decision {
    let library = Library::read(WORDS).unwrap();
    Decision::of(&library.hypothesis[0], cells)
}

#[test]
fn a_whole_page() {
    let text = page_of(&about_a_library());
    insta::assert_snapshot!(text);
}

#[test]
fn a_hypothesis_is_decided_by_nine_of_ten() {
    let seen = |runs| Seen { runs, judged: 10 };
    assert_eq!(decision(&[]), Decision::NotRun);
    assert_eq!(decision(&[stolen(0, 10)]), Decision::Refuted(seen(0)));
    assert_eq!(decision(&[stolen(8, 10)]), Decision::Sometimes(seen(8)));
    assert_eq!(decision(&[stolen(9, 10)]), Decision::Confirmed(seen(9)));
    let mut unknown = stolen(0, 10);
    unknown.tally.insert(
        Property::Ownership,
        Tally {
            unknown: 10,
            ..Tally::default()
        },
    );
    assert_eq!(decision(&[unknown]), Decision::Inconclusive);
    // Another cause does not match the prediction.
    let other = (Property::Ownership, Cause::Race);
    let other = ten("mine", "stale-delete", other, 10, 10);
    assert_eq!(decision(&[other]), Decision::Refuted(seen(0)));
}

#[test]
fn the_cell_with_the_most_runs_counts() {
    let once = cell("mine", "stale-delete", &[]);
    let cells = [once.clone(), stolen(10, 10), once];
    assert_eq!(
        decision(&cells),
        Decision::Confirmed(Seen {
            runs: 10,
            judged: 10
        })
    );
}

#[test]
fn nobody_is_accused_without_key_history() {
    assert!(page(vec![stolen(10, 10)]).contains("*A defect*"));
    for confirmed in [0, 9] {
        let page = page(vec![stolen(10, confirmed)]);
        assert!(!page.contains("*A defect*"), "{page}");
        assert!(page.contains("Perhaps a defect"), "{page}");
    }
}

#[test]
fn nobody_is_accused_without_a_cause() {
    let unknown = (Property::Ownership, Cause::Undetermined);
    let page = page(vec![ten("mine", "stale-delete", unknown, 10, 10)]);
    assert!(!page.contains("*A defect*"), "{page}");
}

/// The counts are, in order: survived scenarios, known limits, defects, not interpreted yet, inconclusive scenarios,
/// and runs.
fn counted(page: &str) -> &str {
    let row = page.lines().find(|line| line.contains("<code>mine</code>"));
    let (_, counts) = row.unwrap().split_once("</code> |").unwrap();
    counts.trim()
}

fn outlived(scenario: &str) -> Cell {
    let what = (Property::Exclusion, Cause::OutlivedLease);
    ten("mine", scenario, what, 10, 10)
}

#[test]
fn the_scorecard_counts_what_is_proven() {
    let calm = || cell("mine", "calm", &[]);
    let of = |cells: Vec<Cell>| page(cells);
    let all = of(vec![calm(), outlived("gc-pause"), stolen(10, 10)]);
    assert!(
        counted(&all).ends_with("| 1 | 1 | 1 | 0 | 0 | 21 |  |  |"),
        "{all}"
    );
    // Without a key history, it counts neither as a defect nor as a limit.
    let unproven = of(vec![calm(), stolen(10, 9)]);
    assert!(
        counted(&unproven).ends_with("| 1 | 0 | 0 | 1 | 0 | 11 |  |  |"),
        "{unproven}"
    );
    let race = (Property::Lease, Cause::Race);
    let unread = of(vec![ten("mine", "calm", race, 10, 10)]);
    assert!(
        counted(&unread).ends_with("| 0 | 0 | 0 | 1 | 0 | 10 |  |  |"),
        "{unread}"
    );
}

#[test]
fn a_mechanism_counts_once_in_all_its_scenarios() {
    let race = |scenario| ten("mine", scenario, (Property::Lease, Cause::Race), 10, 10);
    let known = page(vec![outlived("gc-pause"), outlived("slow-section")]);
    assert!(
        counted(&known).ends_with("| 0 | 1 | 0 | 0 | 0 | 20 |  |  |"),
        "{known}"
    );
    let unread = page(vec![race("calm"), race("gc-pause")]);
    assert!(
        counted(&unread).ends_with("| 0 | 0 | 0 | 1 | 0 | 20 |  |  |"),
        "{unread}"
    );
}

#[test]
fn libraries_without_runs_keep_their_part_of_the_page() {
    let mine = Library::read(WORDS).unwrap();
    let other = WORDS.replace("\"some-lock\"", "\"other-lock\"");
    let other = other
        .replace("mine", "others")
        .replace("others-too", "others-2");
    let other = Library::read(&other).unwrap();
    let other_cell = |scenario| cell("others", scenario, &[]);
    let both = [mine, other];
    let mut first = about_a_library();
    first.matrix.cells.push(other_cell("calm"));
    let first = findings::page(&first, &both, None);
    let nothing_new = findings::page(&input(Vec::new()), &both, Some(&first));
    assert_eq!(nothing_new, first);
    let again = input(vec![other_cell("gc-pause")]);
    let again = findings::page(&again, &both, Some(&first));
    let (of_mine, _) = first.split_once("## other-lock").unwrap();
    let (still, of_other) = again.split_once("## other-lock").unwrap();
    assert_eq!(still, of_mine);
    assert!(!of_other.contains("calm"), "{again}");
    assert!(of_other.contains("<code>gc-pause</code>"), "{again}");
}

#[test]
fn a_lock_without_runs_is_said_not_to_have_been_run() {
    let page = page(vec![cell("mine", "calm", &[])]);
    assert!(page.contains("<code>mine-too</code> | not run |"), "{page}");
    assert!(
        page.contains("The same in another way.\n\nNot run.\n"),
        "{page}"
    );
}

#[test]
fn limits_speak_where_the_library_does_not() {
    let text = "format = \"picklock-limits/1\"\n[[reading]]\nkind = \"limit\"\ncauses = [\"race\", \"stolen-release\"]\n\
        because = \"No lock can.\"\n";
    let limits = Limits::read(text).unwrap();
    let mut library = Library::read(WORDS).unwrap();
    library.reading.extend(limits.reading);
    let race = (Property::Lease, Cause::Race);
    let cells = vec![ten("mine", "calm", race, 10, 10), stolen(10, 10)];
    let page = findings::page(&input(cells), &[library], None);
    assert!(page.contains("No lock can."), "{page}");
    // The library's own interpretations take precedence.
    assert!(page.contains("*A defect*: It deletes"), "{page}");
    let refused = Limits::read(&text.replace("limits/1", "limits/2")).unwrap_err();
    assert!(
        refused.to_string().contains("picklock-limits/2"),
        "{refused}"
    );
}

#[test]
fn an_interpretation_can_be_about_one_lock() {
    let words = WORDS.replacen("causes =", "locks = [\"mine\"]\ncauses =", 1);
    let library = Library::read(&words).unwrap();
    let outlived = (Property::Exclusion, Cause::OutlivedLease);
    let cells = ["mine", "mine-too"].map(|lock| ten(lock, "gc-pause", outlived, 10, 10));
    let page = findings::page(&input(cells.to_vec()), &[library], None);
    assert!(page.contains("slower than its lease"), "{page}");
    assert!(page.contains("not been classified yet"), "{page}");
    // The violations are the same, but their interpretations are not.
    assert!(!page.contains("The same violations as"), "{page}");
}

#[test]
fn violation_that_does_not_always_occur_is_marked() {
    let always = page(vec![stolen(9, 10)]);
    assert!(!always.contains("less than nine of ten"), "{always}");
    let rare = page(vec![stolen(8, 10)]);
    assert!(
        rare.contains("8 of 10 runs, which is less than nine of ten"),
        "{rare}"
    );
}

#[test]
fn a_violation_that_no_words_are_about_is_not_judged() {
    let race = (Property::Lease, Cause::Race);
    let page = page(vec![ten("mine", "calm", race, 10, 10)]);
    assert!(page.contains("has not been classified yet"), "{page}");
}

#[test]
fn runs_of_another_version_are_named() {
    let mut other = stolen(10, 10);
    "9.9".clone_into(&mut other.lock.version);
    assert!(page(vec![other]).contains("The runs are of version 9.9"));
    assert!(!page(vec![stolen(10, 10)]).contains("The runs are of version"));
}

#[test]
fn untrusted_text_stays_text() {
    let mut hostile = stolen(10, 10);
    hostile.summary = HOSTILE.to_owned();
    hostile.reproduce = HOSTILE.to_owned();
    let page = page(vec![hostile]);
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn wrong_words_are_refused_with_the_reason() {
    let library = Library::read(WORDS).unwrap();
    assert_eq!(library.reading[1].kind, Kind::Defect);
    let cases = [
        (
            WORDS.replace("library/1", "library/2"),
            "picklock-library/2",
        ),
        (
            WORDS.replace("kind = \"limit\"", "kind = \"excuse\""),
            "excuse",
        ),
        (
            WORDS.replace("outlived-lease", "outlived-leese"),
            "outlived-leese",
        ),
        (WORDS.replace("because", "becuase"), "becuase"),
        (WORDS.replace("[[locks]]", "[[unused]]"), "unused"),
        (String::new(), "missing field"),
    ];
    for (text, part) in cases {
        let refused = Library::read(&text).unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
    }
}
