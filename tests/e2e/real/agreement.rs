//! Compares the verdicts of two backends for the same cells.
//!
//! The comparison covers every property of every cell, with its cause. Where the catalog allows either verdict (`any`),
//! or names no cause of a violation, the outcome may depend on timing, which differs between backends and seeds. The
//! simulation shows the possible outcomes: over [`MANY`] seeds it must have produced the other backend's outcome. If it
//! gives the same verdict for every seed, the other backend must give that one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_harness::check::{Cause, Property, Status, Verdict};
use picklock_harness::record::{Cell, MatrixRecord, Mismatch, RecordedVerdict, Tally};
use picklock_scenarios::{BackendName, Expectation};

use crate::running::CHANCES;
use crate::slots::{Slot, TABLE};

/// Number of seeds that show the possible outcomes in the simulation. With this number, an outcome that one run in a
/// hundred has is missed in fewer than one comparison in a hundred.
pub const MANY: u64 = 500;

/// Seed of the runs that are compared.
pub const SEED: u64 = 7;

/// Maximum number of runs of a cell that a busy machine leaves inconclusive.
const ATTEMPTS: u64 = 10;

/// The cells of a table in two backends.
pub struct Compared {
    /// Results in the simulation.
    pub simulated: MatrixRecord,
    /// Results on servers.
    pub real: MatrixRecord,
    /// Directory of the runs on servers. They cannot be reproduced exactly, so debugging needs the recorded events.
    kept: Option<PathBuf>,
}

/// Removes the saved runs of a test that found no differences.
impl Drop for Compared {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take()
            && !std::thread::panicking()
        {
            std::fs::remove_dir_all(kept).unwrap_or_default();
        }
    }
}

impl Compared {
    /// Runs `picklock matrix` with these flags in the simulation and in `backend`.
    ///
    /// The simulation runs first and alone, and takes seconds: in parallel, it would take CPU time from the real
    /// servers.
    pub fn run(backend: BackendName, flags: &[&str]) -> Compared {
        let kept = place_to_keep(backend);
        let out = ["--out", kept.to_str().expect("a path that is text")];
        let mut compared = Compared {
            simulated: matrix(BackendName::Sim, SEED, 1, flags),
            real: matrix(backend, SEED, 1, &[flags, &out[..]].concat()),
            kept: Some(kept),
        };
        let run = |cell: &Cell, seed| {
            let scenario = scenario_of(flags, &cell.scenario);
            let flags = ["--impl", &cell.lock.name, "--scenario", scenario];
            matrix(backend, seed, 1, &flags).cells.pop().unwrap()
        };
        compared.judge_the_rest(run);
        compared.give_more_chances(run);
        compared
    }

    /// Reruns, one at a time, inconclusive cells that the simulation judges or that must be judged: running many at a
    /// time may have been too much for a busy machine.
    fn judge_the_rest(&mut self, run: impl Fn(&Cell, u64) -> Cell) {
        for cell in &mut self.real.cells {
            let simulated = find(&self.simulated, cell);
            for _ in 0..ATTEMPTS {
                if !is_inconclusive(cell, simulated) {
                    break;
                }
                println!("{}: again, by itself", title(cell));
                *cell = run(cell, SEED);
            }
        }
    }

    /// Reruns cells that did not show an expected violation with other seeds, and uses the new results.
    fn give_more_chances(&mut self, run: impl Fn(&Cell, u64) -> Cell) {
        for cell in &mut self.real.cells {
            for seed in SEED + 1..SEED + CHANCES {
                let simulated = find(&self.simulated, cell);
                if !only_misses_violations(cell, simulated) {
                    break;
                }
                println!("{}: again, with seed {seed}", title(cell));
                *cell = run(cell, seed);
            }
        }
    }

    /// Returns the number of cells of both backends together.
    pub fn cells(&self) -> usize {
        self.simulated.cells.len() + self.real.cells.len()
    }

    /// Returns the results that are unexpected or differ between the backends.
    pub fn differences(&self) -> Vec<String> {
        self.differences_unless(possible)
    }

