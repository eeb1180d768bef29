//! A repro file: comments for readers, then TOML for `picklock replay`.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{RecordedVerdict, Repro};

use crate::escape::{visible, visible_lines, without_hash_commands};

/// Name of the file in a run's directory.
pub const FILE: &str = "repro.toml";

/// Returns the text of a repro file, which ends with a newline.
///
/// # Errors
/// Returns an error if TOML cannot represent a value, such as a path that is not UTF-8.
pub fn text(repro: &Repro) -> Result<String, toml::ser::Error> {
    let document = toml::to_string(repro)?;
    Ok(format!("{}\n{}", head(repro), inert_document(&document)))
}

/// Replaces each string of a TOML document that commands a terminal or the runner of a CI job by a string with escapes.
fn inert_document(document: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(document.len()), document);
    while let Some(start) = rest.find(['"', '\'']) {
        let (before, from) = rest.split_at(start);
        let (string, after) = from.split_at(string_length(from));
        shown.push_str(before);
        shown.push_str(&inert_string(string));
        rest = after;
    }
    shown + rest
}

/// Returns the length of the TOML string with which a text begins, including its quotes.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let mark = if text.starts_with(triple.as_str()) {
        triple.as_str()
    } else {
        quote
    };
    let mut at = mark.len();
    while let Some(c) = text[at..].chars().next() {
        if c == '\\' && quote == "\"" {
            at += 1;
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        } else if text[at..].starts_with(mark) {
            at += mark.len();
            // The string itself may end with one or two quotes.
            let is_more = |at: usize| mark.len() == 3 && text[at..].starts_with(quote);
            while is_more(at) {
                at += 1;
            }
            return at;
        } else {
            at += c.len_utf8();
        }
    }
    at
}

fn inert_string(string: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Line {
        text: String,
    }
    let without_tabs = string.replace('\t', " ");
    if visible_lines(&without_tabs) == without_tabs {
        return string.to_owned();
    }
    let Ok(Line { text }) = toml::from_str(&format!("text = {string}\n")) else {
        return string.to_owned();
    };
    let mut basic = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '"' | '\\' => basic.extend(['\\', c]),
            '\n' => basic.push_str("\\n"),
            c if visible(c.encode_utf8(&mut [0; 4])) != *c.encode_utf8(&mut [0; 4]) => {
                basic.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => basic.push(c),
        }
    }
    format!("\"{}\"", without_hash_commands(&basic, "\\u0023"))
}

/// Returns the description, the results and the commands, all as comments.
fn head(repro: &Repro) -> String {
    let mut head = String::new();
    let mut line = |text: &str| {
        // A line break in a name must not end the comment.
        let line = format!("# {}", visible(text));
        writeln!(head, "{}", line.trim_end()).ok();
    };
    line(&format!(
        "A run of picklock {} that can be repeated from this file alone, because it includes the scenario.",
        repro.picklock
    ));
    line("");
    let lock = repro.lock.label.as_ref().unwrap_or(&repro.lock.name);
    let (scenario, backend, seed) = (&repro.scenario.name, repro.backend, repro.seed);
    line(&format!(
        "{lock} in {scenario}, backend {backend}, seed {seed}:"
    ));
    for words in describe(&repro.verdicts) {
        line(&format!("  {words}"));
    }
    line("");
    line("To repeat the run and compare the verdicts, in the same backend or in another one:");
    let name = &repro.lock.name;
    let is_foreign = name.starts_with("exec:") || name.starts_with("docker:");
    let trust = if is_foreign { " --trust" } else { "" };
    let command = format!("  picklock replay {FILE}{trust}");
    line(&command);
    if let Some(backend) = another_backend(repro, is_foreign) {
        line(&format!("{command} --backend {backend}"));
    }
    if is_foreign {
        line("");
        line(
            "--trust allows replay to start the program named after `exec:` or `docker:`. Check it first if the file is not yours.",
        );
    }
    head
}

