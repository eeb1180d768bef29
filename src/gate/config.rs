//! Reads and checks `picklock.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use picklock_harness::named_server::{NamedServer, UnknownServer};
use picklock_harness::spec::{Overrides, ServerChoice};
use picklock_reports::configuration::{CellsTable, ConfiguredRules, Source, Tables};
use picklock_reports::gate::{CellKey, FEWEST_PAIRS, Rules};
use picklock_scenarios::BackendName;
use toml::Spanned;

use super::locks::{self, Named};
use crate::configuration;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::matrix::MatrixPlan;
use crate::matrix::request::{MatrixRequest, with_profile};
use crate::named_lock::NamedLock;

/// Number of pairs of runs if the configuration sets none.
const PAIRS: usize = 15;

/// More would take hours and add little.
const MOST_PAIRS: usize = 100;

/// The configuration of a gate.
pub struct Config {
    source: Source,
    servers: ServerChoice,
    tables: Tables,
    impls: ConfiguredLocks,
    /// The file of the baseline, if one is named.
    pub baseline: Option<PathBuf>,
    /// The lock that latencies in server backends are compared with.
    pub control: Option<String>,
    /// Number of runs of each of the two locks.
    pub pairs: usize,
    batches: Vec<Batch>,
}

/// Cells that are planned together.
pub struct Batch {
    /// Offset of its group in the file.
    pub at: usize,
    /// Its cells.
    pub request: MatrixRequest,
}

/// A batch of the configuration, ready to run.
pub struct PlannedBatch<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// Its cells.
    pub plan: MatrixPlan,
}

impl Config {
    /// Reads and checks the file.
    ///
    /// # Errors
    /// The first mistake, with its line and the nearest valid word.
    pub fn read(path: &Path) -> Result<Config, Failure> {
        let source =
            configuration::read(path).map_err(|error| configuration::unreadable(path, &error))?;
        Config::understand(source, path)
    }

    fn understand(source: Source, path: &Path) -> Result<Config, Failure> {
        let tables = Tables::read::<Failure>(&source)?;
        let impls = ConfiguredLocks::of(&source, &tables, path)?;
        if tables.cells.is_empty() {
            let help = "add [[cells]] with backends, locks and scenarios".to_owned();
            return Err(source.wrong(
                0,
                "no cells are configured: a gate that checks nothing fails",
                Some(help),
            ));
        }
        if let Some(control) = &tables.control {
            locks::check_name(&source, control.span().start, control.get_ref(), &impls)?;
        }
        let pairs = match &tables.pairs {
            Some(pairs) if !(FEWEST_PAIRS..=MOST_PAIRS).contains(pairs.get_ref()) => {
                let problem = format!(
                    "pairs = {}: expected {FEWEST_PAIRS} to {MOST_PAIRS}; with fewer, no difference can be told from noise with 95 % confidence",
                    pairs.get_ref()
                );
                return Err(source.wrong(pairs.span().start, problem, None));
            }
            Some(pairs) => *pairs.get_ref(),
            None => PAIRS,
        };
        let servers = servers(&source, &tables)?;
        let mut batches = Vec::new();
        for group in &tables.cells {
            batches.extend(group_batches(&source, &servers, &impls, group)?);
        }
        Ok(Config {
            baseline: tables.baseline.clone(),
            control: tables
                .control
                .as_ref()
                .map(|control| control.get_ref().clone()),
            pairs,
            batches,
            servers,
            impls,
            tables,
            source,
        })
    }

    /// The cells of the configuration.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// The cell of the control for a cell with this scenario and backend.
    pub fn control_request(
        &self,
        control: &str,
        scenario: &str,
        backend: BackendName,
    ) -> MatrixRequest {
        matrix_request(
            &self.servers,
            &self.impls,
            vec![NamedLock::plain(control)],
            vec![scenario.to_owned()],
            vec![backend],
        )
    }

