//! Creates, prints and saves the record of a search.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use picklock_harness::counterexamples::MAX_SIGNATURES;
use picklock_harness::record::{
    Counterexample, Coverage, LockInfo as Lock, Placed, SEARCH_FORMAT, SearchKind, SearchRecord,
    SearchSettings, Shards,
};
use picklock_harness::search::{Effort, SearchResult, shrink_all};
use picklock_reports::documents::{self, Document};
use picklock_reports::escape::quoted;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::search::continued;
use picklock_reports::terminal;
use picklock_reports::units::count;
use picklock_scenarios::BackendName;

use super::cli::SearchArgs;
use super::lock_under_test::LockUnderTest;
use super::saved_counterexamples;
use super::searching::{SeenAfter, Stop, on_blocking_thread};
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::run_directory::RunDirectory;
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH};
use crate::{lock, print};

const FILE: &str = "search.json";

/// The effort that goes into shrinking.
const EFFORT: Effort = Effort {
    runs: 2_000,
    signatures: MAX_SIGNATURES,
};

/// The record of a search, without the results.
pub struct About {
    pub kind: SearchKind,
    pub depth: Option<usize>,
    pub backend: BackendName,
    /// The request, without the options that all searches share.
    pub settings: SearchSettings,
    /// The coverage, without the results.
    pub coverage: Coverage,
    /// The command that repeats the search, without the program's name.
    pub command: Vec<String>,
    /// Number of the plan with which the search continues if it is interrupted.
    pub next: u64,
}

impl About {
    fn reproduce(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        format!("picklock {}", words.join(" "))
    }
}

/// The record of the same search, which was interrupted and saved to the same directory.
pub struct Earlier(SearchRecord);

impl Earlier {
    /// Returns the record to continue, or `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the directory holds another search, which would be mixed with this one.
    pub fn find(args: &SearchArgs, about: &About) -> Result<Option<Earlier>, Failure> {
        let Some(out) = &args.out else {
            return Ok(None);
        };
        let text = untrusted_file::read(&out.join(FILE), MAX_DOCUMENT_LENGTH, Links::Followed);
        let Ok(Ok(Document::Search(record))) = text.map(|text| documents::read(&text)) else {
            return Ok(None);
        };
        if !record.interrupted || record.reproduce != about.reproduce() {
            return Ok(None);
        }
        if !args.quiet {
            let done = count(record.schedules, "schedule");
            print::err(&inert!(
                "continues the search in {} after {}\n",
                out.display(),
                done
            ));
        }
        Ok(Some(Earlier(*record)))
    }

    /// Returns the counterexamples of the record, whose directories remain.
    pub fn counterexamples(&self) -> &[Counterexample] {
        &self.0.counterexamples
    }

    /// Returns the number of the next plan.
    pub fn next(&self) -> u64 {
        self.0.next
    }
}

/// Saves the record, prints the report, and returns the exit code.
pub fn finish(
    args: &SearchArgs,
    lock_under_test: &LockUnderTest,
    about: About,
    (outcome, counterexamples, elapsed_s): (SearchResult, Vec<Counterexample>, f64),
    (interrupt, earlier): (&Interrupt, Option<Earlier>),
) -> Result<u8, Failure> {
    let mut record = record(
        args,
        lock_under_test,
        about,
        &outcome,
        counterexamples,
        elapsed_s,
        interrupt,
    );
    if let Some(Earlier(earlier)) = earlier {
        record = continued(earlier, record);
    }
    if let Some(out) = &args.out {
        let json = documents::json(&record);
        RunDirectory::below(&lock_under_test.out, Path::new(""))
            .write(FILE, |file| writeln!(file, "{json}"))?;
        crate::report::write_into(out, &["html"])?;
    }
    print(&record, args.json);
    Ok(code_of(&record))
}

/// Shrinks the counterexamples of the simulation, and saves them.
pub async fn shrunk(
    args: &SearchArgs,
    lock_under_test: &LockUnderTest,
    outcome: &SearchResult,
    seen: &SeenAfter,
    (interrupt, stop): (&Interrupt, &Stop),
    earlier: &[Counterexample],
) -> Result<Vec<Counterexample>, Failure> {
    let found = outcome.counterexamples.clone();
    if !args.quiet && found.simplest_violation().is_some() && !stop.all.load(Ordering::Relaxed) {
        print::err(&Inert::literal("shrinking what was found\n"));
    }
    let (target, threads) = (lock_under_test.target()?, lock_under_test.threads);
    let (own, all) = (target.clone(), stop.all.clone());
    let shrinking = move || shrink_all(&own, found, EFFORT, threads, &all);
    let groups = on_blocking_thread(interrupt, stop, shrinking).await?;
    saved_counterexamples::save(&target, groups, seen, &lock_under_test.out, earlier).await
}