    /// Like `differences`; `possible` runs a cell in the simulation with [`MANY`] seeds.
    fn differences_unless(&self, possible: impl Fn(&Cell) -> Cell) -> Vec<String> {
        let mut wrong = Vec::new();
        for cell in self.simulated.cells.iter().chain(&self.real.cells) {
            let title = title(cell);
            wrong.extend(cell.error.iter().map(|error| format!("{title}: {error}")));
            let mismatches = cell.mismatches.iter();
            wrong.extend(mismatches.map(|it| {
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
            match find(&self.simulated, cell) {
                Some(simulated) => wrong.extend(disagreements(cell, simulated, &possible)),
                None if is_skipped(&self.simulated, cell) => {}
                None => wrong.push(format!("{}: only there", title(cell))),
            }
        }
        wrong
    }
}

/// Returns the matrix of these flags in one backend.
fn matrix(backend: BackendName, seed: u64, seeds: u64, flags: &[&str]) -> MatrixRecord {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command
        .args(["matrix", "--json", "--quiet", "--seed", &seed.to_string()])
        .args(["--backend", backend.as_str(), "--seeds", &seeds.to_string()])
        .args(flags);
    match backend {
        // Runs mostly wait, and a run in which the machine stalled is repeated.
        BackendName::Docker => command.args(["--jobs", "4", "--image", "picklock-redis:local"]),
        // A whole table has the machine for itself. Smaller tables may run in parallel with a table of containers.
        BackendName::Process if !flags.contains(&"--scenario") => command.args(["--jobs", "16"]),
        BackendName::Process => command.args(["--jobs", "8"]),
        BackendName::Sim | BackendName::External => &mut command,
    };
    let _slot = (backend != BackendName::Sim).then(|| Slot::take(TABLE));
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("the matrix of the {backend} backend: {error}\n{said}")
    })
}

/// Returns the directory of the runs on servers, which has one subdirectory per table.
pub fn tables() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tables")
}

/// Returns the directory for one table of this process.
fn place_to_keep(backend: BackendName) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    tables().join(format!("{backend}-{process}-{number}"))
}

/// Returns the cell in the simulation, with many seeds. Only scenarios of the catalog have open outcomes.
fn possible(cell: &Cell) -> Cell {
    let flags = ["--impl", &cell.lock.name, "--scenario", &cell.scenario];
    let mut cells = matrix(BackendName::Sim, SEED, MANY, &flags).cells;
    cells.pop().unwrap()
}

fn title(cell: &Cell) -> String {
    format!(
        "{} × {} in the {} backend",
        cell.lock.name, cell.scenario, cell.backend
    )
}

/// Finds the same lock under the same scenario in another backend.
fn find<'a>(record: &'a MatrixRecord, cell: &Cell) -> Option<&'a Cell> {
    let mut cells = record.cells.iter();
    cells.find(|it| it.lock.name == cell.lock.name && it.scenario == cell.scenario)
}

/// Returns the scenario as the flags name it: by its file, if it has one.
fn scenario_of<'a>(flags: &[&'a str], name: &'a str) -> &'a str {
    let file = format!("/{name}.toml");
    let mut flags = flags.iter();
    flags.find(|flag| flag.ends_with(&file)).unwrap_or(&name)
}

/// Returns `true` if the cell has an unknown verdict that it should not have, or that the simulation judges.
fn is_inconclusive(cell: &Cell, simulated: Option<&Cell>) -> bool {
    let unknown = |it: &Mismatch| it.got.status == Status::Unknown;
    let judged = |property: &Property| {
        let verdict = simulated.and_then(|cell| cell.verdicts.get(property));
        verdict.is_some_and(|verdict| verdict.status != Status::Unknown)
    };
    let mut verdicts = cell.verdicts.iter();
    cell.mismatches.iter().any(unknown)
        || verdicts.any(|(property, verdict)| verdict.status == Status::Unknown && judged(property))
}

/// Returns `true` if the cell's only difference is a missing violation: a property holds that should be violated or is
/// violated in the simulation, and no property is violated that holds there.
fn only_misses_violations(cell: &Cell, simulated: Option<&Cell>) -> bool {
    let any = Expectation::Any { reason: None };
    let bound = |property: &Property| cell.expected.get(property) != Some(&any);
    let violated = |property: &Property| {
        let expected = cell.expected.get(property);
        let expected = matches!(expected, Some(Expectation::Violated { .. }));
        let simulated = simulated.and_then(|cell| cell.verdicts.get(property));
        expected || simulated.is_some_and(|verdict| verdict.status == Status::Violated)
    };
    let bound = cell.verdicts.iter().filter(|(property, _)| bound(property));
    let mut missed = false;
    for (property, verdict) in bound {
        match verdict.status {
            Status::Held => missed |= violated(property),
            Status::Violated if !violated(property) => return false,
            _ => {}
        }
    }
    missed
}

