//! Simulated runs combined into a matrix, as `picklock matrix` would save it.

use std::collections::BTreeMap;

use picklock_harness::Trial;
use picklock_harness::sim::LockFactory;
use picklock_impls::find;
use picklock_reports::report_input::{Evidence, ReportInput};
use picklock_verdicts::assemble::{About, assemble};
use picklock_verdicts::check::{Property, Status, Verdicts};
use picklock_verdicts::expectation::{Expectation, Expected, Tables, fits};
use picklock_verdicts::history::History;
use picklock_verdicts::latency;
use picklock_verdicts::record::{
    Cell, CellSetting, MATRIX_FORMAT, MatrixRecord, Mismatch, Redis, RunRecord, Tally,
};

/// Returns a matrix of simulated runs.
pub fn matrix(locks: &[&str], scenarios: &[&str], seeds: u64) -> ReportInput {
    let mut material = nothing(seeds);
    for scenario in scenarios {
        for lock in locks {
            let (cell, evidence) = cell(lock, scenario, seeds);
            material.matrix.cells.push(cell);
            material.evidence.extend(evidence);
        }
    }
    material
}

/// Returns a matrix without cells.
pub fn nothing(seeds: u64) -> ReportInput {
    ReportInput {
        matrix: MatrixRecord {
            similarity: Vec::new(),
            format: MATRIX_FORMAT.into(),
            picklock: "0.1.0".into(),
            seed: 1,
            seeds,
            processors: 2,
            jobs: 2,
            interrupted: false,
            elapsed_ms: Some(4_210),
            ci_job: None,
            cells: Vec::new(),
            skipped: Vec::new(),
            reproduce: format!("picklock matrix --backend sim --seed 1 --seeds {seeds}"),
        },
        ..ReportInput::default()
    }
}

/// Returns a cell and the run that it shows.
pub fn cell(lock: &str, scenario: &str, seeds: u64) -> (Cell, Option<Evidence>) {
    let trial = Trial::scenario(scenario)
        .expect("a scenario of the catalog")
        .seeds(1..=seeds);
    let rule = Expected::for_lock(trial.planned_scenario(), lock, Tables::NamedOrAll);
    let expected = rule.to_record();
    let outcome = match trial.run_lock(&LockFactory::built_in(find(lock).expect("a built-in lock")))
    {
        Ok(outcome) => outcome,
        Err(error) => {
            let history = super::histories::long(0);
            let record = record(&history, Verdicts::new(), "");
            let mut cell = from_record(&record, "", expected);
            (cell.lock.name, cell.scenario) = (lock.into(), scenario.into());
            cell.error = Some(error.to_string());
            return (cell, None);
        }
    };
    let run = outcome
        .runs()
        .iter()
        .find(|run| run.verdicts.values().any(|v| v.status == Status::Violated))
        .unwrap_or(&outcome.runs()[0]);
    let record = record(
        &run.history,
        run.verdicts.clone(),
        &trial.planned_scenario().summary,
    );
    let run_dir = format!("cells/{lock}/{scenario}/sim");
    let mut cell = from_record(&record, &run_dir, expected);
    cell.setting = Some(CellSetting {
        family: trial.planned_scenario().family(),
        lock_kind: trial.planned_scenario().workload.kind.lock_kind(),
        measures: trial.planned_scenario().measures,
        nodes: find(lock).map_or(1, |known| known.nodes),
        replicas: find(lock).map_or(0, |known| known.replicas),
        ttl_ms: None,
        workers: None,
    });
    cell.mismatches = rule.mismatches(&run.verdicts);
    cell.runs = seeds;
    cell.tally = tally(outcome.runs().iter().map(|run| &run.verdicts));
    let evidence = Evidence {
        run_dir,
        record,
        history: Some(run.history.clone()),
        command_log: None,
        has_repro: false,
    };
    (cell, Some(evidence))
}

/// Returns the record of a history.
pub fn record(history: &History, verdicts: Verdicts, summary: &str) -> RunRecord {
    let about = About {
        picklock: "0.1.0".into(),
        lock_version: "0.1.0".into(),
        summary: summary.into(),
        backend_reason: "asked for with --backend".into(),
        redis: Redis {
            server: "model of redis".into(),
            version: "7.0.15".into(),
        },
        latency: latency::from_history(history),
        reproduce: format!(
            "picklock scenario {} --impl {} --backend sim --seed {}",
            history.header.scenario, history.header.lock, history.header.seed
        ),
        ..About::default()
    };
    assemble(history, verdicts, about)
}

/// Returns the cell of one run.
pub fn from_record(
    record: &RunRecord,
    run_dir: &str,
    expected: BTreeMap<Property, Expectation>,
) -> Cell {
    Cell {
        lock: record.lock.clone(),
        options: BTreeMap::new(),
        scenario: record.scenario.clone(),
        summary: record.summary.clone(),
        scenario_hash: "0".into(),
        setting: None,
        redis: None,
        backend: record.backend,
        runs: 1,
        seed: record.seed,
        mismatches: mismatches(&record.verdicts, &expected),
        verdicts: record.verdicts.clone(),
        tally: tally([&record.verdicts].into_iter()),
        expected,
        counts: record.counts,
        warnings: record.warnings.clone(),
        reruns: 0,
        key_history: None,
        latency: record.latency.clone(),
        error: None,
        elapsed_ms: Some(12),
        run_dir: Some(run_dir.into()),
        reproduce: record.reproduce.clone(),
    }
}

fn mismatches(verdicts: &Verdicts, expected: &BTreeMap<Property, Expectation>) -> Vec<Mismatch> {
    let unmet = expected
        .iter()
        .filter(|(property, expected)| !fits(expected, &verdicts[property]));
    let mismatch = |(property, expected): (&Property, &Expectation)| Mismatch {
        property: *property,
        expected: expected.clone(),
        got: (&verdicts[property]).into(),
        runs: 1,
    };
    unmet.map(mismatch).collect()
}

fn tally<'a>(runs: impl Iterator<Item = &'a Verdicts>) -> BTreeMap<Property, Tally> {
    let mut tallies: BTreeMap<Property, Tally> = BTreeMap::new();
    for (property, verdict) in runs.flatten() {
        tallies.entry(*property).or_default().count(verdict);
    }
    tallies
}
