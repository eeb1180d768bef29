//! Suggests corrections for a refused command line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use picklock_impls::find;
use picklock_scenarios::{catalog, did_you_mean, nearest};

/// Usage of each command that needs a name.
const CALLS: &[(&str, &str)] = &[
    ("scenario", "picklock scenario gc-pause --impl redlock"),
    ("run", "picklock scenario gc-pause --impl redlock"),
    (
        "hunt",
        "picklock hunt --impl my-lock --backend process --for 2m",
    ),
    ("sweep", "picklock sweep --impl redlock"),
    ("replay", "picklock replay run-1"),
    ("check", "picklock check run-1"),
    ("log", "picklock log run-1"),
    ("report", "picklock report run-1"),
    ("init", "picklock init --lang python my-lock"),
    (
        "adapter",
        "picklock adapter check \"python3 my_adapter.py\"",
    ),
    ("completions", "picklock completions bash"),
];

/// Retired flags, each with the flag that replaced it.
const RETIRED: [(&str, &str); 3] = [
    ("--like", "--reference"),
    ("--once", "--no-rerun"),
    ("--plain", "--uniform"),
];

/// Flags that set a number of repetitions in other programs.
const COUNTS: [&str; 5] = ["--runs", "--seeds", "--repeat", "--count", "--iterations"];

/// Returns a question that suggests the nearest of these names, or an empty text if no name is similar.
pub fn or_meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean(word, known).map_or(String::new(), |question| format!("; {question}"))
}

/// Returns the advice for a refused command line. `args` are all its words, starting with the program's name.
pub fn hint(error: &clap::Error, args: &[String]) -> Option<String> {
    let command = args.get(1).map_or("", String::as_str);
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let (_, call) = CALLS.iter().find(|(name, _)| *name == command)?;
            let names = if *call == CALLS[0].1 {
                " (`picklock list` lists the names)"
            } else {
                ""
            };
            Some(format!("as in `{call}`{names}"))
        }
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            subcommand_hint(text(ContextKind::InvalidSubcommand)?, args)
        }
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg)?;
            unquoted(word, args).or_else(|| argument_hint(word, command))
        }
        ErrorKind::InvalidValue if command == "init" && error.get(ContextKind::SuggestedValue).is_none() => {
            Some("an adapter in another language is a program that answers a few requests: `picklock docs protocol` describes them, and `picklock init --lang bash` writes the shortest example".into())
        }
        ErrorKind::ArgumentConflict if matches!(command, "scenario" | "run") => {
            Some("one run tests one lock: `picklock matrix --impl NAME,NAME` tests several".into())
        }
        _ => None,
    }
}

/// Returns advice for a first word that is not a command: it may be the name of a scenario, a lock or an adapter.
fn subcommand_hint(word: &str, args: &[String]) -> Option<String> {
    if args.get(1).is_some_and(|first| first == "adapter") {
        return Some(format!("did you mean `picklock adapter check {word}`?"));
    }
    if find(word).is_some() {
        return Some(format!(
            "did you mean `picklock scenario gc-pause --impl {word}`?"
        ));
    }
    let is_path = word.contains('/') || word.ends_with(".toml");
    let meant = if is_path {
        Some(word)
    } else {
        nearest(word, catalog::names())
    };
    match meant {
        Some(scenario) => Some(format!("did you mean `picklock scenario {scenario}`?")),
        None => Some("`picklock scenario NAME --impl LOCK` runs a scenario".to_owned()),
    }
}

/// Returns advice for a word that belongs to a command without quotes, as in `--impl exec:python3 my_lock.py`.
fn unquoted(word: &str, args: &[String]) -> Option<String> {
    let is_check = args.get(1..3)? == ["adapter", "check"];
    let starts_program = |arg: &String| arg.split('=').any(|part| part.starts_with("exec:"));
    let begin = if is_check {
        3
    } else {
        args.iter().position(starts_program)?
    };
    let is_scenario = |arg: &&String| catalog::names().any(|name| name == *arg);
    let rest = args.get(begin + 1..)?.iter();
    let rest: Vec<&str> = rest
        .take_while(|arg| !arg.starts_with("--"))
        .filter(|arg| !is_scenario(arg))
        .map(String::as_str)
        .collect();
    if rest.is_empty() || !args[begin + 1..].iter().any(|arg| arg == word) {
        return None;
    }
    let (flag, first) = match args[begin].split_once('=') {
        Some((flag, first)) if flag.starts_with("--") => (flag, first),
        _ if is_check => ("picklock adapter check", args[begin].as_str()),
        _ => (args[begin - 1].as_str(), args[begin].as_str()),
    };
    Some(format!(
        "a command of several words is one word in quotes: {flag} \"{first} {}\"",
        rest.join(" ")
    ))
}

/// Returns advice for an argument that the command does not have.
fn argument_hint(word: &str, command: &str) -> Option<String> {
    if let Some((old, new)) = RETIRED.iter().find(|(old, _)| *old == word) {
        return Some(format!("`{old}` is now `{new}`"));
    }
    if !matches!(command, "scenario" | "run") {
        return None;
    }
    if find(word).is_some() || word.starts_with("exec:") || word.starts_with("docker:") {
        return Some(format!("did you mean `--impl {word}`?"));
    }
    if COUNTS.contains(&word) {
        return Some(
            "one run has one seed: `picklock matrix --scenario NAME --impl LOCK --seeds N` makes many"
                .to_owned(),
        );
    }
    None
}
