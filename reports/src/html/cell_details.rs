//! The details of one cell: verdicts, stories, timeline, figures, and the command that repeats the run.

use std::collections::HashSet;

use picklock_verdicts::check::{Cause, Property, Status, Verdicts, describe};
use picklock_verdicts::latency::{HANDOVER, LOSS_REPORT, REQUESTED};
use picklock_verdicts::record::{Cell, FiredFault};
use picklock_verdicts::timeline::Timeline;

use super::embedded_json;
use super::figures::{self, Figures};
use super::frame::Command;
use super::name::{CommandWords, Fact, Name, command_words, fact, name, paragraph, sentence};
use super::remedy_view::RemedyView;
use super::story::{Story, story_lines};
use super::tile::{self, Tile, tile};
use super::timeline_data::{Room, TimelineData, timeline_data};
use super::tone::Tone;
use crate::cell_status::verdict_line;
use crate::costs::describe_commands;
use crate::escape::quoted;
use crate::matrix::{CellOutcome, lock_with_options};
use crate::problem::{Numbered, Problem, capitalized, numbered};
use crate::remedy::remedy;
use crate::report_input::{Evidence, ReportInput};
use crate::responsibility::Blame;
use crate::units::{count, grouped, span_ms, span_us, time_ns};

/// Maximum number of incidents to list.
const MAX_TROUBLES: usize = 50;

/// Maximum number of characters of a cell's name in links.
const MAX_ID_LENGTH: usize = 100;

/// Maximum number of sentences of advice. The code and the page of the cause contain more.
const MAX_ADVICE: usize = 3;

pub(super) struct CellDetails {
    pub(super) index: usize,
    /// The name of the cell in links.
    pub(super) id: String,
    /// Whether this is the only cell of the page, which then has the code of the remedies.
    pub(super) is_single: bool,
    pub(super) lock: Name,
    pub(super) version: Name,
    pub(super) scenario: Name,
    pub(super) backend: Name,
    pub(super) summary: Name,
    pub(super) tile: Tile,
    pub(super) error: Option<Name>,
    pub(super) problems: Vec<ProblemView>,
    pub(super) verdicts: Vec<VerdictRow>,
    pub(super) command: Command,
    pub(super) run_dir: Option<Name>,
    /// Whether the saved run's directory could not be read.
    pub(super) is_gone: bool,
    /// The command that repeats the saved run, if its directory has a file for it.
    pub(super) replay: Option<CommandWords>,
    pub(super) facts: Vec<Fact>,
    pub(super) warnings: Vec<Name>,
    pub(super) trouble: Vec<Name>,
    pub(super) faults: Vec<FaultRow>,
    pub(super) track: Option<TimelineData>,
    /// Whether the timeline has the messages of the command log.
    pub(super) has_messages: bool,
    pub(super) has_log: bool,
    /// Whether the log shows only some of the events.
    pub(super) log_is_part: bool,
    pub(super) omitted: Vec<String>,
    pub(super) figures: Figures,
}

pub(super) struct VerdictRow {
    pub(super) property: Property,
    pub(super) letter: char,
    pub(super) sign: &'static str,
    pub(super) status: &'static str,
    /// The colour of the party at fault, if the property is violated.
    pub(super) tone: Option<Tone>,
    pub(super) meaning: Name,
    pub(super) cause: &'static str,
    pub(super) rate: Option<String>,
    pub(super) expected: Name,
    pub(super) unexpected: bool,
}

/// Violations that share a story.
pub(super) struct ProblemView {
    pub(super) tone: Tone,
    pub(super) headline: Name,
    /// The party at fault in a few words, and the rest of the sentence.
    pub(super) party: String,
    pub(super) fault: Name,
    pub(super) remedy: &'static str,
    pub(super) causes: String,
    /// The command that explains the first cause.
    pub(super) explain_command: Command,
    /// The page that explains the first cause, as paragraphs without the advice and the sources.
    pub(super) page: Vec<Name>,
    /// The first sentences of the advice. Empty if the cause is unknown.
    pub(super) advice: Name,
    /// The code of the remedy.
    pub(super) code: Option<RemedyView>,
    pub(super) story: Story,
    properties: Vec<Property>,
}

impl ProblemView {
    /// Returns `true` if `property` is violated.
    pub(super) fn violates(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }
}

