//! A repro file: comments for people, then TOML for `picklock replay`.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{RecordedVerdict, Repro};

use crate::escape::visible;

/// Name of the file in a run's directory.
pub const FILE: &str = "repro.toml";

/// The text of a repro file; ends with a newline.
///
/// # Errors
/// TOML cannot represent it: a path that is not UTF-8.
pub fn text(repro: &Repro) -> Result<String, toml::ser::Error> {
    let document = toml::to_string(repro)?;
    Ok(format!("{}\n{document}", head(repro)))
}

/// The description, the results, and the commands, all as comments.
fn head(repro: &Repro) -> String {
    let mut head = String::new();
    let mut line = |words: &str| {
        // A name with a line break in it must not end the comment.
        let line = format!("# {}", visible(words));
        writeln!(head, "{}", line.trim_end()).ok();
    };
    line(&format!(
        "A run of picklock {} that can be repeated from this file alone: it includes the scenario.",
        repro.picklock
    ));
    line("");
    line(&format!(
        "{} under {}, in the backend {}, seed {}:",
        repro.lock.label.as_ref().unwrap_or(&repro.lock.name),
        repro.scenario.name,
        repro.backend.word(),
        repro.seed
    ));
    for words in in_words(&repro.verdicts) {
        line(&format!("  {words}"));
    }
    line("");
    line("To repeat the run and compare the verdicts, in the same backend or in another one:");
    let is_foreign = ["exec:", "docker:"]
        .iter()
        .any(|prefix| repro.lock.name.starts_with(prefix));
    let trust = if is_foreign { " --trust" } else { "" };
    line(&format!("  picklock replay {FILE}{trust}"));
    if let Some(backend) = another_backend(repro, is_foreign) {
        line(&format!(
            "  picklock replay {FILE}{trust} --backend {backend}"
        ));
    }
    if is_foreign {
        line("");
        line(
            "--trust lets it start the program named after `exec:` or `docker:`. Check it first if the file is not yours.",
        );
    }
    head
}

/// Another backend for a comparison. An external program cannot be simulated.
fn another_backend(repro: &Repro, is_foreign: bool) -> Option<BackendName> {
    let mut others = BackendName::ALL.into_iter().filter(|backend| {
        *backend != repro.backend
            && *backend != BackendName::External
            && repro.scenario.runs_in(*backend)
            && !(is_foreign && *backend == BackendName::Sim)
    });
    others.next()
}

/// Violated and undecided properties, one per line; held ones on one line.
fn in_words(verdicts: &BTreeMap<Property, RecordedVerdict>) -> Vec<String> {
    let telling = |status| matches!(status, Status::Violated | Status::Unknown);
    let told = verdicts.iter().filter(|(_, it)| telling(it.status));
    let mut words: Vec<String> = told
        .map(|(property, outcome)| format!("{property} {outcome}"))
        .collect();
    let held = verdicts.iter().filter(|(_, it)| it.status == Status::Held);
    let held: Vec<&str> = held.map(|(property, _)| property.word()).collect();
    if !held.is_empty() {
        words.push(format!("held: {}", held.join(", ")));
    }
    words
}

/// The comparison of the verdicts now and then: one line, without a newline.
pub fn compared(then: &Repro, now: &BTreeMap<Property, RecordedVerdict>, picklock: &str) -> String {
    let properties = Property::ALL.into_iter();
    let word = |outcome: Option<&RecordedVerdict>| {
        outcome.map_or("not judged".to_owned(), ToString::to_string)
    };
    let differ: Vec<String> = properties
        .filter(|property| then.verdicts.get(property) != now.get(property))
        .map(|property| {
            let (was, is) = (then.verdicts.get(&property), now.get(&property));
            format!("{property} {}, was {}", word(is), word(was))
        })
        .collect();
    let versions = match then.picklock == picklock {
        true => String::new(),
        false => format!(
            " (then picklock {}, now {picklock})",
            visible(&then.picklock)
        ),
    };
    match differ.is_empty() {
        true => format!("replay: same verdicts{versions}"),
        false => format!(
            "replay: different verdicts: {}{versions}",
            differ.join("; ")
        ),
    }
}
