//! A lock of an `[impl.NAME]` table: a program of the user, with everything that is needed to start it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use picklock_harness::adapter::command_line::{self, CommandLineError};
use picklock_impls::STRATEGIES;
use picklock_reports::configuration::{ImplTable, Source};
use picklock_scenarios::Topology;
use toml::Spanned;

use crate::exit::Failure;
use crate::named_subject::{EXEC, check_label};
use crate::standard::{self, Claims};

/// How many nodes a program may take its lock on: as many as a scenario may have.
pub const NODES: RangeInclusive<usize> = 1..=Topology::MOST_NODES;

/// How many replicas of each node a program may need.
pub const REPLICAS: RangeInclusive<usize> = 0..=Topology::MOST_REPLICAS;

/// Variables that Picklock itself sets for a worker. The first is the one by which a library is
/// preloaded that shifts the worker's clock.
const RESERVED: [&str; 2] = ["LD_PRELOAD", "PICKLOCK_"];

/// A program of the user, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredImpl {
    /// What it is called everywhere.
    pub name: String,
    /// `exec:` and its command line.
    pub given: String,
    /// Its working directory, an absolute path; `None`: the current one.
    pub directory: Option<PathBuf>,
    /// Variables that are added to its environment.
    pub environment: BTreeMap<String, String>,
    /// Its options. Those of a command line come before them.
    pub options: BTreeMap<String, String>,
    /// How many independent nodes it takes its lock on.
    pub nodes: usize,
    /// How many replicas of each node it needs at least.
    pub replicas: usize,
    /// What else it claims.
    pub claims: Claims,
    /// The built-in lock that it is held to.
    pub like: Option<String>,
}

impl ConfiguredImpl {
    /// Checks a table. `home`: the directory of the configuration, an absolute path.
    ///
    /// # Errors
    /// The first mistake, with its line: the name is no label or that of a built-in lock, there is no
    /// command, a number or a variable makes no sense, the directory is not UTF-8.
    pub fn of(
        source: &Source,
        name: &Spanned<String>,
        table: &ImplTable,
        home: &Path,
    ) -> Result<ConfiguredImpl, Failure> {
        let wrong = |at: usize, problem: String| Err(source.wrong(at, problem, None));
        if let Err(problem) = check_label(name.get_ref()) {
            return wrong(name.span().start, format!("[impl.NAME]: {problem}"));
        }
        let command = table.command.get_ref();
        let at = table.command.span().start;
        if let Some(rest) = command.strip_prefix(EXEC) {
            let hint = format!("write command = \"{}\"", rest.trim());
            let problem = format!("a command of a table needs no `{EXEC}`");
            return Err(source.wrong(at, problem, Some(hint)));
        }
        let problem = match command_line::parse(command) {
            Ok(_) => None,
            Err(CommandLineError::Empty) => Some("command: it names no program".to_owned()),
            Err(error) => Some(format!("command: {error}")),
        };
        if let Some(problem) = problem {
            let hint = "as in command = \"python3 my_lock.py\"".to_owned();
            return Err(source.wrong(at, problem, Some(hint)));
        }
        for (variable, value) in &table.environment {
            if let Err(problem) = check_variable(variable.get_ref(), value.get_ref()) {
                return wrong(variable.span().start, problem);
            }
        }
        let directory = table.directory.as_ref();
        let folder = directory.map_or(home.to_owned(), |it| home.join(it.get_ref()));
        if folder.to_str().is_none() {
            let at = directory.map_or(name.span().start, |it| it.span().start);
            let path = folder.display();
            let problem =
                format!("directory: {path} is not UTF-8, so the files of a run could not name it");
            return wrong(at, problem);
        }
        Ok(ConfiguredImpl {
            name: name.get_ref().clone(),
            given: format!("{EXEC}{command}"),
            directory: Some(folder),
            environment: owned(&table.environment),
            options: table.options.clone(),
            nodes: number(source, table.nodes.as_ref(), "nodes", NODES)?,
            replicas: number(source, table.replicas.as_ref(), "replicas", REPLICAS)?,
            claims: Claims {
                renews: table.renews,
                fences: table.fences,
            },
            like: like(source, table.like.as_ref())?,
        })
    }
}

/// The name of a built-in lock.
fn like(source: &Source, given: Option<&Spanned<String>>) -> Result<Option<String>, Failure> {
    let Some(given) = given else {
        return Ok(None);
    };
    match standard::named(given.get_ref()) {
        Ok(strategy) => Ok(Some(strategy.name.to_owned())),
        Err(problem) => {
            let known = STRATEGIES.iter().map(|strategy| strategy.name);
            Err(source.unknown(given.span().start, problem, given.get_ref(), known))
        }
    }
}

/// A number of servers; the least where none is given.
fn number(
    source: &Source,
    given: Option<&Spanned<usize>>,
    key: &str,
    bounds: RangeInclusive<usize>,
) -> Result<usize, Failure> {
    let Some(given) = given else {
        return Ok(*bounds.start());
    };
    let (at, number) = (given.span().start, *given.get_ref());
    check_number(key, number, &bounds)
        .map_err(|problem| source.wrong::<Failure>(at, problem, None))?;
    Ok(number)
}

/// Refuses a number of servers that no scenario can have.
///
/// # Errors
/// In words.
pub fn check_number(
    key: &str,
    number: usize,
    bounds: &RangeInclusive<usize>,
) -> Result<(), String> {
    if bounds.contains(&number) {
        return Ok(());
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(format!("{key} = {number}: expected {least} to {most}"))
}

fn owned(variables: &BTreeMap<Spanned<String>, Spanned<String>>) -> BTreeMap<String, String> {
    let variables = variables.iter();
    variables
        .map(|(name, value)| (name.get_ref().clone(), value.get_ref().clone()))
        .collect()
}

/// Refuses what the operating system cannot pass on, and what Picklock needs for itself.
///
/// # Errors
/// In words.
pub fn check_variable(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(format!(
            "environment: `{name}`: a variable has a name without `=`, and no zero byte"
        ));
    }
    if RESERVED.iter().any(|reserved| name.starts_with(reserved)) {
        return Err(format!(
            "environment: `{name}`: Picklock sets this variable itself"
        ));
    }
    Ok(())
}
