//! What the user asks a matrix to run.

use picklock_harness::spec::{Overrides, ServerChoice};
use picklock_scenarios::WorldName;

use super::cli::MatrixArgs;
use crate::named_subject::NamedSubject;

/// Which cells to run, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixRequest {
    /// The locks; all built-in ones if empty.
    pub subjects: Vec<NamedSubject>,
    /// The scenarios, by name or path; the whole catalog if empty.
    pub scenarios: Vec<String>,
    /// The worlds; `None` for the best available one.
    pub worlds: Vec<Option<WorldName>>,
    /// Options of the lock, if there is only one.
    pub options: Vec<(String, String)>,
    /// What is changed in every scenario.
    pub overrides: Overrides,
    /// How often each cell runs.
    pub seeds: u64,
    /// Seed of each cell's first run.
    pub seed: u64,
    /// Number of runs at a time; `None` for what suits the world.
    pub jobs: Option<usize>,
    /// Which servers the user chose.
    pub servers: ServerChoice,
}

impl MatrixRequest {
    /// The request of a `picklock matrix` command line.
    pub fn of_args(args: &MatrixArgs) -> MatrixRequest {
        let worlds: Vec<_> = args.backends.iter().map(|it| it.world()).collect();
        let plain = args.subjects.iter().map(|name| NamedSubject::plain(name));
        MatrixRequest {
            subjects: plain.chain(args.labelled.iter().cloned()).collect(),
            scenarios: args.scenarios.clone(),
            worlds: if worlds.is_empty() {
                vec![None]
            } else {
                worlds
            },
            options: args.options.clone(),
            overrides: Overrides {
                workers: None,
                nodes: args.nodes,
                ttl: args.ttl,
            },
            seeds: args.seeds,
            seed: args.seed,
            jobs: args.jobs,
            servers: args.servers.choice(),
        }
    }
}
