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
    let lock = repro.lock.label.as_ref().unwrap_or(&repro.lock.name);
    let (scenario, backend, seed) = (&repro.scenario.name, repro.backend, repro.seed);
    line(&format!(
        "{lock} under {scenario}, in the backend {backend}, seed {seed}:"
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
            "--trust lets it start the program named after `exec:` or `docker:`. Check it first if the file is not yours.",
        );
    }
    head
}

/// Another backend for a comparison. An external program cannot be simulated.
fn another_backend(repro: &Repro, is_foreign: bool) -> Option<BackendName> {
    BackendName::ALL.into_iter().find(|backend| {
        *backend != repro.backend
            && *backend != BackendName::External
            && repro.scenario.runs_in(*backend)
            && !(is_foreign && *backend == BackendName::Sim)
    })
}

/// Violated and undecided properties, one per line; held ones on one line.
fn describe(verdicts: &BTreeMap<Property, RecordedVerdict>) -> Vec<String> {
    let telling = |status| matches!(status, Status::Violated | Status::Unknown);
    let told = verdicts.iter().filter(|(_, it)| telling(it.status));
    let mut words: Vec<String> = told
        .map(|(property, outcome)| format!("{property} {outcome}"))
        .collect();
    let held = verdicts.iter().filter(|(_, it)| it.status == Status::Held);
    let held: Vec<&str> = held.map(|(property, _)| property.as_str()).collect();
    if !held.is_empty() {
        words.push(format!("held: {}", held.join(", ")));
    }
    words
}

/// The comparison of the verdicts now and then: one line, without a newline.
pub fn compared(then: &Repro, now: &BTreeMap<Property, RecordedVerdict>, picklock: &str) -> String {
    let word = |outcome: Option<&RecordedVerdict>| {
        outcome.map_or("not judged".to_owned(), ToString::to_string)
    };
    let differ = Property::ALL.into_iter().filter_map(|property| {
        let (was, is) = (then.verdicts.get(&property), now.get(&property));
        (was != is).then(|| format!("{property} {}, was {}", word(is), word(was)))
    });
    let differ = differ.collect::<Vec<_>>().join("; ");
    let before = visible(&then.picklock);
    let versions = match then.picklock == picklock {
        true => String::new(),
        false => format!(" (then picklock {before}, now {picklock})"),
    };
    match differ.is_empty() {
        true => format!("replay: same verdicts{versions}"),
        false => format!("replay: different verdicts: {differ}{versions}"),
    }
}
