//! A lock of an `[impl.NAME]` table: a program of the user, with everything that is needed to start it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use picklock_harness::adapter::command_line::{self, CommandLineError};
use picklock_impls::LOCKS;
use picklock_reports::configuration::{ImplTable, Source};
use picklock_scenarios::{ScenarioError, Topology};
use toml::Spanned;

use crate::named_lock::{DOCKER, EXEC, check_image, check_label};
use crate::reference_lock::{self, Claims};

/// How many nodes a program may take its lock on: as many as a scenario may have.
pub const NODES: RangeInclusive<usize> = 1..=Topology::MOST_NODES;

/// How many replicas of each node a program may need.
pub const REPLICAS: RangeInclusive<usize> = 0..=Topology::MOST_REPLICAS;

/// Variables that Picklock itself sets for a worker. The first is the one by which a library is
/// preloaded that shifts the worker's clock.
const RESERVED: [&str; 2] = ["LD_PRELOAD", "PICKLOCK_"];

/// A program of the user, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredLock {
    /// What it is called everywhere.
    pub name: String,
    /// `exec:` and its command line, or `docker:` and its image.
    pub given: String,
    /// Its working directory, an absolute path; `None`: the current one, or the one of its image.
    pub directory: Option<PathBuf>,
    /// Variables that are added to its environment.
    pub environment: BTreeMap<String, String>,
    /// Its options. Those of a command line come before them.
    pub options: BTreeMap<String, String>,
    /// How many independent nodes it takes its lock on.
    pub nodes: usize,
    /// How many replicas of each node it needs at least.
    pub replicas: usize,
    /// It needs all of its nodes, and not a majority.
    pub needs_every_node: bool,
    pub claims: Claims,
    /// The built-in lock that it is held to.
    pub like: Option<String>,
}

impl ConfiguredLock {
    /// Checks a table. `home`: the directory of the configuration, an absolute path.
    /// `Err`: the first mistake, with its line: the name is no label or that of a built-in lock, there is no
    /// command, a number or a variable makes no sense, the directory is not UTF-8.
    pub fn of(
        source: &Source,
        name: &Spanned<String>,
        table: &ImplTable,
        home: &Path,
    ) -> Result<ConfiguredLock, ScenarioError> {
        check_label(name.get_ref()).map_err(|problem| {
            source.wrong(name.span().start, format!("[impl.NAME]: {problem}"))
        })?;
        let command = table.command.get_ref();
        let is_image = command.starts_with(DOCKER);
        check_command(command)
            .map_err(|(problem, hint)| source.hinted(table.command.span().start, problem, hint))?;
        for (variable, value) in &table.environment {
            check_variable(variable.get_ref(), value.get_ref())
                .map_err(|problem| source.wrong(variable.span().start, problem))?;
        }
        let directory = table.directory.as_ref();
        if let Some(given) = directory.filter(|_| is_image) {
            let problem = "directory: the image says where its program starts";
            return Err(source.wrong(given.span().start, problem));
        }
        let folder = directory.map_or(home.to_owned(), |it| home.join(it.get_ref()));
        if folder.to_str().is_none() {
            let at = directory.map_or(name.span().start, |it| it.span().start);
            let path = folder.display();
            let problem =
                format!("directory: {path} is not UTF-8, so the files of a run could not name it");
            return Err(source.wrong(at, problem));
        }
        let variables = table.environment.iter();
        Ok(ConfiguredLock {
            name: name.get_ref().clone(),
            given: match is_image {
                true => command.clone(),
                false => format!("{EXEC}{command}"),
            },
            directory: Some(folder).filter(|_| !is_image),
            environment: variables
                .map(|(name, value)| (name.get_ref().clone(), value.get_ref().clone()))
                .collect(),
            options: table.options.clone(),
            nodes: number(source, table.nodes.as_ref(), "nodes", NODES)?,
            replicas: number(source, table.replicas.as_ref(), "replicas", REPLICAS)?,
            needs_every_node: table.needs_every_node,
            claims: Claims {
                renews: table.renews,
                fences: table.fences,
            },
            like: like(source, table.like.as_ref())?,
        })
    }
}

/// What is wrong with a command, and what to write.
fn check_command(command: &str) -> Result<(), (String, String)> {
    if let Some(rest) = command.strip_prefix(EXEC) {
        let hint = format!("write command = \"{}\"", rest.trim());
        return Err((format!("a command of a table needs no `{EXEC}`"), hint));
    }
    let checked = match command.strip_prefix(DOCKER) {
        Some(image) => check_image(image),
        None => match command_line::parse(command) {
            Ok(_) => Ok(()),
            Err(CommandLineError::Empty) => Err("it names no program".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    };
    let hint = "as in command = \"python3 my_lock.py\"";
    checked.map_err(|problem| (format!("command: {problem}"), hint.to_owned()))
}

/// The name of a built-in lock.
fn like(source: &Source, given: Option<&Spanned<String>>) -> Result<Option<String>, ScenarioError> {
    let Some(given) = given else {
        return Ok(None);
    };
    let known = LOCKS.iter().map(|lock| lock.name);
    match reference_lock::named(given.get_ref()) {
        Ok(lock) => Ok(Some(lock.name.to_owned())),
        Err(problem) => Err(source.unknown(given.span().start, problem, given.get_ref(), known)),
    }
}

/// A number of servers; the least where none is given.
fn number(
    source: &Source,
    given: Option<&Spanned<usize>>,
    key: &str,
    bounds: RangeInclusive<usize>,
) -> Result<usize, ScenarioError> {
    let Some(given) = given else {
        return Ok(*bounds.start());
    };
    check_number(key, *given.get_ref(), &bounds)
        .map_err(|problem| source.wrong(given.span().start, problem))?;
    Ok(*given.get_ref())
}

/// Refuses a number of servers that no scenario can have.
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

/// Refuses what the operating system cannot pass on, and what Picklock needs for itself.
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
