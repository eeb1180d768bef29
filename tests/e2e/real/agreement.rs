//! What two worlds make of the same cells, and where they differ.
//!
//! The comparison covers every property of every cell, with its cause. Where the catalog says that
//! either verdict may come out (`any`), what happens may hang on who is quicker, and that differs from
//! world to world and from seed to seed. But the simulation knows what may happen: over [`MANY`] seeds
//! it must have given what the other world gave. If it gives the same verdict for every seed, the other
//! world has to give that one.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use picklock_harness::check::{Cause, Property, Status, Verdict};
use picklock_harness::record::{Cell, MatrixRecord, Tally};
use picklock_scenarios::{Expectation, WorldName};

/// How many seeds show what may happen in the simulation: what happens in one run of twenty is missed
/// in fewer than one comparison of a hundred.
pub const MANY: u64 = 100;

/// The seed of the runs that are compared.
const SEED: &str = "7";

/// The cells of a table in two worlds.
pub struct Compared {
    /// In the simulation, one run of each cell.
    pub simulated: MatrixRecord,
    /// In the simulation, [`MANY`] runs of each cell.
    pub possible: MatrixRecord,
    /// On servers, one run of each cell.
    pub real: MatrixRecord,
}

impl Compared {
    /// Runs `picklock matrix` with these flags in the simulation and in `world`.
    ///
    /// The simulation goes by itself, first, and is done in seconds: what it would take from the
    /// processors, real servers would miss.
    pub fn run(world: WorldName, flags: &[&str]) -> Compared {
        Compared {
            simulated: matrix(WorldName::Sim, 1, flags),
            possible: matrix(WorldName::Sim, MANY, flags),
            real: matrix(world, 1, flags),
        }
    }

    /// How many cells there are, both worlds together.
    pub fn cells(&self) -> usize {
        self.simulated.cells.len() + self.real.cells.len()
    }

    /// What is not as expected, and what is not the same in both worlds.
    pub fn differences(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for cell in self.simulated.cells.iter().chain(&self.real.cells) {
            let title = title(cell);
            wrong.extend(cell.error.iter().map(|error| format!("{title}: {error}")));
            let surprises = cell.surprises.iter();
            wrong.extend(surprises.map(|it| {
                format!(
                    "{title}: {} {}, expected {}",
                    it.property, it.got, it.expected
                )
            }));
        }
        for cell in &self.simulated.cells {
            if find(&self.real, cell).is_none() && !is_skipped(&self.real, cell) {
                wrong.push(format!("{}: only there", title(cell)));
            }
        }
        for cell in self.real.cells.iter().filter(|cell| cell.error.is_none()) {
            match (find(&self.simulated, cell), find(&self.possible, cell)) {
                (Some(simulated), Some(possible)) => {
                    wrong.extend(disagreements(cell, simulated, possible));
                }
                _ if is_skipped(&self.simulated, cell) => {}
                _ => wrong.push(format!("{}: only there", title(cell))),
            }
        }
        wrong
    }
}

/// The matrix of these flags in one world.
fn matrix(world: WorldName, seeds: u64, flags: &[&str]) -> MatrixRecord {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command
        .args(["matrix", "--json", "--quiet", "--seed", SEED])
        .args(["--backend", world.word(), "--seeds", &seeds.to_string()])
        .args(flags);
    if world == WorldName::Docker {
        command.args(["--image", "picklock-redis:local"]);
    }
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("the matrix of the {world} world: {error}\n{said}")
    })
}

fn title(cell: &Cell) -> String {
    format!(
        "{} × {} in the {} world",
        cell.subject.name, cell.scenario, cell.backend
    )
}

/// The same lock under the same scenario in another world.
fn find<'a>(record: &'a MatrixRecord, cell: &Cell) -> Option<&'a Cell> {
    let mut cells = record.cells.iter();
    cells.find(|it| it.subject.name == cell.subject.name && it.scenario == cell.scenario)
}

/// True if the other world left the cell out, and says why.
fn is_skipped(record: &MatrixRecord, cell: &Cell) -> bool {
    let mut skipped = record.skipped.iter();
    skipped.any(|it| it.subject == cell.subject.name && it.scenario == cell.scenario)
}

/// The properties of a cell whose verdict is not that of the simulation.
fn disagreements(real: &Cell, simulated: &Cell, possible: &Cell) -> Vec<String> {
    let properties: BTreeSet<Property> = [real, simulated]
        .iter()
        .flat_map(|cell| cell.verdicts.keys().copied())
        .collect();
    let any = String::from(Expectation::Any);
    let mut wrong = Vec::new();
    for property in properties {
        let (found, wanted) = (
            real.verdicts.get(&property),
            simulated.verdicts.get(&property),
        );
        let (found, wanted) = (in_words(found), in_words(wanted));
        if found == wanted {
            continue;
        }
        let is_open = real.expected.get(&property) == Some(&any);
        let may_be = possible
            .tally
            .get(&property)
            .map(outcomes)
            .unwrap_or_default();
        if is_open && may_be.contains_key(&found) {
            continue;
        }
        wrong.push(format!(
            "{}: {property} is {found}, and {wanted} in the simulation ({MANY} seeds: {may_be:?})",
            title(real)
        ));
    }
    wrong
}