/// A fault of the run record.
pub(super) struct FaultRow {
    pub(super) at: String,
    pub(super) detail: Name,
    pub(super) until: String,
}

impl CellDetails {
    /// Returns the verdicts, violated properties first.
    pub(super) fn verdicts_worst_first(&self) -> Vec<&VerdictRow> {
        let mut rows: Vec<&VerdictRow> = self.verdicts.iter().collect();
        rows.sort_by_key(|row| (row.status != Status::Violated.as_str(), !row.unexpected));
        rows
    }

    /// Returns the code of the remedies, each once, if this is the only cell of the page. A page of several cells has
    /// it below all of them.
    pub(super) fn remedies(&self) -> Vec<&RemedyView> {
        let mut remedies: Vec<&RemedyView> = Vec::new();
        for remedy in self.problems.iter().filter_map(|it| it.code.as_ref()) {
            if self.is_single && remedies.iter().all(|it| it.anchor() != remedy.anchor()) {
                remedies.push(remedy);
            }
        }
        remedies
    }

    /// Returns the timeline's data as JSON that is safe inside a script element, if this is the only cell of the page.
    /// The timelines of several cells are packed.
    pub(super) fn embedded_track(&self) -> Option<String> {
        let track = self.track.as_ref().filter(|_| self.is_single);
        track.map(embedded_json::json)
    }

    /// Adds facts about how the only run of a page was run.
    pub(super) fn with_facts(mut self, facts: Vec<Fact>) -> CellDetails {
        self.facts.extend(facts);
        self.facts.retain(|it| !REPEATED_FACTS.contains(&it.what));
        self
    }
}

/// Facts that a page of one run omits, because they are in its first line, or because they count cells.
const REPEATED_FACTS: [&str; 5] = ["picklock", "setting", "server", "seed", "cells"];

/// Creates the details of each cell lazily. If there is only one cell, its details are expanded.
pub(super) fn all_cell_details(input: &ReportInput) -> impl Iterator<Item = CellDetails> {
    let cells = &input.matrix.cells;
    let ids = cell_ids(cells);
    let is_single = cells.len() == 1;
    let details = move |(index, cell): (usize, &Cell)| {
        let mut verdicts = cell.verdicts.values();
        let is_quiet = verdicts.all(|verdict| verdict.status != Status::Violated);
        let room = Room::for_cells(cells.len(), is_quiet);
        CellDetails {
            id: ids[index].clone(),
            is_single,
            ..cell_details(index, cell, input.evidence_for(cell), room)
        }
    };
    cells.iter().enumerate().map(details)
}

/// Returns the name of each cell in links, such as `cell-gc-pause-redlock-sim`. A link stays the same if other cells
/// are added.
pub(super) fn cell_ids(cells: &[Cell]) -> Vec<String> {
    let mut known = HashSet::new();
    let id = |(index, cell): (usize, &Cell)| {
        let words = format!(
            "{}-{}-{}",
            cell.scenario,
            lock_with_options(cell),
            cell.backend
        );
        let plain = words.chars().take(MAX_ID_LENGTH);
        let plain: String = plain
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let id = format!("cell-{plain}");
        if known.insert(id.clone()) {
            id
        } else {
            format!("{id}-{index}")
        }
    };
    cells.iter().enumerate().map(id).collect()
}

