//! Reads and checks `picklock.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use picklock_harness::check::Property;
use picklock_harness::named_server::{NamedServer, UnknownServer};
use picklock_harness::spec::{Overrides, ServerChoice};
use picklock_reports::gate::{
    CellKey, ExpectRule, FEWEST_PAIRS, Limit, LimitRule, Op, Rules, Selector, Unit,
};
use picklock_scenarios::{CAUSES, Expectation, WorldName};
use toml::Spanned;

use super::subjects::{self, Named};
use crate::configuration;
use crate::configuration::configured_impls::ConfiguredImpls;
use crate::configuration::expect_table::ExpectTable;
use crate::configuration::tables::{CellsTable, Tables};
use crate::exit::Failure;
use crate::matrix::MatrixPlan;
use crate::matrix::request::{MatrixRequest, with_profile};
use crate::named_subject::NamedSubject;
use crate::source::Source;

/// Number of pairs of runs if the configuration sets none.
const PAIRS: usize = 15;

/// More would take hours and add little.
const MOST_PAIRS: usize = 100;

/// The configuration of a gate.
pub struct Config {
    source: Source,
    servers: ServerChoice,
    tables: Tables,
    impls: ConfiguredImpls,
    /// The file of the baseline, if one is named.
    pub baseline: Option<PathBuf>,
    /// The subject that latencies in real worlds are compared with.
    pub control: Option<String>,
    /// Number of runs of each of the two subjects.
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
        let tables = configuration::tables(&source)?;
        let impls = ConfiguredImpls::of(&source, &tables, path)?;
        if tables.cells.is_empty() {
            let help = "add [[cells]] with worlds, subjects and scenarios".to_owned();
            return Err(source.wrong(
                0,
                "no cells are configured: a gate that checks nothing fails",
                Some(help),
            ));
        }
        if let Some(control) = &tables.control {
            subjects::check_name(&source, control.span().start, control.get_ref(), &impls)?;
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

    /// The cell of the control for a cell with this scenario and world.
    pub fn control_request(
        &self,
        control: &str,
        scenario: &str,
        world: WorldName,
    ) -> MatrixRequest {
        matrix_request(
            &self.servers,
            &self.impls,
            vec![NamedSubject::plain(control)],
            vec![scenario.to_owned()],
            vec![world],
        )
    }

    /// Expectations and limits, checked against the configured cells.
    ///
    /// # Errors
    /// A duplicate cell; an invalid expectation or limit, or one that applies to no cell.
    pub fn rules(&self, batches: &[PlannedBatch<'_>]) -> Result<Rules, Failure> {
        let mut cells: Vec<CellKey> = Vec::new();
        let mut seen = BTreeSet::new();
        for PlannedBatch { batch, plan } in batches {
            for (key, _) in plan.cells() {
                if !seen.insert(key.clone()) {
                    let problem = format!("{key} is in two of [[cells]]");
                    return Err(self.source.wrong(batch.at, problem, None));
                }
                cells.push(key);
            }
        }
        let mut rules = Rules {
            control: self.control.clone(),
            ..Rules::default()
        };
        for table in &self.tables.expect {
            let at = table.span().start;
            let table = table.get_ref();
            let names = [&table.subject, &table.scenario, &table.world];
            rules.expects.push(ExpectRule {
                cells: self.selector(at, names, &cells)?,
                properties: self.expectations(at, table)?,
            });
        }
        for table in &self.tables.limit {
            let at = table.span().start;
            let table = table.get_ref();
            let names = [&table.subject, &table.scenario, &table.world];
            let selector = self.selector(at, names, &cells)?;
            if table.require.is_empty() {
                return Err(self.source.wrong(at, "require lists no limit", None));
            }
            for text in &table.require {
                let limit = self.limit(text, &selector, &cells)?;
                rules.limits.push(LimitRule {
                    cells: selector.clone(),
                    limit,
                });
            }
        }
        rules.cells = cells;
        Ok(rules)
    }

    /// The cells that a table applies to. A table that applies to none is a typing error or a
    /// leftover, and would give a false sense of safety.
    fn selector(
        &self,
        at: usize,
        [subject, scenario, world]: [&Option<Spanned<String>>; 3],
        cells: &[CellKey],
    ) -> Result<Selector, Failure> {
        let part = |of: fn(&CellKey) -> &str| -> BTreeSet<&str> { cells.iter().map(of).collect() };
        let named = [
            (subject, "subject", part(|key| &key.subject)),
            (scenario, "scenario", part(|key| &key.scenario)),
            (world, "world", part(|key| key.backend.word())),
        ];
        for (name, what, known) in named {
            let Some(name) = name else { continue };
            let word = name.get_ref();
            if !known.contains(word.as_str()) {
                let problem = format!("no cell of [[cells]] has the {what} `{word}`");
                return Err(self.source.unknown(name.span().start, problem, word, known));
            }
        }
        let text =
            |name: &Option<Spanned<String>>| name.as_ref().map(|name| name.get_ref().clone());
        let selector = Selector {
            subject: text(subject),
            scenario: text(scenario),
            world: world
                .as_ref()
                .and_then(|world| world.get_ref().parse().ok()),
        };
        if !cells.iter().any(|key| selector.matches(key)) {
            return Err(self.source.wrong(
                at,
                "no cell of [[cells]] matches all of these names",
                None,
            ));
        }
        Ok(selector)
    }

    fn expectations(
        &self,
        at: usize,
        table: &ExpectTable,
    ) -> Result<BTreeMap<Property, String>, Failure> {
        let mut properties = BTreeMap::new();
        for (property, words) in &table.properties {
            let (at, text) = (words.span().start, words.get_ref());
            match Expectation::try_from(text.clone()) {
                Ok(Expectation::Violated { cause: Some(cause) })
                    if !CAUSES.contains(&cause.as_str()) =>
                {
                    let problem = format!(
                        "no such cause: `{cause}`; the causes are {}",
                        CAUSES.join(", ")
                    );
                    let known = CAUSES.iter().copied();
                    return Err(self.source.unknown(at, problem, &cause, known));
                }
                Ok(_) => {}
                Err(problem) => {
                    let known = ["held", "violated", "any"];
                    return Err(self.source.unknown(at, problem, text, known));
                }
            }
            properties.insert(*property, text.clone());
        }
        if properties.is_empty() {
            let help = "name a property, as in `lease = \"held\"`".to_owned();
            return Err(self
                .source
                .wrong(at, "this table expects nothing", Some(help)));
        }
        Ok(properties)
    }

    fn limit(
        &self,
        text: &Spanned<String>,
        selector: &Selector,
        cells: &[CellKey],
    ) -> Result<Limit, Failure> {
        let start = text.span().start;
        let limit = Limit::parse(text.get_ref()).map_err(|error| {
            // The opening quotation mark comes before the limit itself.
            let at = start + 1 + error.at;
            match &error.unknown {
                Some((word, known)) => {
                    let known = known.iter().map(String::as_str);
                    self.source.unknown(at, error.problem.clone(), word, known)
                }
                None => self.source.wrong(at, error.problem.clone(), None),
            }
        })?;
        let mut selected = cells.iter().filter(|key| selector.matches(key));
        let is_real = selected.any(|key| !key.is_simulated());
        if limit.mentions(Unit::Control) && self.control.is_none() {
            let help = "name one at the top of the file: control = \"set-nx-px\"".to_owned();
            return Err(self.source.wrong(
                start,
                "it refers to `control`, and none is configured",
                Some(help),
            ));
        }
        if is_real && limit.metric.is_time() {
            self.check_real_time(start, &limit)?;
        }
        Ok(limit)
    }

    /// A time on a real machine depends on the machine as much as on the lock.
    fn check_real_time(&self, at: usize, limit: &Limit) -> Result<(), Failure> {
        let wrong =
            |problem: &str, help: &str| Err(self.source.wrong(at, problem, Some(help.to_owned())));
        if self.control.is_none() {
            return wrong(
                "a time in a real world is compared with a control, and none is configured",
                "name one at the top of the file: control = \"set-nx-px\"",
            );
        }
        if !limit.mentions(Unit::Baseline) && !limit.mentions(Unit::Control) {
            return wrong(
                "in a real world this would measure the machine: compare with `baseline` or `control`",
                "as in `acquire.p50 < control * 1.5`, or name `world = \"sim\"`",
            );
        }
        if matches!(limit.op, Op::Equal | Op::Unequal) {
            return wrong(
                "times of a real machine are never equal",
                "use <, <=, > or >=",
            );
        }
        Ok(())
    }
}

/// Options belong to one lock, so each subject with options is planned separately.
fn group_batches(
    source: &Source,
    servers: &ServerChoice,
    impls: &ConfiguredImpls,
    group: &Spanned<CellsTable>,
) -> Result<Vec<Batch>, Failure> {
    let at = group.span().start;
    let group = group.get_ref();
    for (given, what) in [
        (group.worlds.len(), "worlds"),
        (group.subjects.as_ref().map_or(1, Vec::len), "subjects"),
        (group.scenarios.as_ref().map_or(1, Vec::len), "scenarios"),
    ] {
        if given == 0 {
            let problem =
                format!("{what} = []: nothing would be run; omit `{what}` for all of them");
            return Err(source.wrong(at, problem, None));
        }
    }
    let worlds = group
        .worlds
        .iter()
        .map(|name| subjects::world(source, name));
    let worlds = worlds.collect::<Result<Vec<_>, _>>()?;
    let mut scenarios = Vec::new();
    for name in group.scenarios.iter().flatten() {
        subjects::check_scenario(source, name)?;
        scenarios.push(name.get_ref().clone());
    }
    if let Some(profile) = &group.profile {
        subjects::check_profile(source, profile)?;
        scenarios = with_profile(&scenarios, Some(profile.get_ref()));
    }
    let named = group
        .subjects
        .iter()
        .flatten()
        .map(|value| subjects::subject(source, value, impls));
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
    let batch = |subjects: Vec<NamedSubject>, options: BTreeMap<String, String>| Batch {
        at,
        request: MatrixRequest {
            options: options.into_iter().collect(),
            seeds,
            ..matrix_request(servers, impls, subjects, scenarios.clone(), worlds.clone())
        },
    };
    let mut batches = Vec::new();
    if group.subjects.is_none() || !plain.is_empty() {
        let names = plain.into_iter().map(|one| one.subject).collect();
        batches.push(batch(names, BTreeMap::new()));
    }
    batches.extend(
        optioned
            .into_iter()
            .map(|one| batch(vec![one.subject], one.options)),
    );
    Ok(batches)
}

/// The servers of all cells.
fn servers(source: &Source, tables: &Tables) -> Result<ServerChoice, Failure> {
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
    })
}

fn matrix_request(
    servers: &ServerChoice,
    impls: &ConfiguredImpls,
    subjects: Vec<NamedSubject>,
    scenarios: Vec<String>,
    worlds: Vec<WorldName>,
) -> MatrixRequest {
    MatrixRequest {
        subjects,
        scenarios,
        worlds: worlds.into_iter().map(Some).collect(),
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
