//! The lanes of the nodes' keys, as data of the page.

use picklock_reports::combine::from_run;
use picklock_reports::html::page;
use picklock_verdicts::history::{Event, History};
use picklock_verdicts::key_history::write_key_history;
use serde_json::Value;

use super::runs;
use crate::key_history_samples::{ATTACK, changed, command, eroded_quorum, hostile};
use crate::samples::{self, Sample};

/// Returns the data of the page's only timeline.
fn track(page: &str) -> Value {
    let from = page.find("id=\"track-0\">").expect("a timeline") + "id=\"track-0\">".len();
    let to = page[from..].find("</script>").expect("its end");
    serde_json::from_str(&page[from..from + to]).expect("JSON")
}

fn page_of((record, history): Sample) -> String {
    page(&from_run(record, Some(history))).unwrap()
}

/// Returns the lines of `key-history.jsonl` except the first, which names the format.
pub fn key_history(history: &History) -> Vec<Value> {
    let mut text = Vec::new();
    write_key_history(history, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().skip(1);
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The lanes have exactly the values of the key history: node, key, author, period and end.
#[test]
fn lane_data_matches_the_key_history() {
    for (lock, scenario) in [
        ("redlock", "quorum-erosion"),
        ("get-then-del", "stale-delete"),
        ("fenced", "gc-pause"),
        ("watchdog", "slow-section"),
    ] {
        let input = runs::matrix(&[lock], &[scenario], 1);
        let mut wanted = key_history(input.evidence[0].history.as_ref().unwrap());
        let track = track(&page(&input).unwrap());
        let texts = &track["values"]["texts"];
        let text = |index: &Value| match index.as_u64() {
            Some(index) => texts[index as usize].as_str().unwrap().to_owned(),
            None => String::new(),
        };
        let mut drawn = 0;
        for row in track["values"]["rows"].as_array().unwrap() {
            for piece in row["pieces"].as_array().unwrap() {
                drawn += 1;
                let place = wanted.iter().position(|line| {
                    (&line["node"], &line["key"]) == (&row["node"], &row["key"])
                        && (&line["from_ns"], &line["until_ns"])
                            == (&piece["from_ns"], &piece["to_ns"])
                });
                let line = wanted.swap_remove(place.unwrap_or_else(|| panic!("{piece}")));
                assert_eq!(line["value"], text(&piece["value"]), "{line}");
                assert_eq!(line["written_by"]["worker"], piece["who"], "{line}");
                assert_eq!(line["ended_by"]["worker"], piece["by"], "{line}");
                let end = text(&piece["end"]).replace(' ', "-");
                let stays = line["end"] == "stays" && end.is_empty();
                assert!(stays || line["end"] == end, "{line}");
            }
        }
        assert!(drawn > 3, "{lock} in {scenario}");
        assert_eq!(wanted, Vec::<Value>::new(), "{lock} in {scenario}");
    }
}

#[test]
fn markup_in_keys_values_and_commands_is_escaped() {
    let page = page_of(hostile());
    assert!(!page.contains("<img"), "markup got through");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("<!--"));
    assert!(!page.contains(['\u{2028}', '\u{202e}', '\u{1b}']));
    let values = &track(&page)["values"];
    let shown = values["rows"][0]["key"].as_str().unwrap();
    assert!(shown.starts_with(r"\u{1b}[2J</script><!--"), "{shown}");
    let texts = values["texts"].as_array().unwrap();
    let of_attack = |text: &&Value| text.as_str().unwrap().contains("<script>");
    assert!(texts.iter().filter(of_attack).count() >= 1, "{ATTACK}");
}

#[test]
fn missing_key_history_is_noted() {
    let page = page_of(samples::gc_pause());
    assert_eq!(page.matches("No key history: the values").count(), 1);
    assert_eq!(track(&page)["values"]["rows"], Value::Array(vec![]));
}

/// Fifty thousand values on two hundred keys are limited, and the page states the limits.
#[test]
fn page_limits_many_values_and_notes_omissions() {
    let (record, mut history) = eroded_quorum();
    let began_ns = history.events.last().unwrap().at_ns;
    for n in 0..50_000_u64 {
        let why = command(0, 100 + n, picklock_scenarios::Phase::Acquire, "SET");
        let what = changed((n % 200) as usize, Some(&format!("value {n}")), why);
        let at_ns = began_ns + n * 1_000_000;
        history.events.push(Event { at_ns, what });
    }
    let page = page_of((record, history));
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(
        page.contains("are drawn as one"),
        "note about merged values"
    );
    assert!(page.contains("Only 48 of 200 keys of nodes have a lane"));
    let track = track(&page);
    let rows = track["values"]["rows"].as_array().unwrap();
    // The lanes of the violation are drawn, and their values are not merged.
    let first = &rows[0]["pieces"][0];
    assert_eq!(
        (&rows[0]["node"], &first["from_ns"]),
        (&0.into(), &2_000_000.into())
    );
    assert_eq!(first["many"], Value::Null);
}
