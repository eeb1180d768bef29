//! A search: its counterexamples, its coverage, and a heat map of faults by injection point.

use std::ffi::OsString;
use std::path::Path;

use picklock_verdicts::record::{Cell, Counterexample, Placed, SearchRecord};

use super::cell_details::{cell_ids, problem_views};
use super::frame::Command;
use super::name::{Name, name, sentence};
use super::story::{Story, story_line};
use super::tone::Tone;
use crate::matrix::distinct;
use crate::remedy::anchor;
use crate::report_input::ReportInput;
use crate::responsibility::Party;
use crate::search::{by_story, statement};
use crate::units::count;

/// Maximum number of counterexamples to list.
const MAX_COUNTEREXAMPLES: usize = 100;
/// Maximum number of injection points and of kinds of faults in the heat map.
const MAX_INJECTION_POINTS: usize = 200;
const MAX_FAULTS: usize = 40;

pub(super) struct SearchView {
    pub(super) lock: Name,
    /// The numbers of counterexamples by party at fault.
    pub(super) tally: String,
    /// The causes, those of the lock itself first.
    pub(super) causes: Vec<CauseView>,
    pub(super) more_counterexamples: usize,
    /// The coverage of the search, as sentences.
    pub(super) statement: Vec<Name>,
    /// The heat map: the kinds of faults, and a row per kind of injection point.
    pub(super) faults: Vec<Name>,
    pub(super) rows: Vec<HeatRow>,
}

/// A cause with its counterexamples, which differ in their faults.
pub(super) struct CauseView {
    pub(super) tone: Tone,
    /// The party at fault, in a few words.
    pub(super) party: &'static str,
    pub(super) cause: &'static str,
    /// The cause, in half a sentence.
    pub(super) meaning: Name,
    pub(super) remedy: &'static str,
    /// The name of the paragraph with the remedy's code.
    pub(super) anchor: Option<&'static str>,
    pub(super) variants: Vec<CounterexampleView>,
}

pub(super) struct CounterexampleView {
    /// The properties that one story violates.
    pub(super) properties: String,
    pub(super) schedules: String,
    pub(super) faults: Vec<Name>,
    /// The faults of the first schedule that shrinking could remove.
    pub(super) not_needed: Vec<Name>,
    pub(super) story: Story,
    pub(super) command: Command,
    /// The cell of its run, if that cell is on the page.
    pub(super) cell: Option<(usize, String)>,
}

/// A kind of injection point.
pub(super) struct HeatRow {
    pub(super) injection_point: Name,
    pub(super) cells: Vec<Option<Heat>>,
}

/// A kind of fault at a kind of injection point.
pub(super) struct Heat {
    pub(super) schedules: u64,
    pub(super) counterexamples: u64,
    /// From 0, without counterexamples, to 4, if every schedule led to a counterexample.
    pub(super) degree: u64,
}

/// Returns `true` if every cell is the run of a counterexample, so that a grid of them would show nothing new.
pub(super) fn is_search_alone(input: &ReportInput) -> bool {
    let counterexamples = input.searches.iter().flat_map(|it| &it.counterexamples);
    let own: Vec<OsString> = counterexamples.filter_map(directory_of).collect();
    let mut cells = input.matrix.cells.iter();
    !input.searches.is_empty()
        && input.matrix.skipped.is_empty()
        && cells.all(|cell| {
            (cell.run_dir.as_deref())
                .and_then(last_name)
                .is_some_and(|it| own.contains(&it))
        })
}

fn last_name(path: &str) -> Option<OsString> {
    Path::new(path).file_name().map(ToOwned::to_owned)
}

/// Returns the name of the directory of a counterexample's run.
fn directory_of(counterexample: &Counterexample) -> Option<OsString> {
    let repro = counterexample.repro.as_deref()?;
    last_name(Path::new(repro).parent()?.to_str()?)
}

/// Returns a headline with the number of distinct bugs of the lock itself.
pub(super) fn headline(search: &SearchRecord) -> String {
    let groups = by_story(&search.counterexamples);
    let own = groups.iter().filter(|(party, _)| *party == Party::Lock);
    let causes = distinct(own.clone().map(|(_, group)| group[0].cause.as_str())).len();
    let found = match causes {
        0 => "no fault of its own found".to_owned(),
        1 => "1 fault of its own".to_owned(),
        more => format!("{more} faults of its own"),
    };
    let variants = match own.count() {
        more if more > causes => format!(", in {more} variants"),
        _ => String::new(),
    };
    format!("{}: {found}{variants}", name(&search.lock.name).shown)
}

/// Describes the numbers of counterexamples by the party at fault.
fn tally(groups: &[(Party, Vec<&Counterexample>)], schedules: u64) -> String {
    let parties = distinct(groups.iter().map(|(party, _)| party.fault()));
    let part = |party: &str| {
        let number = groups.iter().filter(|(it, _)| it.fault() == party).count();
        format!("{party} ({number})")
    };
    let parts: Vec<String> = parties.into_iter().map(part).collect();
    let total = count(groups.len(), "counterexample");
    format!(
        "{total} in {}: {}",
        count(schedules, "schedule"),
        parts.join(", ")
    )
}

