//! A lock of an `[impl.NAME]` table: a program of the user, with everything that is needed to start it.

use std::ops::RangeInclusive;
use std::path::Path;

use picklock_harness::adapter::command_line::{self, CommandLineError};
use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::history::Declarations;
use picklock_harness::spec::LockSpec;
use picklock_impls::built_in;
use picklock_reports::configuration::{ImplTable, Source};
use picklock_scenarios::{ScenarioError, Topology};
use toml::Spanned;

use crate::named_lock::{EXEC, check_label, program};
use crate::reference_lock;

/// Allowed number of nodes for a program's lock, which is the range that a scenario allows.
pub const NODES: RangeInclusive<usize> = 1..=Topology::MAX_NODES;

/// Allowed number of replicas of each node.
pub const REPLICAS: RangeInclusive<usize> = 0..=Topology::MAX_REPLICAS;

/// Names and prefixes of variables that Picklock itself sets for a worker. `LD_PRELOAD` loads the library that shifts
/// the worker's clock.
const RESERVED: [&str; 2] = ["LD_PRELOAD", "PICKLOCK_"];

/// A named program of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredLock {
    /// The lock, with only the options of its table.
    pub lock: LockSpec,
    /// Whether the lock provides fencing tokens.
    pub fences: bool,
    /// Name of the built-in lock whose results it must reach, or `auto`.
    pub reference: Option<String>,
}

impl ConfiguredLock {
    /// Checks a table. `home` is the directory of the configuration, an absolute path.
    ///
    /// # Errors
    /// Returns an error with the line of the first mistake: the name is not a label or belongs to a built-in lock, the
    /// command is missing, a number or a variable is invalid, or the directory is not UTF-8.
    pub fn from_table(
        source: &Source,
        name: &Spanned<String>,
        table: &ImplTable,
        home: &Path,
    ) -> Result<ConfiguredLock, ScenarioError> {
        check_label(name.get_ref()).map_err(|problem| {
            source.wrong(name.span().start, format!("[impl.NAME]: {problem}"))
        })?;
        let given = table.command.get_ref();
        let command = command_of(given)
            .map_err(|(problem, hint)| source.hinted(table.command.span().start, problem, hint))?;
        let is_image = command.image.is_some();
        for (variable, value) in &table.environment {
            check_variable(variable.get_ref(), value.get_ref())
                .map_err(|problem| source.wrong(variable.span().start, problem))?;
        }
        let directory = table.directory.as_ref();
        if let Some(it) = directory.filter(|_| is_image) {
            let problem =
                "directory: not allowed with an image, which defines its own working directory";
            return Err(source.wrong(it.span().start, problem));
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
        let lock = LockSpec {
            typed: Some(if is_image {
                given.clone()
            } else {
                format!("{EXEC}{given}")
            }),
            options: table.options.clone().into_iter().collect(),
            nodes: number(source, table.nodes.as_ref(), "nodes", NODES)?,
            replicas: number(source, table.replicas.as_ref(), "replicas", REPLICAS)?,
            kind: Some(table.kind),
            renews: table.renews,
            declares: Declarations {
                min_hold_ms: table.min_hold_ms,
                lease_margin_ms: table.lease_margin_ms,
            },
            needs_every_node: table.needs_every_node,
            command: Some(WorkerCommand {
                directory: Some(folder).filter(|_| !is_image),
                environment: variables
                    .map(|(name, value)| (name.get_ref().clone(), value.get_ref().clone()))
                    .collect(),
                ..command
            }),
            ..LockSpec::new(name.get_ref())
        };
        Ok(ConfiguredLock {
            lock,
            fences: table.fences,
            reference: reference(source, table.reference.as_ref())?,
        })
    }
}

/// Returns the command that starts the program of a table.
///
/// # Errors
/// Returns the problem with its command, and what to write instead.
fn command_of(command: &str) -> Result<WorkerCommand, (String, String)> {
    if command.starts_with(EXEC) {
        let hint = "write only what follows it".to_owned();
        return Err((
            format!("remove `{EXEC}`: the command of a table is always a program"),
            hint,
        ));
    }
    program(command).map_err(|problem| {
        let problem = match command_line::parse(command) {
            Err(CommandLineError::Empty) => "no program given".to_owned(),
            _ => problem,
        };
        let hint = "as in command = \"python3 my_lock.py\"";
        (format!("command: {problem}"), hint.to_owned())
    })
}

/// Looks up the built-in lock that a table names as its reference.
fn reference(
    source: &Source,
    given: Option<&Spanned<String>>,
) -> Result<Option<String>, ScenarioError> {
    let Some(given) = given else {
        return Ok(None);
    };
    let known = built_in().map(|lock| lock.name);
    let known = known.chain([reference_lock::AUTO]);
    match reference_lock::check(given.get_ref()) {
        Ok(()) => Ok(Some(given.get_ref().clone())),
        Err(problem) => Err(source.unknown(given.span().start, problem, given.get_ref(), known)),
    }
}

/// Returns a number of servers, or the minimum if none is given.
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
    let (min, max) = (bounds.start(), bounds.end());
    Err(format!("{key} = {number}: expected {min} to {max}"))
}

/// Refuses variables that the operating system cannot pass on or that Picklock sets itself.
pub fn check_variable(name: &str, value: &str) -> Result<(), String> {
    // The text after an equals sign may be a password.
    let shown = name.split('=').next().unwrap_or_default();
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(format!(
            "environment: `{shown}`: a variable has a name without `=`, and no zero byte"
        ));
    }
    if RESERVED.iter().any(|reserved| name.starts_with(reserved)) {
        return Err(format!(
            "environment: `{shown}`: Picklock sets this variable itself"
        ));
    }
    Ok(())
}