/// Returns `true` if the other backend skipped the cell with a reason.
fn is_skipped(record: &MatrixRecord, cell: &Cell) -> bool {
    let mut skipped = record.skipped.iter();
    skipped.any(|it| it.lock == cell.lock.name && it.scenario == cell.scenario)
}

/// Returns the properties of a cell whose verdict differs from the simulation's.
fn disagreements(real: &Cell, simulated: &Cell, possible: impl Fn(&Cell) -> Cell) -> Vec<String> {
    let properties: BTreeSet<Property> = [real, simulated]
        .iter()
        .flat_map(|cell| cell.verdicts.keys().copied())
        .collect();
    let any = Expectation::Any { reason: None };
    let any_cause = Expectation::Violated { cause: None };
    let mut wrong = Vec::new();
    for property in properties {
        let found = describe(real.verdicts.get(&property));
        let wanted = describe(simulated.verdicts.get(&property));
        if found == wanted {
            continue;
        }
        let mut words = format!(
            "{}: {property} is {found}, and {wanted} in the simulation",
            title(real)
        );
        let expected = real.expected.get(&property);
        if expected == Some(&any) || expected == Some(&any_cause) {
            let tally = possible(simulated).tally.remove(&property);
            let outcomes = outcomes(&tally.unwrap_or_default());
            if outcomes.contains_key(&found) {
                continue;
            }
            words.push_str(&format!(" ({MANY} seeds: {outcomes:?})"));
        }
        wrong.push(words);
    }
    wrong
}

fn describe(verdict: Option<&Verdict>) -> String {
    let recorded = verdict.map(|it| RecordedVerdict::from(it).to_string());
    recorded.unwrap_or_else(|| "not judged".to_owned())
}

/// Returns the verdicts of many runs as text, with their counts.
fn outcomes(tally: &Tally) -> BTreeMap<String, u64> {
    let plain = [
        (Status::Held, tally.held),
        (Status::Unknown, tally.unknown),
        (Status::NotApplicable, tally.not_applicable),
    ];
    let plain = plain.map(|(status, runs)| (status.as_str().to_owned(), runs));
    let violated = tally.causes.iter();
    let violated = violated.map(|(cause, runs)| (format!("{}: {cause}", Status::Violated), *runs));
    plain
        .into_iter()
        .chain(violated)
        .filter(|(_, runs)| *runs > 0)
        .collect()
}

/// Creates a cell of calm in two backends that differ in the property `lease`.
fn sample(expected: &str, real: Verdict) -> Compared {
    let record = |backend: BackendName, verdict: Verdict| MatrixRecord {
        cells: vec![Cell {
            expected: BTreeMap::from([(
                Property::Lease,
                Expectation::try_from(expected.to_owned()).unwrap(),
            )]),
            verdicts: BTreeMap::from([(Property::Lease, verdict)]),
            ..blank(backend)
        }],
        ..MatrixRecord::default()
    };
    Compared {
        simulated: record(BackendName::Sim, Verdict::held()),
        real: record(BackendName::Process, real),
        kept: None,
    }
}

/// Returns the differences if many seeds gave this tally.
fn found(compared: &Compared, lease: &Tally) -> Vec<String> {
    compared.differences_unless(|cell| Cell {
        tally: BTreeMap::from([(Property::Lease, lease.clone())]),
        ..cell.clone()
    })
}

