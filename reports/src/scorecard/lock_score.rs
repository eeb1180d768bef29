//! The results of one lock in all scenarios in which it was tested.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{BackendName, Cause, Family, LockKind, Property};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::costs::Costs;
use super::outcome::{ScenarioScore, causes};

/// A lock and its results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockScore {
    /// Its name, with its options.
    #[serde(rename = "impl")]
    pub lock: String,
    /// The kind of lock that it was tested as.
    pub kind: LockKind,
    /// Number of judged runs in all scenarios.
    pub runs: u64,
    /// Backends of the runs.
    pub backends: BTreeSet<BackendName>,
    /// Numbers of scenarios that it survived and in which it was judged. Scenarios that no lock can influence do not
    /// count.
    pub all: FamilyScore,
    /// The same by family, without families in which nothing was judged.
    pub families: BTreeMap<&'static str, FamilyScore>,
    /// Scenarios by outcome: the worst of all runs and backends.
    pub outcomes: BTreeMap<ScenarioScore, Vec<String>>,
    /// Scenarios that were inconclusive or failed to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
    /// Number of scenarios in which damage to the stock would have shown. Unlike `all`, it includes the scenarios in
    /// which every lock failed: they do not rank the locks, but the damage in them is real.
    pub checked: usize,
    /// Number of runs of these scenarios.
    pub checked_runs: u64,
    /// Families of these scenarios.
    #[serde(skip)]
    pub(super) checked_families: BTreeSet<Family>,
    /// Scenarios in which the stock was damaged, by the party at fault, among the checked ones.
    pub harmed: BTreeMap<ScenarioScore, Vec<String>>,
    /// Causes by which Redis lost the lock in cells in which the stock was damaged.
    pub harmed_by: BTreeSet<Cause>,
    /// Whether `progress` was never violated in any scenario, so that every client that requested the lock could get
    /// it.
    pub progresses: bool,
    /// Whether it issues fencing tokens.
    pub fencing: Fencing,
    /// Costs of the lock.
    pub costs: Costs,
    /// Number of independent Redis nodes that it uses.
    pub nodes: usize,
    /// Number of replicas that it needs per node.
    pub replicas: usize,
    /// Whether a server's wall clock caused damage.
    pub trusts_server_clocks: bool,
    /// Whether a client's wall clock caused damage.
    pub trusts_client_clocks: bool,
}

/// The number of scenarios that a lock survived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FamilyScore {
    /// Number of scenarios without damage.
    pub survived: usize,
    /// Number of scenarios in which the lock was judged.
    pub judged: usize,
}

/// Whether a lock issues fencing tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// The lock issues no tokens.
    None,
    /// The tokens always increased.
    Held,
    /// In some scenario the tokens did not increase.
    Violated,
}

impl LockScore {
    /// Creates the score of one lock from the cells that count for its rank, and from all its cells, which show what
    /// damaged the stock. At least one cell must count, and each must have a setting.
    pub(super) fn new(lock: String, cells: &[&Cell], all_cells: &[&Cell]) -> LockScore {
        let judged = worst_of_each(cells);
        let mut families: BTreeMap<&'static str, FamilyScore> = BTreeMap::new();
        let mut outcomes: BTreeMap<ScenarioScore, Vec<String>> = BTreeMap::new();
        let mut all = FamilyScore::default();
        for (scenario, family, outcome) in &judged {
            for score in [&mut all, families.entry(family.as_str()).or_default()] {
                // Violations that no lock can prevent do not count.
                score.judged += usize::from(*outcome != ScenarioScore::Outside);
                score.survived += usize::from(outcome.is_survived());
            }
            let same = outcomes.entry(*outcome).or_default();
            same.push((*scenario).to_owned());
        }
        let is_judged = |name: &str| judged.iter().any(|(scenario, ..)| *scenario == name);
        let tested = cells.iter().filter(|cell| cell.inapplicable().is_none());
        let mut not_judged: Vec<String> = tested.map(|cell| cell.scenario.clone()).collect();
        not_judged.retain(|name| !is_judged(name));
        not_judged.dedup();
        let is_harmful =
            |cell: &&&Cell| ScenarioScore::from_cell(cell).is_some_and(|it| !it.is_survived());
        let harmful = all_cells.iter().filter(is_harmful);
        let harms = harmful.flat_map(|cell| Property::ALL.map(move |it| causes(cell, it)));
        let harms: BTreeSet<Cause> = harms.flatten().collect();
        let setting = cells.iter().filter_map(|cell| cell.setting);
        let checked = worst_of_each(all_cells);
        let is_prevented =
            |(.., outcome): &&(&str, Family, ScenarioScore)| *outcome != ScenarioScore::Outside;
        LockScore {
            lock,
            kind: setting
                .clone()
                .next()
                .map_or(LockKind::Mutex, |it| it.lock_kind),
            runs: judged_runs(cells, &judged),
            backends: cells.iter().map(|cell| cell.backend).collect(),
            all,
            families,
            outcomes,
            not_judged,
            checked: checked.iter().filter(is_prevented).count(),
            checked_families: checked.iter().filter(is_prevented).map(|it| it.1).collect(),
            checked_runs: judged_runs(all_cells, &checked),
            harmed: harmed(all_cells),
            harmed_by: harmed_by(all_cells),
            progresses: violated(all_cells, Property::Progress) == 0,
            fencing: fencing(cells),
            costs: Costs::from_cells(cells),
            // A scenario may give a lock more servers than it needs, but never fewer.
            nodes: setting.clone().map(|it| it.nodes).min().unwrap_or(1),
            replicas: setting.map(|it| it.replicas).min().unwrap_or(0),
            trusts_server_clocks: harms.contains(&Cause::ClockJump),
            trusts_client_clocks: harms.contains(&Cause::ClockSkew),
        }
    }

