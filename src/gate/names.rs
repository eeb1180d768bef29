//! Names in `[[cells]]`: locks with their options, scenarios, profiles.

use std::collections::BTreeMap;

use picklock_impls::{OptionError, all, find};
use picklock_reports::configuration::{LockTable, Source};
use picklock_scenarios::profile::PROFILES;
use picklock_scenarios::{ScenarioError, catalog};
use toml::{Spanned, Value};

use crate::configuration::configured_locks::ConfiguredLocks;
use crate::named_lock::{NamedLock, is_program};

/// Reads a lock with its options, from a name or a [`LockTable`].
pub fn lock(
    source: &Source,
    value: &Spanned<Value>,
    impls: &ConfiguredLocks,
) -> Result<(NamedLock, BTreeMap<String, String>), ScenarioError> {
    let at = value.span().start;
    let table = match value.get_ref() {
        Value::String(name) => LockTable {
            lock: name.clone(),
            name: None,
            options: BTreeMap::new(),
        },
        other => (other.clone().try_into()).map_err(|error| source.unreadable(&error, at))?,
    };
    let lock = match &table.name {
        Some(label) => NamedLock::labelled(label, &table.lock)
            .map_err(|problem| source.wrong(at, format!("name: {problem}")))?,
        None => NamedLock::plain(&table.lock),
    };
    check_lock(source, at, &table.lock, impls)?;
    check_options(source, at, &table)?;
    Ok((lock, table.options))
}

pub fn check_lock(
    source: &Source,
    at: usize,
    name: &str,
    impls: &ConfiguredLocks,
) -> Result<(), ScenarioError> {
    if is_program(name) || find(name).is_some() || impls.get(name).is_some() {
        return Ok(());
    }
    let built_in = all().map(|lock| lock.name);
    let problem = format!(
        "no such lock: `{name}`; `picklock list impls` lists the built-in ones; a program of your own is named by a table [impl.NAME], or by `exec:COMMAND`"
    );
    Err(source.unknown(at, problem, name, built_in.chain(impls.names())))
}

/// Checks the options of a built-in lock. The options of a program are unknown to Picklock.
fn check_options(source: &Source, at: usize, table: &LockTable) -> Result<(), ScenarioError> {
    let Some(lock) = find(&table.lock) else {
        return Ok(());
    };
    for (name, value) in &table.options {
        if let Err(error) = lock.read_options([(name.as_str(), value.as_str())]) {
            let problem = format!("options: `{name}`: {error}");
            let known = match error {
                OptionError::Unknown { declared, .. } => declared,
                _ => Vec::new(),
            };
            return Err(source.unknown(at, problem, name, known));
        }
    }
    Ok(())
}

/// Checks a scenario's name against the catalog. Scenario files are read when the cells are planned.
pub fn scenario(source: &Source, name: &Spanned<String>) -> Result<String, ScenarioError> {
    let word = name.get_ref();
    if word.ends_with(".toml") || catalog::names().any(|known| known == word) {
        return Ok(word.clone());
    }
    let problem = format!(
        "no such scenario: `{word}`; `picklock list scenarios` lists the catalog; your own is a path that ends in .toml"
    );
    Err(source.unknown(name.span().start, problem, word, catalog::names()))
}

pub fn check_profile(source: &Source, name: &Spanned<String>) -> Result<(), ScenarioError> {
    let word = name.get_ref();
    let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    if known.contains(&word.as_str()) {
        return Ok(());
    }
    let problem = format!("no such profile: `{word}`; there is {}", known.join(", "));
    Err(source.unknown(name.span().start, problem, word, known))
}