pub(super) fn searches(input: &ReportInput) -> Vec<SearchView> {
    let views = input.searches.iter();
    views.map(|search| view(search, input)).collect()
}

fn view(search: &SearchRecord, input: &ReportInput) -> SearchView {
    let placed = &search.coverage.placed;
    let faults = distinct(placed.iter().map(|one| one.fault.as_str()));
    let faults: Vec<&str> = faults.into_iter().take(MAX_FAULTS).collect();
    let injection_points = distinct(placed.iter().map(|one| one.injection_point.as_str()));
    let row = |injection_point: &str| HeatRow {
        injection_point: name(injection_point),
        cells: faults
            .iter()
            .map(|fault| heat(placed, injection_point, fault))
            .collect(),
    };
    let groups = by_story(&search.counterexamples);
    let counterexamples = groups.iter().take(MAX_COUNTEREXAMPLES);
    SearchView {
        lock: name(&search.lock.name),
        tally: tally(&groups, search.schedules),
        causes: cause_views(counterexamples, input),
        more_counterexamples: groups.len().saturating_sub(MAX_COUNTEREXAMPLES),
        statement: statement(search).iter().map(|it| sentence(it)).collect(),
        rows: injection_points
            .into_iter()
            .take(MAX_INJECTION_POINTS)
            .map(row)
            .collect(),
        faults: faults.into_iter().map(name).collect(),
    }
}

fn heat(placed: &[Placed], injection_point: &str, fault: &str) -> Option<Heat> {
    let mut placed = placed.iter();
    let found = placed.find(|one| one.injection_point == injection_point && one.fault == fault)?;
    let (schedules, counterexamples) = (found.schedules, found.counterexamples);
    Some(Heat {
        schedules,
        counterexamples,
        degree: counterexamples
            .saturating_mul(4)
            .div_ceil(schedules.max(1))
            .min(4),
    })
}

/// Returns the causes with their counterexamples, in the order of the groups.
fn cause_views<'a>(
    groups: impl Iterator<Item = &'a (Party, Vec<&'a Counterexample>)>,
    input: &ReportInput,
) -> Vec<CauseView> {
    let mut causes: Vec<CauseView> = Vec::new();
    for (party, group) in groups {
        let cause = group[0].cause;
        let variant = counterexample_view(group, input);
        match causes.iter_mut().find(|it| it.cause == cause.as_str()) {
            Some(known) => known.variants.push(variant),
            None => causes.push(CauseView {
                tone: (*party).into(),
                party: party.fault(),
                cause: cause.as_str(),
                meaning: sentence(cause.summary()),
                remedy: cause.remedy().unwrap_or_default(),
                anchor: anchor(cause),
                variants: vec![variant],
            }),
        }
    }
    causes
}

/// Returns the view of the counterexamples that share a story. Only the first of them is shown.
fn counterexample_view(group: &[&Counterexample], input: &ReportInput) -> CounterexampleView {
    let counterexample = group[0];
    let properties: Vec<&str> = group.iter().map(|one| one.property.as_str()).collect();
    let properties = properties.join(", ");
    let own = directory_of(counterexample);
    let mut cells = input.matrix.cells.iter();
    let is_own = |run_dir: &str| own.is_some() && last_name(run_dir) == own;
    let cell = cells.position(|cell| cell.run_dir.as_deref().is_some_and(is_own));
    CounterexampleView {
        properties: properties.clone(),
        schedules: count(counterexample.schedules, "schedule"),
        faults: counterexample
            .faults
            .iter()
            .map(|it| fault_sentence(it))
            .collect(),
        not_needed: counterexample
            .not_needed
            .iter()
            .map(|it| fault_sentence(it))
            .collect(),
        story: cell
            .and_then(|index| story_of_run(counterexample, &input.matrix.cells[index]))
            .unwrap_or_else(|| Story {
                properties,
                lines: counterexample
                    .story
                    .iter()
                    .map(|it| story_line(it))
                    .collect(),
            }),
        command: Command::for_command(&counterexample.reproduce),
        cell: cell.map(|index| (index, cell_ids(&input.matrix.cells)[index].clone())),
    }
}

/// Returns the story of the saved run, in which the deciding lines are numbered, or `None` if the run has another
/// violation.
fn story_of_run(counterexample: &Counterexample, cell: &Cell) -> Option<Story> {
    let mut problems = problem_views(&cell.verdicts, None).into_iter();
    let same = problems.find(|it| it.violates(counterexample.property))?;
    Some(same.story)
}

/// Returns a sentence with the names of commands as code, because two faults may differ only in a command.
fn fault_sentence(text: &str) -> Name {
    let is_command = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
    let words = text.split(' ').map(|word| {
        if is_command(word) {
            format!("`{word}`")
        } else {
            word.to_owned()
        }
    });
    sentence(&words.collect::<Vec<_>>().join(" "))
}
