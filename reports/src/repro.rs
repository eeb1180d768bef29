//! A repro file: comments for readers, then TOML for `picklock replay`.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{RecordedVerdict, Repro};

use crate::escape::{visible, visible_toml};

/// Name of the file in a run's directory.
pub const FILE: &str = "repro.toml";

/// Returns the text of a repro file, which ends with a newline.
///
/// # Errors
/// Returns an error if TOML cannot represent a value, such as a path that is not UTF-8.
pub fn text(repro: &Repro) -> Result<String, toml::ser::Error> {
    let document = visible_toml(&toml::to_string(repro)?);
    Ok(format!("{}\n{document}", head(repro)))
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
    // Two runs on servers differ in many ways, so only the violations are compared. A simulation repeats exactly.
    let is_exact = then.backend == BackendName::Sim;
    let same = Property::ALL.into_iter().filter(|property| {
        let was = then.verdicts.get(property);
        was.is_some_and(|was| was.status == Status::Violated) && was == now.get(property)
    });
    let same: Vec<String> = same
        .map(|it| format!("{it} {}", describe(now.get(&it))))
        .collect();
    let is_violated = |verdicts: &BTreeMap<Property, RecordedVerdict>, property: Property| {
        let verdict = verdicts.get(&property);
        verdict.is_some_and(|verdict| verdict.status == Status::Violated)
    };
    let all = || Property::ALL.into_iter();
    let is_gone = all().any(|it| is_violated(&then.verdicts, it) && !is_violated(now, it));
    let left = all().filter(|it| is_violated(now, *it));
    let left: Vec<&str> = left.map(Property::as_str).collect();
    // A reader who has repaired the lock must see why the replay still fails.
    let left = match left[..] {
        [] => String::new(),
        _ if !is_gone => String::new(),
        [only] => format!("; the exit code is 1, because {only} is violated"),
        _ => format!(
            "; the exit code is 1, because {} are violated",
            left.join(", ")
        ),
    };
    if differ.is_empty() {
        format!("replay: same verdicts{versions}")
    } else if !same.is_empty() && !is_exact {
        format!(
            "replay: same violation: {}; otherwise {differ}{left}{versions}",
            same.join("; ")
        )
    } else {
        format!("replay: different verdicts: {differ}{left}{versions}")
    }
}