fn cell_details(index: usize, cell: &Cell, found: Option<&Evidence>, room: Room) -> CellDetails {
    let history = found.and_then(|evidence| evidence.history.as_ref());
    let proxy = found.and_then(|evidence| evidence.command_log.as_ref());
    let timeline = history.map(Timeline::new);
    let track =
        (timeline.as_ref()).map(|timeline| timeline_data(timeline, proxy, &cell.verdicts, room));
    let record = found.map(|evidence| &evidence.record);
    CellDetails {
        index,
        id: String::new(),
        is_single: false,
        lock: name(&cell.lock.name),
        version: name(&cell.lock.version),
        scenario: name(&cell.scenario),
        backend: name(cell.backend.as_str()),
        summary: sentence(&cell.summary),
        tile: tile(cell),
        error: cell.error.as_ref().map(|error| sentence(error)),
        problems: match CellOutcome::from_cell(cell) {
            CellOutcome::NotRun => Vec::new(),
            _ => problem_views(&cell.verdicts, timeline.as_ref()),
        },
        verdicts: verdict_rows(cell),
        command: Command::for_command(&cell.reproduce),
        run_dir: cell.run_dir.as_ref().map(|run_dir| name(run_dir)),
        is_gone: found.is_none(),
        replay: (cell.run_dir.as_ref())
            .filter(|_| found.is_some_and(|evidence| evidence.has_repro))
            .map(|run_dir| command_words(&format!("picklock replay {}", quoted(run_dir)))),
        facts: facts(cell, found),
        warnings: (cell.warnings.iter())
            .map(|warning| sentence(&warning.text))
            .collect(),
        trouble: record.map_or_else(Vec::new, |record| {
            let trouble = record.trouble.iter().take(MAX_TROUBLES);
            trouble.map(|words| sentence(words)).collect()
        }),
        faults: record.map_or_else(Vec::new, |record| faults(&record.faults)),
        has_log: track.as_ref().is_some_and(|track| !track.log.is_empty()),
        log_is_part: track.as_ref().is_some_and(|track| track.log_is_part),
        omitted: omitted(track.as_ref(), cell, room),
        has_messages: (track.as_ref()).is_some_and(|track| track.messages.is_some()),
        track,
        figures: timeline.as_ref().map_or_else(
            || figures::from_cell(cell),
            |timeline| figures::from_timeline(timeline, proxy),
        ),
    }
}

/// Lists what the timeline omits.
fn omitted(track: Option<&TimelineData>, cell: &Cell, room: Room) -> Vec<String> {
    let Some(track) = track else {
        return Vec::new();
    };
    let mut omitted = track.omitted.clone();
    if let Some(run_dir) = cell.run_dir.as_ref().filter(|_| room.is_without_commands()) {
        omitted.push(format!(
            "Nothing was violated, and this page has many cells, so single commands and values of keys are \
             omitted. `picklock report {}` shows them.",
            quoted(&name(run_dir).shown)
        ));
    }
    omitted
}

fn verdict_rows(cell: &Cell) -> Vec<VerdictRow> {
    let blame = Blame::from_verdicts(&cell.verdicts);
    let row = |property: Property| {
        let verdict = cell.verdicts.get(&property)?;
        let tally = cell.tally.get(&property).filter(|_| cell.runs > 1);
        Some(VerdictRow {
            property,
            letter: describe(property).letter,
            sign: verdict.status.sign(),
            status: verdict.status.as_str(),
            tone: blame.party(property).map(Tone::from),
            meaning: sentence(&verdict_line(property, verdict)),
            cause: verdict.cause.map_or("", |cause| cause.as_str()),
            rate: tally.map(tile::describe_rate),
            expected: match verdict.status {
                Status::NotApplicable => name("–"),
                _ => name(
                    &cell
                        .expected
                        .get(&property)
                        .map_or(String::new(), ToString::to_string),
                ),
            },
            unexpected: cell.mismatches.iter().any(|s| s.property == property),
        })
    };
    Property::ALL.into_iter().filter_map(row).collect()
}

/// Returns the problems of a run. With its timeline, their stories have the ends of outlived leases, too.
pub(super) fn problem_views(
    verdicts: &Verdicts,
    timeline: Option<&Timeline<'_>>,
) -> Vec<ProblemView> {
    let view = |(problem, numbered): (Problem<'_>, Vec<Numbered<'_>>)| {
        let text = problem.fault(verdicts);
        let (party, fault) = text.split_at(text.find(':').unwrap_or(0));
        let properties: Vec<&str> = problem.properties.iter().map(|it| it.as_str()).collect();
        let causes: Vec<&str> = problem.causes.iter().map(|it| it.as_str()).collect();
        ProblemView {
            tone: problem.party.into(),
            headline: sentence(&problem.headline()),
            party: party.to_owned(),
            fault: sentence(fault.trim_start_matches(": ")),
            remedy: problem.remedy().unwrap_or_default(),
            causes: causes.join(", "),
            explain_command: Command::for_command(&format!("picklock explain {}", problem.name())),
            page: problem.causes.first().map_or_else(Vec::new, explanation),
            advice: problem.causes.first().map_or_else(Name::default, advice),
            code: problem
                .causes
                .iter()
                .find_map(|cause| remedy(*cause))
                .map(RemedyView::new),
            story: Story {
                properties: properties.join(", "),
                lines: story_lines(&problem, &numbered, timeline),
            },
            properties: problem.properties,
        }
    };
    numbered(verdicts).into_iter().map(view).collect()
}

