//! The cells that `picklock.toml` configures for the gate.

use std::path::Path;

use picklock_harness::external_servers::ExternalServers;
use picklock_harness::named_server::{NamedServer, UnknownServer};
use picklock_harness::record::{ServersTable, SkippedCell};
use picklock_harness::spec::{Overrides, ServerChoice};
use picklock_reports::configuration::{CellsTable, ConfiguredRules, Source, Tables};
use picklock_reports::gate::{CellKey, MIN_PAIRS, Rules};
use picklock_scenarios::{BackendName, ScenarioError, profile};
use toml::Spanned;

use super::names;
use crate::ci_job;
use crate::configuration;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::matrix::request::MatrixRequest;
use crate::named_lock::NamedLock;

/// Number of pairs of runs if the configuration does not set one.
const PAIRS: usize = 15;

/// Maximum number of pairs. More would take hours and improve the result little.
const MAX_PAIRS: usize = 100;

/// The configuration of a gate.
pub struct Config {
    source: Source,
    tables: Tables,
    /// The servers and the user's locks; the request has no cells.
    request: MatrixRequest,
    /// The lock whose latencies serve as the comparison in server backends.
    pub control: Option<String>,
    /// Number of runs of each lock of a pair.
    pub pairs: usize,
    /// Cells that are planned together, each batch with the offset of its table in the file.
    pub batches: Vec<(usize, MatrixRequest)>,
}

impl Config {
    /// Reads and checks the file. If `agreed`, Picklock may write to the user's servers on other machines.
    ///
    /// # Errors
    /// Returns the first mistake, with its line and the nearest valid word.
    pub fn read(path: &Path, agreed: bool) -> Result<Config, Failure> {
        let source =
            configuration::read(path).map_err(|error| configuration::unreadable(path, &error))?;
        let tables = Tables::read(&source)?;
        let impls = ConfiguredLocks::from_tables(&source, &tables, path)?;
        Ok(Config::from_tables(source, tables, impls, agreed)?)
    }

    fn from_tables(
        source: Source,
        tables: Tables,
        impls: ConfiguredLocks,
        agreed: bool,
    ) -> Result<Config, ScenarioError> {
        if tables.cells.is_empty() {
            let problem = "no cells are configured: a gate that checks nothing fails";
            let hint = "add [[cells]] with backends, locks and scenarios";
            return Err(source.hinted(0, problem, hint));
        }
        if let Some(control) = &tables.control {
            names::check_lock(&source, control.span().start, control.get_ref(), &impls)?;
        }
        let request = MatrixRequest {
            locks: Vec::new(),
            scenarios: Vec::new(),
            profile: None,
            backends: Vec::new(),
            options: Vec::new(),
            overrides: Overrides::default(),
            seeds: 1,
            seed: 1,
            jobs: None,
            servers: servers(&source, &tables, agreed)?,
            reference: None,
            impls,
        };
        let pairs = pairs(&source, tables.pairs.as_ref())?;
        let mut batches = Vec::new();
        for table in &tables.cells {
            let at = table.span().start;
            let requests = requests(&source, &request, table)?.into_iter();
            batches.extend(requests.map(|request| (at, request)));
        }
        Ok(Config {
            control: tables.control.as_ref().map(|it| it.get_ref().clone()),
            pairs,
            batches,
            request,
            tables,
            source,
        })
    }

    /// Returns the path of the baseline, if the configuration names one.
    pub fn baseline(&self) -> Option<&Path> {
        self.tables.baseline.as_deref()
    }

    /// Returns the request for the control, for a cell with this scenario and backend.
    pub fn control_request(
        &self,
        control: &str,
        scenario: &str,
        backend: BackendName,
    ) -> MatrixRequest {
        MatrixRequest {
            locks: vec![NamedLock::plain(control)],
            scenarios: vec![scenario.to_owned()],
            profile: None,
            backends: vec![Some(backend)],
            ..self.request.clone()
        }
    }

    /// Checks expectations and limits, each with the offset of its table, against the planned cells and the omitted
    /// cells.
    ///
    /// # Errors
    /// Returns an error for a duplicate cell, or for an expectation or limit that is invalid or applies to no cell.
    pub fn rules(
        &self,
        cells: Vec<(usize, CellKey)>,
        omitted: &[SkippedCell],
    ) -> Result<Rules, ScenarioError> {
        let configured = ConfiguredRules {
            source: &self.source,
            tables: &self.tables,
            control: self.control.as_deref(),
            today: ci_job::today(),
            omitted,
        };
        configured.check(cells)
    }
}

