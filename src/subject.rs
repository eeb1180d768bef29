//! The lock under test: from what was typed to a program that speaks the adapter protocol.

use std::path::Path;

use picklock_harness::adapter::command_line;
use picklock_impls::{MUTANTS, STRATEGIES, find};
use picklock_scenarios::nearest;

use crate::exit::Failure;

/// What stands before a command line of the user's own.
const EXEC: &str = "exec:";

/// The lock under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// As it was typed.
    pub name: String,
    /// Its version: picklock's own for built-in ones.
    pub version: String,
    /// How many independent nodes it wants.
    pub nodes: usize,
    /// How many replicas of each node it cannot do without.
    pub replicas: usize,
    /// It comes with picklock, which knows its options.
    pub is_built_in: bool,
    /// What each worker runs, without a shell.
    pub argv: Vec<String>,
}

impl Subject {
    /// What `--impl` named. `program`: this binary, which is also the built-in worker.
    ///
    /// # Errors
    /// An unknown name, with the list and the nearest one; a command line that cannot be split.
    pub fn named(name: &str, program: &Path) -> Result<Subject, Failure> {
        if let Some(command) = name.strip_prefix(EXEC) {
            let argv = command_line::parse(command)
                .map_err(|error| Failure::Usage(format!("--impl {name}: {error}")))?;
            return Ok(Subject {
                name: name.to_owned(),
                version: String::new(),
                nodes: 1,
                replicas: 0,
                is_built_in: false,
                argv,
            });
        }
        let strategy = find(name).ok_or_else(|| unknown(name))?;
        let program = program.to_str().ok_or_else(|| {
            Failure::Environment(format!("the path {} is not UTF-8", program.display()))
        })?;
        let argv = [program, "worker", "--impl", name];
        Ok(Subject {
            name: name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nodes: strategy.nodes,
            replicas: strategy.replicas,
            is_built_in: true,
            argv: argv.map(str::to_owned).to_vec(),
        })
    }
}

fn unknown(name: &str) -> Failure {
    let known = || STRATEGIES.iter().map(|strategy| strategy.name);
    let all = known().chain(MUTANTS.iter().map(|mutant| mutant.name));
    let hint = nearest(name, all)
        .map(|meant| format!("\n  = help: did you mean `{meant}`?"))
        .unwrap_or_default();
    Failure::Usage(format!(
        "--impl {name}: no such lock; built in are {} (`picklock list impls` tells what each does); any other: `exec:COMMAND`{hint}",
        known().collect::<Vec<_>>().join(", ")
    ))
}