/// Adds the results to `known`, the coverage without results.
fn coverage(outcome: &SearchResult, known: Coverage, args: &SearchArgs) -> Coverage {
    let server = (args.server).map(|server| format!("the server {}", server.name()));
    let placed = outcome.placed.iter();
    let unavoidable = outcome.unavoidable.iter();
    Coverage {
        injection_points: outcome.injection_points,
        placements: outcome.placements,
        pruned: outcome.pruned,
        missed: outcome.missed,
        placed: placed
            .map(|((point, fault), (schedules, counterexamples))| Placed {
                injection_point: point.clone(),
                fault: (*fault).to_owned(),
                schedules: *schedules,
                counterexamples: *counterexamples,
            })
            .collect(),
        inconclusive: outcome.inconclusive.clone(),
        unavoidable: unavoidable
            .map(|(it, runs)| (format!("{}: {}", it.property, it.cause), *runs))
            .collect(),
        stuck: outcome.stuck,
        fixed: known.fixed.into_iter().chain(server).collect(),
        ..known
    }
}

fn record(
    args: &SearchArgs,
    lock_under_test: &LockUnderTest,
    about: About,
    outcome: &SearchResult,
    mut counterexamples: Vec<Counterexample>,
    elapsed_s: f64,
    interrupt: &Interrupt,
) -> SearchRecord {
    let (shard, of) = lock_under_test.shard;
    let is_whole = of == 1;
    if is_whole {
        // Unshrunk plans are needed only to join shards.
        counterexamples
            .iter_mut()
            .for_each(|find| find.unshrunk.clear());
    }
    let spec = &lock_under_test.spec;
    let reproduce = about.reproduce();
    SearchRecord {
        format: SEARCH_FORMAT.to_owned(),
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        kind: about.kind,
        lock: Lock {
            name: spec.name.clone(),
            version: lock::version(spec).to_owned(),
        },
        options: spec.options_by_name(),
        backend: about.backend,
        seed: args.seed,
        settings: SearchSettings {
            faults: lock_under_test
                .groups
                .iter()
                .map(ToString::to_string)
                .collect(),
            properties: lock_under_test.wanted.properties.clone(),
            outlived_lease: lock_under_test.wanted.outlived_lease,
            ..about.settings
        },
        depth: about.depth,
        shards: (!is_whole).then(|| Shards {
            of,
            have: [shard].into(),
        }),
        schedules: outcome.schedules,
        violations: outcome.violations,
        exhaustive: about.kind == SearchKind::Sweep
            && outcome.complete
            && is_whole
            && outcome.stuck == 0,
        complete: outcome.complete,
        interrupted: interrupt.is_wanted(),
        next: if interrupt.is_wanted() { about.next } else { 0 },
        elapsed_s: saved_counterexamples::in_millis(elapsed_s),
        coverage: coverage(outcome, about.coverage, args),
        repro: counterexamples.first().and_then(|find| find.repro.clone()),
        counterexamples,
        reproduce,
    }
}

/// Prints the report.
pub fn print(record: &SearchRecord, json: bool) {
    if json {
        print::document(&documents::json(record));
    } else {
        print::out(&terminal::search(record, print::width()));
    }
}

/// Returns the exit code for the search of this process, which may be one shard.
pub fn code_of(record: &SearchRecord) -> u8 {
    match record.counterexamples.is_empty() {
        _ if record.interrupted => exit::INTERRUPTED,
        false => exit::VIOLATED,
        true if record.coverage.stuck > 0 || record.schedules == 0 => exit::INCONCLUSIVE,
        true => exit::HELD,
    }
}

/// Returns the exit code for joined shards.
pub fn code_of_joined(record: &SearchRecord) -> u8 {
    let lacks = record.shards.is_some() || record.interrupted;
    match record.counterexamples.is_empty() {
        false => exit::VIOLATED,
        true if lacks => exit::INCONCLUSIVE,
        true => code_of(record),
    }
}