fn blank(backend: BackendName) -> Cell {
    let text = format!(
        r#"{{"impl": {{"name": "redlock", "version": ""}}, "scenario": "calm", "summary": "",
            "scenario_hash": "", "backend": "{backend}", "runs": 1, "seed": 7, "verdicts": {{}},
            "tally": {{}}, "expected": {{}}, "mismatches": [], "counts": {{"granted": 0, "refused": 0,
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

fn inconclusive() -> Verdict {
    Verdict {
        status: Status::Unknown,
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
        causes: BTreeMap::from([(Cause::Race, 1)]),
        ..Tally::default()
    }
}

#[test]
fn a_difference_is_found_also_where_nothing_is_expected() {
    let words = "redlock × calm in the process backend: lease is violated: race, and held in the \
                 simulation";
    let open = sample("any", race());
    let told = [format!("{words} ({MANY} seeds: {{\"held\": {MANY}}})")];
    assert_eq!(found(&open, &always_held()), told);
    assert_eq!(found(&open, &sometimes_a_race()), [""; 0]);
    // The scenario's expectations do not depend on the seed.
    let bound = sample("held", race());
    assert_eq!(found(&bound, &sometimes_a_race()), [words]);
    // The cause is part of the verdict.
    let evicted = Verdict {
        cause: Some(Cause::Evicted),
        ..race()
    };
    let other = found(&sample("any", evicted), &sometimes_a_race());
    assert_eq!(other.len(), 1, "{other:?}");
    let same = found(&sample("any", Verdict::held()), &always_held());
    assert_eq!(same, [""; 0]);
}

#[test]
fn missing_unexpected_and_failed_cells_are_found() {
    let held = || sample("held", Verdict::held());
    let differences = |compared: &Compared| found(compared, &always_held());
    let mut unexpected = held();
    unexpected.real.cells[0].mismatches = vec![Mismatch {
        property: Property::Lease,
        expected: Expectation::Violated { cause: None },
        got: Status::Held.into(),
        runs: 1,
    }];
    assert_eq!(differences(&unexpected).len(), 1);
    let mut failed = held();
    failed.real.cells[0].error = Some("no Redis".into());
    assert_eq!(differences(&failed).len(), 1);
    let mut missing = held();
    let cell = missing.real.cells.pop().unwrap();
    assert_eq!(
        differences(&missing),
        ["redlock × calm in the sim backend: only there"]
    );
    missing
        .real
        .skipped
        .push(picklock_harness::record::SkippedCell {
            lock: cell.lock.name,
            scenario: cell.scenario,
            backend: BackendName::Process,
            reason: "it needs Sentinels".into(),
            family: None,
        });
    assert_eq!(differences(&missing).len(), 0);
    let mut inconclusive = held();
    inconclusive.real.cells[0].verdicts.clear();
    assert_eq!(differences(&inconclusive).len(), 1);
}

#[test]
fn only_a_missed_violation_gets_another_chance() {
    let asked = |expected: &str, real: Verdict, then: Verdict| {
        let mut compared = sample(expected, real);
        compared.simulated.cells[0].verdicts = BTreeMap::from([(Property::Lease, race())]);
        let seeds = std::cell::RefCell::new(Vec::new());
        compared.give_more_chances(|cell, seed| {
            seeds.borrow_mut().push(seed);
            Cell {
                verdicts: BTreeMap::from([(Property::Lease, then.clone())]),
                ..cell.clone()
            }
        });
        (
            seeds.into_inner(),
            compared.real.cells[0].verdicts[&Property::Lease].status,
        )
    };
    let (held, violated) = (Status::Held, Status::Violated);
    let all: Vec<u64> = (SEED + 1..SEED + CHANCES).collect();
    assert_eq!(
        asked("violated: race", Verdict::held(), race()),
        (vec![SEED + 1], violated)
    );
    assert_eq!(
        asked("violated: race", Verdict::held(), Verdict::held()),
        (all, held)
    );
    assert_eq!(
        asked("violated: race", race(), Verdict::held()),
        (vec![], violated)
    );
    assert_eq!(asked("any", Verdict::held(), race()), (vec![], held));
    // A violation is never retried.
    let mut accused = sample("held", race());
    accused.give_more_chances(|_, _| panic!("it is not asked again"));
}

#[test]
fn a_cell_that_the_simulation_judges_is_run_until_it_is_judged() {
    let mut compared = sample("any", inconclusive());
    let runs = std::cell::Cell::new(0);
    compared.judge_the_rest(|cell, _| {
        runs.set(runs.get() + 1);
        let verdict = if runs.get() == 3 {
            race()
        } else {
            inconclusive()
        };
        Cell {
            verdicts: BTreeMap::from([(Property::Lease, verdict)]),
            ..cell.clone()
        }
    });
    assert_eq!(runs.get(), 3);
    // If the simulation is inconclusive too, the machine is not to blame.
    let mut open = sample("any", inconclusive());
    open.simulated.cells[0].verdicts = open.real.cells[0].verdicts.clone();
    open.judge_the_rest(|_, _| panic!("it is not asked again"));
}

#[test]
fn a_scenario_is_named_by_its_file() {
    let flags = ["--impl", "redlock", "--scenario", "/tmp/x/lost-reply.toml"];
    assert_eq!(scenario_of(&flags, "lost-reply"), "/tmp/x/lost-reply.toml");
    assert_eq!(scenario_of(&flags, "calm"), "calm");
}