    /// Expectations and limits, checked against the configured cells.
    ///
    /// # Errors
    /// A duplicate cell; an invalid expectation or limit, or one that applies to no cell.
    pub fn rules(&self, batches: &[PlannedBatch<'_>]) -> Result<Rules, Failure> {
        let of_batch = |one: &PlannedBatch<'_>| -> Vec<(usize, CellKey)> {
            let at = one.batch.at;
            let keys = one.plan.cells().map(|(key, _)| (at, key));
            keys.collect()
        };
        let cells = batches.iter().flat_map(of_batch).collect();
        let configured = ConfiguredRules {
            source: &self.source,
            tables: &self.tables,
            control: self.control.as_deref(),
        };
        Ok(configured.check(cells)?)
    }
}

/// Options belong to one lock, so each lock with options is planned separately.
fn group_batches(
    source: &Source,
    servers: &ServerChoice,
    impls: &ConfiguredLocks,
    group: &Spanned<CellsTable>,
) -> Result<Vec<Batch>, Failure> {
    let at = group.span().start;
    let group = group.get_ref();
    for (given, what) in [
        (group.backends.len(), "backends"),
        (group.locks.as_ref().map_or(1, Vec::len), "locks"),
        (group.scenarios.as_ref().map_or(1, Vec::len), "scenarios"),
    ] {
        if given == 0 {
            let problem =
                format!("{what} = []: nothing would be run; omit `{what}` for all of them");
            return Err(source.wrong(at, problem, None));
        }
    }
    let backends = group
        .backends
        .iter()
        .map(|name| locks::backend(source, name));
    let backends = backends.collect::<Result<Vec<_>, _>>()?;
    let mut scenarios = Vec::new();
    for name in group.scenarios.iter().flatten() {
        locks::check_scenario(source, name)?;
        scenarios.push(name.get_ref().clone());
    }
    if let Some(profile) = &group.profile {
        locks::check_profile(source, profile)?;
        scenarios = with_profile(&scenarios, Some(profile.get_ref()));
    }
    let named = group
        .locks
        .iter()
        .flatten()
        .map(|value| locks::lock(source, value, impls));
    let named = named.collect::<Result<Vec<Named>, _>>()?;
    let seeds = match &group.seeds {
        Some(seeds) if *seeds.get_ref() == 0 => {
            return Err(source.wrong(
                seeds.span().start,
                "seeds = 0: each cell must run at least once",
                None,
            ));
        }
        Some(seeds) => *seeds.get_ref(),
        None => 1,
    };
    let (plain, optioned): (Vec<Named>, Vec<Named>) =
        named.into_iter().partition(|one| one.options.is_empty());
    let batch = |locks: Vec<NamedLock>, options: BTreeMap<String, String>| Batch {
        at,
        request: MatrixRequest {
            options: options.into_iter().collect(),
            seeds,
            ..matrix_request(servers, impls, locks, scenarios.clone(), backends.clone())
        },
    };
    let mut batches = Vec::new();
    if group.locks.is_none() || !plain.is_empty() {
        let names = plain.into_iter().map(|one| one.lock).collect();
        batches.push(batch(names, BTreeMap::new()));
    }
    batches.extend(
        optioned
            .into_iter()
            .map(|one| batch(vec![one.lock], one.options)),
    );
    Ok(batches)
}

/// The servers of all cells.
fn servers(source: &Source, tables: &Tables) -> Result<ServerChoice, Failure> {
    let named = tables.server.as_ref().map(|name| {
        let word = name.get_ref();
        word.parse().map_err(|unknown: UnknownServer| {
            let known = NamedServer::names();
            source.unknown::<Failure>(name.span().start, unknown.to_string(), word, known)
        })
    });
    Ok(ServerChoice {
        named: named.transpose()?,
        image: tables.image.clone(),
        redis_server: tables.redis_server.clone(),
    })
}

fn matrix_request(
    servers: &ServerChoice,
    impls: &ConfiguredLocks,
    locks: Vec<NamedLock>,
    scenarios: Vec<String>,
    backends: Vec<BackendName>,
) -> MatrixRequest {
    MatrixRequest {
        locks,
        scenarios,
        backends: backends.into_iter().map(Some).collect(),
        options: Vec::new(),
        overrides: Overrides::default(),
        seeds: 1,
        seed: 1,
        jobs: None,
        servers: servers.clone(),
        like: None,
        impls: impls.clone(),
    }
}