fn advice(cause: &Cause) -> Name {
    let advice = cause.advice();
    let first: String = advice.split_inclusive(". ").take(MAX_ADVICE).collect();
    sentence(&capitalized(first.trim_end()))
}

/// Returns the page of a cause as paragraphs, without its heading, the advice and the sources.
fn explanation(cause: &Cause) -> Vec<Name> {
    let paragraphs = cause.page().split("\n\n");
    let is_told = |text: &&str| {
        !text.starts_with('#') && !text.starts_with("What to do") && !text.starts_with("Sources")
    };
    let shown = paragraphs.filter(is_told).map(|it| it.replace('\n', " "));
    shown.map(|it| paragraph(it.trim())).collect()
}

fn faults(faults: &[FiredFault]) -> Vec<FaultRow> {
    let time = |ns: Option<u64>, default: &str| ns.map_or_else(|| default.to_owned(), time_ns);
    let row = |fault: &FiredFault| FaultRow {
        at: time(fault.began_ns, "never fired"),
        detail: sentence(&fault.detail),
        until: match fault.began_ns {
            Some(_) => time(fault.ended_ns, "the end"),
            None => String::new(),
        },
    };
    faults.iter().take(MAX_TROUBLES).map(row).collect()
}

fn facts(cell: &Cell, found: Option<&Evidence>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(Evidence { record, .. }) = found {
        let (nodes, ttl) = (count(record.nodes, "node"), span_ms(record.ttl_ms));
        let clients = count(record.workers, "client");
        let setting = format!("{clients}, {nodes}, lease {ttl}");
        let server = format!("{} {}", record.redis.server, record.redis.version);
        facts.extend([fact("setting", setting), fact("server", server)]);
        if record.interrupted {
            facts.push(fact("interrupted", "by the user"));
        }
    }
    if !cell.options.is_empty() {
        let options = cell.options.iter();
        let options: Vec<String> = options
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        facts.push(fact("options", options.join(", ")));
    }
    if cell.runs > 1 {
        facts.push(fact("runs", grouped(cell.runs)));
        facts.push(fact("seed shown", cell.seed.to_string()));
    } else {
        facts.push(fact("seed", cell.seed.to_string()));
    }
    let counts = &cell.counts;
    let of_lock = [
        (counts.granted, "granted"),
        (counts.refused, "refused"),
        (counts.failed, "failed"),
        (counts.extended, "extended"),
        (counts.released, "released"),
    ];
    let lock = of_lock.map(|(number, what)| format!("{} {what}", grouped(number)));
    let lock = lock.join(", ");
    let [start, sold, left] = [counts.stock_start, counts.sold, counts.stock_left].map(grouped);
    let stock = format!("{start} at the start, {sold} sold, {left} left");
    facts.extend([fact("lock", lock), fact("stock", stock)]);
    facts.extend(describe_commands(counts).map(|text| fact("commands", text)));
    if let (Some(arrived), Some(unserved)) = (counts.arrived, counts.unserved) {
        let [arrived, unserved] = [arrived, unserved].map(grouped);
        let arrivals = format!("{arrived} arrived, {unserved} unserved");
        facts.push(fact("buyers", arrivals));
    }
    facts.extend(latencies(cell));
    facts
}

/// Returns the latencies of each operation, and in an open loop the time that they are measured from.
fn latencies(cell: &Cell) -> Vec<Fact> {
    let mut facts = Vec::new();
    let is_open_loop = cell.latency.contains_key(REQUESTED);
    for (operation, latency) in cell.latency.iter().filter(|(_, latency)| latency.count > 0) {
        let (title, suffix) = match operation.as_str() {
            "acquire" if is_open_loop => ("acquire", "; from the intended start"),
            "acquire" => ("acquire", ""),
            REQUESTED => ("request", "; from the request"),
            "release" => ("release", ""),
            HANDOVER => ("handover", "; free while a client waited"),
            LOSS_REPORT => ("loss report", "; after the loss"),
            _ => continue,
        };
        let spans = [latency.p50_us, latency.p99_us, latency.max_us].map(span_us);
        let [median, tail, longest] = spans;
        let words = format!("median {median}, 99 % {tail}, longest {longest}{suffix}");
        facts.push(fact(title, words));
    }
    facts
}
