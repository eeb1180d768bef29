//! The record of a search: made, printed and kept.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use picklock_harness::record::{
    Asked, Coverage, Find, SEARCH_FORMAT, SearchKind, SearchRecord, Shards, Subject as Lock,
};
use picklock_harness::search::{Effort, Finds, Tried, shrink_all};
use picklock_reports::{documents, terminal};
use picklock_scenarios::BackendName;

use super::cli::SearchArgs;
use super::kept_finds;
use super::searching::{SeenAfter, Stop, beside};
use super::subject::Subject;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::run_directory::{RunDirectory, make_private};
use crate::{lock, print};

/// Where finds are kept without `--out`.
const DEFAULT_OUT: &str = "picklock-finds";

/// The file of a kept search.
const FILE: &str = "search.json";

/// How much work goes into shrinking.
const EFFORT: Effort = Effort {
    runs: 2_000,
    shapes: 3,
};

/// What a record says besides what was tried.
pub struct About {
    pub kind: SearchKind,
    pub depth: Option<usize>,
    pub workload: Option<String>,
    pub scenario_hash: Option<String>,
    pub runs: Option<u64>,
    pub plain: bool,
    pub vocabulary: Vec<String>,
    pub patterns: u64,
    /// What was the same in all runs, in words.
    pub fixed: Vec<String>,
    /// The command that repeats it, without the program's name.
    pub command: Vec<String>,
}

/// Shrinks and keeps what was found, prints the report, and returns the exit code.
///
/// # Errors
/// A directory cannot be written.
pub async fn finish(
    args: &SearchArgs,
    subject: Subject,
    about: About,
    (mut tried, seen, elapsed_s): (Tried, SeenAfter, f64),
    (interrupt, stop): (&Interrupt, &Stop),
) -> Result<u8, Failure> {
    let found = std::mem::take(&mut tried.finds);
    let finds = shrunk(args, &subject, found, &seen, (interrupt, stop)).await?;
    let record = record(args, &subject, about, &tried, finds, elapsed_s, interrupt);
    if let Some(out) = &args.out {
        keep(&record, out)?;
    }
    print(&record, args.json);
    Ok(code_of(&record))
}

async fn shrunk(
    args: &SearchArgs,
    subject: &Subject,
    found: Finds,
    seen: &SeenAfter,
    (interrupt, stop): (&Interrupt, &Stop),
) -> Result<Vec<Find>, Failure> {
    if !args.quiet && found.first().is_some() && !stop.all.load(Ordering::Relaxed) {
        print::err("shrinking what was found\n");
    }
    let (target, threads, all) = (subject.target.clone(), subject.threads, stop.all.clone());
    let shrinking = move || shrink_all(&target, found, EFFORT, threads, &all);
    let groups = beside(interrupt, stop, shrinking).await?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    kept_finds::keep(&subject.target, groups, seen, &out).await
}

fn record(
    args: &SearchArgs,
    subject: &Subject,
    about: About,
    tried: &Tried,
    finds: Vec<Find>,
    elapsed_s: f64,
    interrupt: &Interrupt,
) -> SearchRecord {
    let (shard, of) = subject.shard;
    let is_whole = of == 1;
    let spec = &subject.target.spec;
    SearchRecord {
        format: SEARCH_FORMAT.to_owned(),
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        kind: about.kind,
        lock: Lock {
            name: spec.name.clone(),
            version: lock::version(spec).to_owned(),
        },
        options: spec.options_by_name(),
        backend: BackendName::Sim,
        seed: args.seed,
        asked: Asked {
            workload: about.workload,
            scenario_hash: about.scenario_hash,
            faults: subject.groups.iter().map(ToString::to_string).collect(),
            properties: subject.wanted.properties.clone(),
            outlived_lease: subject.wanted.outlived_lease,
            runs: about.runs,
            plain: about.plain,
        },
        depth: about.depth,
        shards: (!is_whole).then(|| Shards {
            of,
            have: [shard].into(),
        }),
        schedules: tried.schedules,
        violations: tried.violations,
        exhaustive: about.kind == SearchKind::Sweep
            && tried.complete
            && is_whole
            && tried.stuck == 0,
        complete: tried.complete,
        interrupted: interrupt.is_wanted(),
        elapsed_s: (elapsed_s * 1e3).round() / 1e3,
        coverage: Coverage {
            moments: tried.moments,
            faults: about.vocabulary,
            placements: tried.placements,
            folded: tried.folded,
            missed: tried.missed,
            unjudged: tried.unjudged.clone(),
            stuck: tried.stuck,
            patterns: about.patterns,
            fixed: about.fixed,
        },
        repro: finds.first().and_then(|find| find.repro.clone()),
        finds,
        reproduce: format!("picklock {}", shell_words::join(about.command)),
    }
}

/// Keeps the record in its directory.
///
/// # Errors
/// The directory cannot be written.
fn keep(record: &SearchRecord, out: &Path) -> Result<(), Failure> {
    make_private(out)
        .map_err(|error| Failure::Usage(format!("--out {}: {error}", out.display())))?;
    RunDirectory::at(out).write(FILE, |file| writeln!(file, "{}", documents::json(record)))
}

/// Prints the report.
pub fn print(record: &SearchRecord, json: bool) {
    print::out(&match json {
        true => format!("{}\n", documents::json(record)),
        false => terminal::search(record, print::width()),
    });
}

/// The exit code for a search.
pub fn code_of(record: &SearchRecord) -> u8 {
    let is_part = record.shards.as_ref().is_some_and(|it| it.have.len() > 1);
    match record.finds.is_empty() {
        _ if record.interrupted => exit::INTERRUPTED,
        false => exit::VIOLATED,
        true if record.coverage.stuck > 0 || record.schedules == 0 || is_part => exit::INCONCLUSIVE,
        true => exit::HELD,
    }
}