    /// Returns the sort key of a lock. The smallest key is the best.
    pub(super) fn rank(&self) -> [f64; 3] {
        let FamilyScore { survived, judged } = self.all;
        // A lock without results comes last.
        let lost = match judged {
            0 => 2.0,
            _ => (judged - survived) as f64 / judged as f64,
        };
        let own = self.scenarios(ScenarioScore::Lock).len() as f64;
        [own, lost, self.price()]
    }

    /// Returns requirements and costs as one number, for comparisons only: servers first, then commands while
    /// the lock is mostly free, then commands under contention.
    pub(super) fn price(&self) -> f64 {
        let tenths = |commands: Option<f64>| (commands.unwrap_or(0.0) * 10.0).round();
        let servers = self.nodes.saturating_mul(1 + self.replicas) as f64;
        let (free, contended) = (self.costs.commands, self.costs.commands_contended);
        (servers * 1e5 + tenths(free)) * 1e5 + tenths(contended)
    }

    /// Returns the scenarios with this outcome.
    pub fn scenarios(&self, outcome: ScenarioScore) -> &[String] {
        self.outcomes.get(&outcome).map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if the lock was judged in a scenario of this family.
    pub(super) fn is_judged_in(&self, family: Family) -> bool {
        self.checked_families.contains(&family)
    }
}

/// Returns each judged scenario once, with its worst outcome.
fn worst_of_each<'a>(cells: &[&'a Cell]) -> Vec<(&'a str, Family, ScenarioScore)> {
    let mut judged: Vec<(&str, Family, ScenarioScore)> = Vec::new();
    for cell in cells {
        let (Some(outcome), Some(setting)) = (ScenarioScore::from_cell(cell), cell.setting) else {
            continue;
        };
        let mut known = judged.iter_mut();
        match known.find(|(scenario, ..)| *scenario == cell.scenario) {
            Some((.., worst)) => *worst = outcome.max(*worst),
            None => judged.push((&cell.scenario, setting.family, outcome)),
        }
    }
    judged
}

/// Returns the number of runs of the judged scenarios.
fn judged_runs(cells: &[&Cell], judged: &[(&str, Family, ScenarioScore)]) -> u64 {
    let is_judged = |cell: &&&Cell| judged.iter().any(|(name, ..)| *name == cell.scenario);
    let runs = cells.iter().filter(is_judged).map(|cell| cell.runs);
    runs.fold(0, u64::saturating_add)
}

fn harmed(cells: &[&Cell]) -> BTreeMap<ScenarioScore, Vec<String>> {
    let mut harmed: BTreeMap<ScenarioScore, Vec<String>> = BTreeMap::new();
    for cell in cells {
        if let Some(whose) = ScenarioScore::from_harm(cell) {
            let same = harmed.entry(whose).or_default();
            if !same.contains(&cell.scenario) {
                same.push(cell.scenario.clone());
            }
        }
    }
    harmed
}

fn harmed_by(cells: &[&Cell]) -> BTreeSet<Cause> {
    let is_by_redis = |cell: &&&Cell| ScenarioScore::from_harm(cell) == Some(ScenarioScore::Redis);
    let harmed = cells.iter().filter(is_by_redis);
    let causes = harmed.flat_map(|cell| causes(cell, Property::Resource));
    causes.collect()
}

/// Returns the number of runs in which the property was violated.
fn violated(cells: &[&Cell], property: Property) -> u64 {
    let tallies = cells.iter().filter_map(|cell| cell.tally.get(&property));
    tallies.fold(0, |runs, tally| tally.violated.saturating_add(runs))
}

fn fencing(cells: &[&Cell]) -> Fencing {
    let held = |cell: &&Cell| {
        let tally = cell.tally.get(&Property::Fencing);
        tally.is_some_and(|tally| tally.held > 0)
    };
    if violated(cells, Property::Fencing) > 0 {
        Fencing::Violated
    } else if cells.iter().any(held) {
        Fencing::Held
    } else {
        Fencing::None
    }
}