/// Returns one request per lock with options, because options belong to one lock.
fn requests(
    source: &Source,
    base: &MatrixRequest,
    table: &Spanned<CellsTable>,
) -> Result<Vec<MatrixRequest>, ScenarioError> {
    let (at, table) = (table.span().start, table.get_ref());
    let (locks, scenarios) = (table.locks.as_deref(), table.scenarios.as_deref());
    for (is_empty, what) in [
        (table.backends.is_empty(), "backends"),
        (locks.is_some_and(<[_]>::is_empty), "locks"),
        (scenarios.is_some_and(<[_]>::is_empty), "scenarios"),
    ] {
        if is_empty {
            let problem =
                format!("{what} = []: nothing would be run; omit `{what}` for all of them");
            return Err(source.wrong(at, problem));
        }
    }
    let scenarios = scenarios.unwrap_or_default().iter();
    let scenarios = scenarios.map(|name| names::scenario(source, name));
    let scenarios: Vec<String> = scenarios.collect::<Result<_, _>>()?;
    if let Some(profile) = &table.profile {
        names::check_profile(source, profile)?;
    }
    let profile = table.profile.as_ref();
    let profile = profile.and_then(|it| profile::named(it.get_ref()));
    let seeds = table.seeds.as_ref();
    if let Some(none) = seeds.filter(|seeds| *seeds.get_ref() == 0) {
        let problem = "seeds = 0: each cell must run at least once";
        return Err(source.wrong(none.span().start, problem));
    }
    let plain = MatrixRequest {
        scenarios,
        profile,
        backends: table.backends.iter().copied().map(Some).collect(),
        seeds: seeds.map_or(1, |seeds| *seeds.get_ref()),
        ..base.clone()
    };
    let (mut together, mut requests) = (Vec::new(), Vec::new());
    for value in locks.unwrap_or_default() {
        let (lock, options) = names::lock(source, value, &base.impls)?;
        if options.is_empty() {
            together.push(lock)
        } else {
            requests.push(MatrixRequest {
                locks: vec![lock],
                options: options.into_iter().collect(),
                ..plain.clone()
            })
        }
    }
    if locks.is_none() || !together.is_empty() {
        let locks = together;
        requests.insert(0, MatrixRequest { locks, ..plain });
    }
    Ok(requests)
}

fn pairs(source: &Source, given: Option<&Spanned<usize>>) -> Result<usize, ScenarioError> {
    let pairs = given.map_or(PAIRS, |pairs| *pairs.get_ref());
    match given {
        Some(given) if !(MIN_PAIRS..=MAX_PAIRS).contains(&pairs) => {
            let problem = format!(
                "pairs = {pairs}: expected {MIN_PAIRS} to {MAX_PAIRS}; with fewer, no difference can be distinguished from noise with 95 % confidence"
            );
            Err(source.wrong(given.span().start, problem))
        }
        _ => Ok(pairs),
    }
}

/// Returns the user's own servers.
fn external(
    source: &Source,
    table: &Spanned<ServersTable>,
    agreed: bool,
) -> Result<ExternalServers, ScenarioError> {
    let variable = |name: &str| std::env::var(name).ok();
    let servers = ExternalServers::new(table.get_ref(), variable)
        .map_err(|error| source.wrong(table.span().start, error.to_string()))?;
    Ok(ExternalServers { agreed, ..servers })
}

/// Returns the servers that all cells use.
fn servers(source: &Source, tables: &Tables, agreed: bool) -> Result<ServerChoice, ScenarioError> {
    let named = tables.server.as_ref().map(|name| {
        let word = name.get_ref();
        word.parse().map_err(|unknown: UnknownServer| {
            let known = NamedServer::names();
            source.unknown(name.span().start, unknown.to_string(), word, known)
        })
    });
    Ok(ServerChoice {
        named: named.transpose()?,
        image: tables.image.clone(),
        redis_server: tables.redis_server.clone(),
        external: (tables.servers.as_ref())
            .map(|table| external(source, table, agreed))
            .transpose()?,
    })
}
