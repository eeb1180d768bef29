//! Combines runs and matrices into one [`ReportInput`].

use std::collections::BTreeMap;

use picklock_verdicts::check::{Property, Verdicts};
use picklock_verdicts::history::History;
use picklock_verdicts::record::{Cell, MATRIX_FORMAT, MatrixRecord, RunRecord, Tally};

use crate::report_input::{Evidence, ReportInput};

/// Turns a single run into a matrix with one cell.
///
/// A run record does not contain its scenario's expectations, so the cell has none, and none of its results
/// is unexpected. The hash of the scenario is unknown and stays empty.
pub fn from_run(record: RunRecord, history: Option<History>) -> ReportInput {
    let run_dir = ".".to_owned();
    let cell = Cell {
        lock: record.lock.clone(),
        options: BTreeMap::new(),
        scenario: record.scenario.clone(),
        summary: record.summary.clone(),
        scenario_hash: String::new(),
        setting: None,
        backend: record.backend,
        redis: Some(record.redis.clone()),
        runs: 1,
        seed: record.seed,
        verdicts: record.verdicts.clone(),
        tally: tally(&record.verdicts),
        expected: BTreeMap::new(),
        mismatches: Vec::new(),
        counts: record.counts,
        warnings: record.warnings.clone(),
        reruns: 0,
        key_history: None,
        latency: record.latency.clone(),
        error: None,
        elapsed_ms: None,
        run_dir: Some(run_dir.clone()),
        reproduce: record.reproduce.clone(),
    };
    let matrix = MatrixRecord {
        format: MATRIX_FORMAT.to_owned(),
        picklock: record.picklock.clone(),
        seed: record.seed,
        seeds: 1,
        jobs: 1,
        interrupted: record.interrupted,
        cells: vec![cell],
        reproduce: record.reproduce.clone(),
        ..MatrixRecord::default()
    };
    let evidence = vec![Evidence {
        run_dir,
        record,
        history,
        command_log: None,
        has_repro: false,
    }];
    ReportInput {
        matrix,
        evidence,
        ..ReportInput::default()
    }
}

fn tally(verdicts: &Verdicts) -> BTreeMap<Property, Tally> {
    let mut tallies: BTreeMap<Property, Tally> = BTreeMap::new();
    for (property, verdict) in verdicts {
        tallies.entry(*property).or_default().count(verdict);
    }
    tallies
}

/// Combines several inputs, each with the name of its source.
///
/// Cells keep their order. In the result, runs are identified by `NAME/RUN_DIR`, so that runs of two matrices
/// cannot collide and a reader can find their directories.
pub fn merge(parts: Vec<(String, ReportInput)>) -> ReportInput {
    let mut parts = parts
        .into_iter()
        .map(|(name, part)| prefix_run_dirs(&name, part));
    let mut whole = parts.next().unwrap_or_default();
    let all = &mut whole.matrix;
    all.format = MATRIX_FORMAT.to_owned();
    for (index, part) in parts.enumerate() {
        let matrix = part.matrix;
        // Parts of one CI run share it.
        if index == 0 {
            all.ci_job = matrix.ci_job;
        } else if all.ci_job != matrix.ci_job {
            all.ci_job = None;
        }
        // The parts may have run one after the other or in parallel.
        all.elapsed_ms = None;
        all.seeds = all.seeds.max(matrix.seeds);
        all.processors = all.processors.max(matrix.processors);
        all.jobs = all.jobs.max(matrix.jobs);
        all.interrupted |= matrix.interrupted;
        all.cells.extend(matrix.cells);
        all.skipped.extend(matrix.skipped);
        all.similarity.extend(matrix.similarity);
        if !all.reproduce.is_empty() && !matrix.reproduce.is_empty() {
            all.reproduce.push('\n');
        }
        all.reproduce.push_str(&matrix.reproduce);
        whole.evidence.extend(part.evidence);
        whole.searches.extend(part.searches);
        whole.skipped.extend(part.skipped);
    }
    whole
}

/// Prefixes the run directories of `part` with the directory `name` of its source.
fn prefix_run_dirs(name: &str, mut part: ReportInput) -> ReportInput {
    let within = |run_dir: &str| match (name.trim_end_matches('/'), run_dir) {
        (".", run_dir) => run_dir.to_owned(),
        (name, ".") => name.to_owned(),
        (name, run_dir) => format!("{name}/{run_dir}"),
    };
    for cell in &mut part.matrix.cells {
        cell.run_dir = cell.run_dir.as_deref().map(within);
    }
    for evidence in &mut part.evidence {
        evidence.run_dir = within(&evidence.run_dir);
    }
    part
}
