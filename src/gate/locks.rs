//! Names in `picklock.toml`: locks with their options, scenarios, backends.

use std::collections::BTreeMap;

use picklock_impls::{LOCKS, MUTANTS, OptionError, find};
use picklock_reports::configuration::Source;
use picklock_scenarios::profile::PROFILES;
use picklock_scenarios::{BackendName, UnknownBackend, catalog};
use toml::{Spanned, Value};

use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::named_lock::{NamedLock, is_program};

/// A lock as named in the configuration.
#[derive(Debug, Clone)]
pub struct Named {
    /// The lock.
    pub lock: NamedLock,
    /// Its options.
    pub options: BTreeMap<String, String>,
}

/// Reads a lock: a name, or `{ impl = NAME, name = LABEL, options = { KEY = VALUE } }`.
pub fn lock(
    source: &Source,
    value: &Spanned<Value>,
    impls: &ConfiguredLocks,
) -> Result<Named, Failure> {
    let at = value.span().start;
    let shape = "expected the name of a lock, or { impl = \"NAME\", options = { KEY = \"VALUE\" } }; for a program also name = \"LABEL\"";
    let named = match value.get_ref() {
        Value::String(name) => Named {
            lock: NamedLock::plain(name),
            options: BTreeMap::new(),
        },
        Value::Table(table) => {
            let known = ["impl", "name", "options"];
            if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
                let problem = format!("unknown key `{key}`; {shape}");
                return Err(source.unknown(at, problem, key, known));
            }
            let Some(name) = table.get("impl").and_then(Value::as_str) else {
                return Err(source.wrong(at, shape, None));
            };
            Named {
                lock: labelled(source, at, name, table.get("name"))?,
                options: options(source, at, table.get("options"))?,
            }
        }
        _ => return Err(source.wrong(at, shape, None)),
    };
    check_name(source, at, named.lock.given(), impls)?;
    check_options(source, at, &named)?;
    Ok(named)
}

fn labelled(
    source: &Source,
    at: usize,
    given: &str,
    label: Option<&Value>,
) -> Result<NamedLock, Failure> {
    let Some(label) = label else {
        return Ok(NamedLock::plain(given));
    };
    let label = label
        .as_str()
        .ok_or_else(|| source.wrong::<Failure>(at, "name: expected a label as text", None))?;
    NamedLock::labelled(label, given)
        .map_err(|problem| source.wrong(at, format!("name: {problem}"), None))
}

fn options(
    source: &Source,
    at: usize,
    table: Option<&Value>,
) -> Result<BTreeMap<String, String>, Failure> {
    let wrong = || -> Failure {
        source.wrong(
            at,
            "options: expected a table of strings, as in { retries = \"3\" }",
            None,
        )
    };
    let Some(table) = table else {
        return Ok(BTreeMap::new());
    };
    let entries = table.as_table().ok_or_else(wrong)?.iter();
    let entries = entries.map(|(key, value)| {
        let value = value.as_str().ok_or_else(wrong)?;
        Ok((key.clone(), value.to_owned()))
    });
    entries.collect()
}

/// Checks the name of a lock.
pub fn check_name(
    source: &Source,
    at: usize,
    name: &str,
    impls: &ConfiguredLocks,
) -> Result<(), Failure> {
    if is_program(name) || find(name).is_some() || impls.get(name).is_some() {
        return Ok(());
    }
    let known = || {
        LOCKS
            .iter()
            .chain(MUTANTS)
            .map(|lock| lock.name)
            .chain(impls.names())
    };
    let problem = format!(
        "no such lock: `{name}`; `picklock list impls` lists the built-in ones; a program of your own is named by a table [impl.NAME], or by `exec:COMMAND`"
    );
    Err(source.unknown(at, problem, name, known()))
}

fn check_options(source: &Source, at: usize, named: &Named) -> Result<(), Failure> {
    let Some(lock) = find(named.lock.given()) else {
        return Ok(());
    };
    for (name, value) in &named.options {
        match lock.read_options([(name.as_str(), value.as_str())]) {
            Ok(_) => {}
            Err(OptionError::Unknown { name, declared }) => {
                let known = declared.clone();
                let error = OptionError::Unknown {
                    name: name.clone(),
                    declared,
                };
                let problem = format!("options: `{name}`: {error}");
                return Err(source.unknown(at, problem, &name, known));
            }
            Err(error) => {
                return Err(source.wrong(at, format!("options: `{name}`: {error}"), None));
            }
        }
    }
    Ok(())
}

/// Checks a scenario's name against the catalog. Files are read when the cells are planned.
pub fn check_scenario(source: &Source, name: &Spanned<String>) -> Result<(), Failure> {
    let word = name.get_ref();
    if word.ends_with(".toml") || catalog::names().any(|known| known == word) {
        return Ok(());
    }
    let problem = format!(
        "no such scenario: `{word}`; `picklock list scenarios` lists the catalog; your own is a path that ends in .toml"
    );
    Err(source.unknown(name.span().start, problem, word, catalog::names()))
}

/// Checks the name of a profile.
pub fn check_profile(source: &Source, name: &Spanned<String>) -> Result<(), Failure> {
    let word = name.get_ref();
    let known = || PROFILES.iter().map(|profile| profile.name);
    if known().any(|known| known == word) {
        return Ok(());
    }
    let known: Vec<&str> = known().collect();
    let problem = format!("no such profile: `{word}`; there is {}", known.join(", "));
    Err(source.unknown(name.span().start, problem, word, known))
}

/// Reads a backend. `auto` is not accepted, because the gate must run the same cells every time.
pub fn backend(source: &Source, name: &Spanned<String>) -> Result<BackendName, Failure> {
    let word = name.get_ref();
    word.parse().map_err(|unknown: UnknownBackend| {
        let known = BackendName::ALL.map(BackendName::word);
        source.unknown(name.span().start, unknown.to_string(), word, known)
    })
}
