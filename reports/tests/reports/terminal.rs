//! Terminal reports. The snapshots omit the styles, and two tests check only the styles.

use picklock_reports::terminal::{self, Detail};
use picklock_scenarios::Phase;
use picklock_verdicts::check::Property;
use picklock_verdicts::history::{Event, EventKind, KeyName};
use unicode_width::UnicodeWidthStr;

use crate::key_history_samples;
use crate::samples::{self, Sample};

/// Removes the styles: exactly the sequences that `anstyle` writes.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end.map(|end| after.split_at(end)) {
            Some((_, tail)) if tail.starts_with('m') => rest = &tail[1..],
            _ => {
                plain.push_str("\x1b[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn show(sample: Sample, width: usize) -> String {
    show_with(sample, width, Detail::Answer)
}

fn show_everything(sample: Sample, width: usize) -> String {
    show_with(sample, width, Detail::Everything)
}

fn show_with((record, history): Sample, width: usize, detail: Detail) -> String {
    let text = plain(&terminal::run(&record, &history, width, detail));
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns: {line}", line.width());
    }
    text
}

#[test]
fn gc_pause_at_120() {
    let text = show(samples::gc_pause(), 120);
    assert!(text.lines().count() <= 40, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn gc_pause_at_80() {
    let text = show(samples::gc_pause(), 80);
    assert!(text.lines().count() <= 40, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn gc_pause_with_everything() {
    insta::assert_snapshot!(show_everything(samples::gc_pause(), 100));
}

#[test]
fn gc_pause_at_60() {
    insta::assert_snapshot!(show(samples::gc_pause(), 60));
}

/// A long summary of a scenario is cut after a sentence, never within one.
#[test]
fn summary_consists_of_whole_sentences() {
    let (mut record, history) = samples::gc_pause();
    record.summary = "The first sentence is short. The second one is so long that it does not fit on the two lines \
                      that a short report has for the summary of a scenario, however wide they are here."
        .into();
    let text = show((record, history), 80);
    assert!(text.contains("  The first sentence is short.\n"), "{text}");
    assert!(!text.contains("The second one"), "{text}");
}

#[test]
fn fencing_protects_the_stock() {
    insta::assert_snapshot!(show(samples::fenced(), 100));
}

#[test]
fn unreported_lease_is_never_drawn_as_over() {
    let (record, history) = samples::silent();
    let text = plain(&terminal::run(&record, &history, 100, Detail::Answer));
    let row = text.lines().find(|line| line.starts_with("    client 1 "));
    let row = row.unwrap();
    assert!(row.contains('▓') && !row.contains('▒'), "{text}");
}

#[test]
fn late_release_deletes_the_successors_lock() {
    insta::assert_snapshot!(show(samples::stale_delete(), 100));
}

#[test]
fn shared_story_is_printed_once() {
    let (mut record, history) = samples::gc_pause();
    let overlap = record.verdicts[&Property::Exclusion].clone();
    record.verdicts.insert(Property::Lease, overlap.clone());
    record.verdicts.insert(Property::Resource, overlap.clone());
    let text = show_everything((record, history), 120);
    for sentence in &overlap.story {
        // Once in the story, and once more if it is a deciding line of the answer.
        assert!(text.matches(sentence.as_str()).count() <= 2, "{text}");
    }
    assert!(text.contains("The same story violates lease and resource."));
}

#[test]
fn overlapping_workers_are_drawn_among_many() {
    let (record, history) = samples::crowd();
    let text = show((record, history), 100);
    for worker in [37, 411] {
        let row = format!("\n    client {worker} ");
        assert!(text.contains(&row), "{text}");
    }
    assert!(text.contains("    and 494 more clients\n"), "{text}");
}

#[test]
fn calm() {
    let text = show(samples::calm(), 80);
    assert!(text.lines().count() <= 12, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn calm_at_120() {
    let text = show(samples::calm(), 120);
    assert!(text.lines().count() <= 12, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn unknown() {
    insta::assert_snapshot!(show(samples::unknown(), 100));
}

#[test]
fn interrupted() {
    insta::assert_snapshot!(show(samples::interrupted(), 100));
}

#[test]
fn run_without_grants_is_inconclusive() {
    insta::assert_snapshot!(show(samples::no_grants(), 100));
}

#[test]
fn single_worker_is_inconclusive() {
    insta::assert_snapshot!(show(samples::one_worker(), 80));
}

#[test]
fn hostile_lock_is_escaped() {
    insta::assert_snapshot!(show_everything(samples::hostile(), 120));
}

#[test]
fn control_codes_of_a_hostile_lock_are_escaped() {
    let (record, history) = samples::hostile();
    let text = terminal::run(&record, &history, 120, Detail::Everything).to_string();
    let commands = plain(&text).chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(commands, None);
    // The attack's own green must appear as text, not as a style.
    assert!(text.contains(r"\u{1b}[1;32m"));
    assert!(!text.contains("\x1b[1;32m"));
}

#[test]
fn overlapping_holds_are_red() {
    let (record, history) = samples::gc_pause();
    let text = terminal::run(&record, &history, 100, Detail::Answer).to_string();
    let row = |worker: &str| {
        let found = text.lines().find(|line| plain(line).starts_with(worker));
        found.unwrap().to_owned()
    };
    let red = "\x1b[1m\x1b[31m";
    assert!(row("    client 0 ").contains(red), "{text}");
    assert!(row("    client 1 ").contains(red));
    assert!(!row("    client 2 ").contains(red));
}

#[test]
fn node_rows_show_authors_and_ends_of_values() {
    let text = show_everything(key_history_samples::eroded_quorum(), 100);
    let row = |node: &str| {
        let row = text.lines().find(|line| line.starts_with(node));
        row.unwrap_or_else(|| panic!("no {node}: {text}"))
    };
    assert!(row("    node 0").contains("─◊├ c1 ─"), "{text}");
    assert!(row("    node 1").contains(" removed by c0 ┤"), "{text}");
    assert!(row("    node 3").contains(" removed by c0 ╳"), "{text}");
    assert!(row("    node 4").contains(" ran out ┤"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn node_rows_fit_a_narrow_terminal() {
    let text = show_everything(key_history_samples::eroded_quorum(), 60);
    assert!(text.contains("├ c1 ─ by c0 ╳"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn control_codes_in_keys_are_escaped() {
    let text = show_everything(key_history_samples::hostile(), 100);
    let commands = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(commands, None);
    assert!(text.contains("\n    node 3 …"), "{text}");
}

#[test]
fn missing_key_history_is_noted_once() {
    let text = show(samples::gc_pause(), 100);
    assert_eq!(text.matches("No key history").count(), 1, "{text}");
    assert!(!text.contains("    node 0"), "{text}");
}

/// The elements of a semaphore's collection are not nodes.
#[test]
fn elements_of_a_collection_share_a_row() {
    let (record, mut history) = samples::gc_pause();
    history.header.key_history = true;
    for permit in ["stock [a1]", "stock [b2]"] {
        let key = KeyName::Permit {
            lock: 0,
            permit: permit.into(),
        };
        let mut taken = key_history_samples::changed(
            0,
            Some("1"),
            key_history_samples::command(0, 3, Phase::Acquire, "EVAL"),
        );
        if let EventKind::KeyChanged { key: changed, .. } = &mut taken {
            *changed = key;
        }
        let at_ns = 221_000_000;
        let later = history.events.iter().position(|event| event.at_ns > at_ns);
        let event = Event { at_ns, what: taken };
        history.events.insert(later.unwrap(), event);
    }
    let text = show((record, history), 100);
    assert!(text.contains("\n    2 elements "), "{text}");
    assert!(!text.contains("2 nodes"), "{text}");
}