/// Returns another backend for a comparison. An external program cannot be simulated.
fn another_backend(repro: &Repro, is_foreign: bool) -> Option<BackendName> {
    BackendName::ALL.into_iter().find(|backend| {
        *backend != repro.backend
            && *backend != BackendName::External
            && repro.scenario.runs_in(*backend)
            && !(is_foreign && *backend == BackendName::Sim)
    })
}

/// Lists violated and inconclusive properties, one per line, and held ones on one line.
fn describe(verdicts: &BTreeMap<Property, RecordedVerdict>) -> Vec<String> {
    let is_listed = |status| matches!(status, Status::Violated | Status::Unknown);
    let listed = verdicts.iter().filter(|(_, it)| is_listed(it.status));
    let mut words: Vec<String> = listed
        .map(|(property, outcome)| format!("{property} {outcome}"))
        .collect();
    let held = verdicts.iter().filter(|(_, it)| it.status == Status::Held);
    let held: Vec<&str> = held.map(|(property, _)| property.as_str()).collect();
    if !held.is_empty() {
        words.push(format!("held: {}", held.join(", ")));
    }
    words
}

/// Compares the verdicts of the recorded run and of the replay on one line, without a newline.
pub fn compared(then: &Repro, now: &BTreeMap<Property, RecordedVerdict>, picklock: &str) -> String {
    let describe = |outcome: Option<&RecordedVerdict>| {
        outcome.map_or("inconclusive".to_owned(), ToString::to_string)
    };
    let differ = Property::ALL.into_iter().filter_map(|property| {
        let (was, is) = (then.verdicts.get(&property), now.get(&property));
        (was != is).then(|| format!("{property} {}, was {}", describe(is), describe(was)))
    });
    let differ = differ.collect::<Vec<_>>().join("; ");
    let before = visible(&then.picklock);
    let versions = if then.picklock == picklock {
        String::new()
    } else {
        format!(" (then picklock {before}, now {picklock})")
    };
    // A run on servers differs from another in many ways; the violation is what it was kept for. A simulation repeats.
    let is_exact = then.backend == BackendName::Sim;
    let same = Property::ALL.into_iter().filter(|property| {
        let was = then.verdicts.get(property);
        was.is_some_and(|was| was.status == Status::Violated) && was == now.get(property)
    });
    let same: Vec<String> = same
        .map(|it| format!("{it} {}", describe(now.get(&it))))
        .collect();
    if differ.is_empty() {
        format!("replay: same verdicts{versions}")
    } else if !same.is_empty() && !is_exact {
        format!(
            "replay: same violation: {}; otherwise {differ}{versions}",
            same.join("; ")
        )
    } else {
        format!("replay: different verdicts: {differ}{versions}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_a_document_command_nothing() {
        let hostile = [
            "\u{1b}]0;pwn\u{7}\n::error::X\r::warning file=a::Y\u{202e}\u{2066}\u{9b}31m",
            "\u{e0001}'\"\\ \"\"\" ''' é",
            "a ##vso[b]##teamcity[c]",
            "\"\"\"\n::error::x\n'''\"\"",
            "::error::x",
        ];
        let plain = ["", "a\nb\tc", "it's \"x\"", "\\", "'''", "\"\"", "ends\n\""];
        for text in hostile.into_iter().chain(plain) {
            let table = BTreeMap::from([("first", text), ("other", "a"), (text, "k")]);
            let written = toml::to_string(&table).unwrap();
            let shown = inert_document(&written);
            let read: BTreeMap<String, String> = toml::from_str(&shown).unwrap();
            let expected: BTreeMap<String, String> = toml::from_str(&written).unwrap();
            assert_eq!(read, expected);
            assert_eq!((&*read["first"], &*read[text]), (text, "k"), "{shown}");
            let without_tabs = shown.replace('\t', " ");
            assert_eq!(visible_lines(&without_tabs), without_tabs);
            if plain.contains(&text) {
                assert_eq!(shown, written);
            }
        }
    }
}
