//! A repro as the text of its file: a head in words for people, then TOML for `picklock replay`.

use picklock_scenarios::WorldName;
use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{Outcome, Repro};

use crate::escape::visible;

/// Name of the file in a run's directory.
pub const FILE: &str = "repro.toml";

/// The repro's file: ends with a newline.
///
/// # Errors
/// Something in it has no form in TOML: a path that is not UTF-8.
pub fn text(repro: &Repro) -> Result<String, toml::ser::Error> {
    let document = toml::to_string(repro)?;
    Ok(format!("{}\n{document}", head(repro)))
}

/// What it is, what came out, and what to type: every line a comment.
fn head(repro: &Repro) -> String {
    let mut head = String::new();
    let mut line = |words: &str| {
        // A name with a line break in it must not end the comment.
        let line = format!("# {}", visible(words));
        writeln!(head, "{}", line.trim_end()).ok();
    };
    line(&format!(
        "A run of picklock {}, to be seen again. It needs nothing else: the scenario is in it.",
        repro.picklock
    ));
    line("");
    line(&format!(
        "{} under {}, in the world {}, seed {}:",
        repro.subject.name,
        repro.scenario.name,
        repro.backend.word(),
        repro.seed
    ));
    for words in in_words(&repro.verdicts) {
        line(&format!("  {words}"));
    }
    line("");
    line("To run it again, and to hear whether the same comes out, there or in another world:");
    line(&format!("  picklock replay {FILE}"));
    let is_foreign = repro.subject.name.starts_with("exec:");
    if let Some(world) = another_world(repro, is_foreign) {
        line(&format!("  picklock replay {FILE} --backend {world}"));
    }
    if is_foreign {
        line("");
        line(
            "It starts the program that stands after `exec:`. Look at it first if the file is not yours.",
        );
    }
    head
}

/// One that the run can be held against. A program of the user's own cannot be simulated.
fn another_world(repro: &Repro, is_foreign: bool) -> Option<WorldName> {
    let mut others = WorldName::ALL.into_iter().filter(|world| {
        *world != repro.backend
            && repro.scenario.runs_in(*world)
            && !(is_foreign && *world == WorldName::Sim)
    });
    others.next()
}

/// What was violated and what could not be judged, one a line; what held, in one.
fn in_words(verdicts: &BTreeMap<Property, Outcome>) -> Vec<String> {
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

/// Whether what came out now is what came out then: one line, without its end.
pub fn compared(then: &Repro, now: &BTreeMap<Property, Outcome>, picklock: &str) -> String {
    let properties = Property::ALL.into_iter();
    let word =
        |outcome: Option<&Outcome>| outcome.map_or("not judged".to_owned(), ToString::to_string);
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
        true => format!("replay: the same verdicts came out{versions}"),
        false => format!(
            "replay: otherwise than then: {}{versions}",
            differ.join("; ")
        ),
    }
}
