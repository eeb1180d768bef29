//! One lock in all scenarios in which it was tried.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{BackendName, Cause, Family, Property};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::costs::Costs;
use super::outcome::{ScenarioScore, causes};

/// A lock, and what came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockScore {
    /// Its name, with its options.
    #[serde(rename = "impl")]
    pub lock: String,
    /// How many runs were judged, all scenarios together.
    pub runs: u64,
    /// Where.
    pub backends: BTreeSet<BackendName>,
    /// The scenarios that it survived, and those in which it was judged.
    pub all: FamilyScore,
    /// The same by family; without families in which nothing was judged.
    pub families: BTreeMap<&'static str, FamilyScore>,
    /// Scenarios by what came out, the worst of all runs and backends.
    pub outcomes: BTreeMap<ScenarioScore, Vec<String>>,
    /// Scenarios in which nothing could be judged, or that could not be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
    /// Scenarios in which the stock came to harm, by who is responsible.
    pub harmed: BTreeMap<ScenarioScore, Vec<String>>,
    /// What made Redis lose the lock where the stock came to harm.
    pub harmed_by: BTreeSet<Cause>,
    /// True if a client that wants the lock gets it, in all scenarios.
    pub progresses: bool,
    /// Whether it gives fencing tokens.
    pub fencing: Fencing,
    /// What it costs.
    pub costs: Costs,
    /// Independent Redis nodes that it uses.
    pub nodes: usize,
    /// Replicas of each node that it needs.
    pub replicas: usize,
    /// True if it came to harm by a server's wall clock.
    pub trusts_server_clocks: bool,
    /// True if it came to harm by a client's wall clock.
    pub trusts_client_clocks: bool,
}

/// How many scenarios a lock survived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FamilyScore {
    /// Scenarios in which nothing came to harm.
    pub survived: usize,
    /// Scenarios in which it was judged.
    pub judged: usize,
}

/// Whether a lock gives fencing tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// It gives none.
    None,
    /// They always increased.
    Held,
    /// In some scenario they did not increase.
    Violated,
}

impl LockScore {
    /// The score of one lock; the cells are all its own, at least one, and each has a setting.
    pub(super) fn new(lock: String, cells: &[&Cell]) -> LockScore {
        let judged = worst_of_each(cells);
        let mut families: BTreeMap<&'static str, FamilyScore> = BTreeMap::new();
        let mut outcomes: BTreeMap<ScenarioScore, Vec<String>> = BTreeMap::new();
        let mut all = FamilyScore::default();
        for (scenario, family, outcome) in &judged {
            for score in [&mut all, families.entry(family.as_str()).or_default()] {
                score.judged += 1;
                score.survived += usize::from(outcome.is_survived());
            }
            let same = outcomes.entry(*outcome).or_default();
            same.push((*scenario).to_owned());
        }
        let is_judged = |name: &str| judged.iter().any(|(scenario, ..)| *scenario == name);
        let tried = cells.iter().filter(|cell| cell.inapplicable().is_none());
        let mut not_judged: Vec<String> = tried.map(|cell| cell.scenario.clone()).collect();
        not_judged.retain(|name| !is_judged(name));
        not_judged.dedup();
        let is_harmful =
            |cell: &&&Cell| ScenarioScore::from_cell(cell).is_some_and(|it| !it.is_survived());
        let harmful = cells.iter().filter(is_harmful);
        let harms = harmful.flat_map(|cell| Property::ALL.map(move |it| causes(cell, it)));
        let harms: BTreeSet<Cause> = harms.flatten().collect();
        let setting = cells.iter().filter_map(|cell| cell.setting);
        let runs = cells.iter().filter(|cell| is_judged(&cell.scenario));
        LockScore {
            lock,
            runs: runs.fold(0, |runs, cell| cell.runs.saturating_add(runs)),
            backends: cells.iter().map(|cell| cell.backend).collect(),
            all,
            families,
            outcomes,
            not_judged,
            harmed: harmed(cells),
            harmed_by: harmed_by(cells),
            progresses: violated(cells, Property::Progress) == 0,
            fencing: fencing(cells),
            costs: Costs::from_cells(cells),
            // A scenario may give a lock more servers than it needs, and never fewer.
            nodes: setting.clone().map(|it| it.nodes).min().unwrap_or(1),
            replicas: setting.map(|it| it.replicas).min().unwrap_or(0),
            trusts_server_clocks: harms.contains(&Cause::ClockJump),
            trusts_client_clocks: harms.contains(&Cause::ClockSkew),
        }
    }

    /// The smallest is the best, the first number first.
    pub(super) fn rank(&self) -> [f64; 3] {
        let FamilyScore { survived, judged } = self.all;
        // A lock of which nothing is known comes last.
        let lost = match judged {
            0 => 2.0,
            _ => (judged - survived) as f64 / judged as f64,
        };
        let own = self.scenarios(ScenarioScore::Lock).len() as f64;
        [lost, own, self.price()]
    }

    /// What it needs and costs as one number, for comparisons only: servers, then commands while the lock is
    /// mostly free, then those under contention.
    pub(super) fn price(&self) -> f64 {
        let tenths = |commands: Option<f64>| (commands.unwrap_or(0.0) * 10.0).round();
        let servers = self.nodes.saturating_mul(1 + self.replicas) as f64;
        let (free, contended) = (self.costs.commands, self.costs.commands_contended);
        (servers * 1e5 + tenths(free)) * 1e5 + tenths(contended)
    }

    /// The scenarios in which this came out.
    pub fn scenarios(&self, outcome: ScenarioScore) -> &[String] {
        self.outcomes.get(&outcome).map_or(&[], Vec::as_slice)
    }

    /// In how many scenarios of a family it was judged.
    pub fn judged_in(&self, family: Family) -> usize {
        let score = self.families.get(family.as_str());
        score.map_or(0, |score| score.judged)
    }
}

/// Each scenario that was judged, once, with the worst that came out.
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

fn harmed(cells: &[&Cell]) -> BTreeMap<ScenarioScore, Vec<String>> {
    let mut harmed: BTreeMap<ScenarioScore, Vec<String>> = BTreeMap::new();
    for cell in cells {
        if let Some(whose) = ScenarioScore::of_harm(cell) {
            let same = harmed.entry(whose).or_default();
            if !same.contains(&cell.scenario) {
                same.push(cell.scenario.clone());
            }
        }
    }
    harmed
}

fn harmed_by(cells: &[&Cell]) -> BTreeSet<Cause> {
    let is_by_redis = |cell: &&&Cell| ScenarioScore::of_harm(cell) == Some(ScenarioScore::Redis);
    let harmed = cells.iter().filter(is_by_redis);
    let causes = harmed.flat_map(|cell| causes(cell, Property::Resource));
    causes.collect()
}

/// In how many runs it was violated.
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