fn in_words(verdict: Option<&Verdict>) -> String {
    match verdict {
        Some(verdict) => picklock_harness::expectation::in_words(verdict),
        None => "not judged".to_owned(),
    }
}

/// What came out in many runs, in the words of a verdict, and how often.
fn outcomes(tally: &Tally) -> BTreeMap<String, u64> {
    let plain = [
        (Status::Held, tally.held),
        (Status::Unknown, tally.unknown),
        (Status::NotApplicable, tally.not_applicable),
    ];
    let plain = plain.map(|(status, runs)| (status.word().to_owned(), runs));
    let violated = tally.causes.iter();
    let violated = violated.map(|(cause, runs)| (format!("{}: {cause}", Status::Violated), *runs));
    plain
        .into_iter()
        .chain(violated)
        .filter(|(_, runs)| *runs > 0)
        .collect()
}

/// One cell of calm in two worlds, `lease` being the property in question.
fn sample(expected: &str, real: Verdict, tally: Tally) -> Compared {
    let record = |cell: Cell| MatrixRecord {
        cells: vec![cell],
        ..MatrixRecord::default()
    };
    let cell = |backend: WorldName, verdict: Verdict| Cell {
        expected: BTreeMap::from([(Property::Lease, expected.to_owned())]),
        verdicts: BTreeMap::from([(Property::Lease, verdict)]),
        ..blank(backend)
    };
    let simulated = cell(WorldName::Sim, Verdict::held());
    Compared {
        possible: record(Cell {
            tally: BTreeMap::from([(Property::Lease, tally)]),
            ..simulated.clone()
        }),
        simulated: record(simulated),
        real: record(cell(WorldName::Process, real)),
    }
}

fn blank(backend: WorldName) -> Cell {
    let text = format!(
        r#"{{"impl": {{"name": "redlock", "version": ""}}, "scenario": "calm", "summary": "",
            "scenario_hash": "", "backend": "{backend}", "runs": 1, "seed": 7, "verdicts": {{}},
            "tally": {{}}, "expected": {{}}, "surprises": [], "counts": {{"granted": 0, "refused": 0,
            "failed": 0, "extended": 0, "released": 0, "sold": 0, "stock_start": 0, "stock_left": 0}},
            "latency": {{}}, "reproduce": ""}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn race() -> Verdict {
    Verdict {
        status: Status::Violated,
        cause: Some(Cause::Race),
        ..Verdict::held()
    }
}

fn always_held() -> Tally {
    Tally {
        held: MANY,
        ..Tally::default()
    }
}

fn sometimes_a_race() -> Tally {
    Tally {
        held: MANY - 1,
        violated: 1,
        causes: BTreeMap::from([("race".to_owned(), 1)]),
        ..Tally::default()
    }
}

#[test]
fn a_difference_is_found_also_where_nothing_is_expected() {
    let found = |expected: &str, tally| sample(expected, race(), tally).differences();
    let words = [
        "redlock × calm in the process world: lease is violated: race, and held in the simulation \
         (100 seeds: {\"held\": 100})",
    ];
    assert_eq!(found("any", always_held()), words);
    assert_eq!(found("held", always_held()), words);
    // What the scenario expects does not depend on the seed.
    assert_eq!(found("held", sometimes_a_race()).len(), 1);
    assert_eq!(found("any", sometimes_a_race()).len(), 0);
    // A cause is part of the verdict.
    let evicted = Verdict {
        cause: Some(Cause::Evicted),
        ..race()
    };
    let other = sample("any", evicted, sometimes_a_race()).differences();
    assert_eq!(other.len(), 1, "{other:?}");
    let same = sample("any", Verdict::held(), always_held()).differences();
    assert_eq!(same.len(), 0, "{same:?}");
}

#[test]
fn what_is_missing_surprising_or_failed_is_found() {
    let held = || sample("held", Verdict::held(), always_held());
    let mut surprising = held();
    surprising.real.cells[0].surprises = vec![picklock_harness::record::Surprise {
        property: Property::Lease,
        expected: "violated".into(),
        got: "held".into(),
        runs: 1,
    }];
    assert_eq!(surprising.differences().len(), 1);
    let mut failed = held();
    failed.real.cells[0].error = Some("no Redis".into());
    assert_eq!(failed.differences().len(), 1);
    let mut missing = held();
    let cell = missing.real.cells.pop().unwrap();
    assert_eq!(
        missing.differences(),
        ["redlock × calm in the sim world: only there"]
    );
    missing
        .real
        .skipped
        .push(picklock_harness::record::SkippedCell {
            subject: cell.subject.name,
            scenario: cell.scenario,
            backend: WorldName::Process,
            reason: "it needs Sentinels".into(),
        });
    assert_eq!(missing.differences().len(), 0);
    let mut unjudged = held();
    unjudged.real.cells[0].verdicts.clear();
    assert_eq!(unjudged.differences().len(), 1);
}
