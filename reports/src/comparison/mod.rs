//! Compares two sets of runs: first changed verdicts, then latency ratios.
//!
//! Cells are paired by lock with its options, scenario and backend. Verdict changes come first, worst first.
//! A latency ratio counts as a change only if the confidence intervals of the two quantiles do not overlap
//! ([`crate::statistics`]); all other ratios are reported as noise.

mod changed_story;
mod outcome;
mod parameter;
mod story_key;
mod words;

use picklock_scenarios::BackendName;
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use hdrhistogram::Histogram;
use picklock_verdicts::check::Property;
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::latency;
use picklock_verdicts::record::{Cell, Latency, MatrixRecord};
use serde::Serialize;

use crate::cell_status::title;
use crate::escape::visible;
use crate::format::FormatError;
use crate::matrix::lock_with_options;
use crate::statistics::estimate;

use parameter::Parameters;
use story_key::{Problems, StoryKey};

pub use crate::statistics::Estimate;
pub(crate) use changed_story::ChangedStory;
pub use outcome::Outcome;
pub use parameter::Parameter;
pub(crate) use words::{METHOD, describe_ratio, headline, percentile};
pub use words::{json, markdown, text};

/// Format and version of the JSON document.
pub const FORMAT: &str = "picklock-comparison/1";

/// The quantiles that are compared: the median and the tail.
const QUANTILES: [f64; 2] = [0.5, 0.99];

/// The differences between two sets of runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`FORMAT`].
    pub format: &'static str,
    /// Number of cells in both sets.
    pub cells: usize,
    /// Parameters whose values differ between the sets. They may explain any difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Changed verdicts, the worst first.
    pub verdicts: Vec<Change>,
    /// Latency ratios: those beyond noise first, the worst at the top.
    pub latency: Vec<Ratio>,
    /// Cells that are only in the earlier set.
    pub only_before: Vec<Place>,
    /// Cells that are only in the later set.
    pub only_after: Vec<Place>,
    /// Cells in both sets whose scenario has changed, apart from its parameters. The scenario may explain any
    /// difference.
    pub other_scenario: Vec<Place>,
    /// Cells in both sets that ran on other servers or other server versions. The server may explain any
    /// difference.
    pub other_server: Vec<OtherServer>,
}

/// A cell that ran on different servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherServer {
    /// The cell.
    #[serde(flatten)]
    pub place: Place,
    /// Server and version before.
    pub before: String,
    /// Server and version after.
    pub after: String,
}

/// Identifies a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// Name of the lock, with its options.
    #[serde(rename = "impl")]
    pub lock: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the backend.
    pub backend: BackendName,
}

/// The direction of a change, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Violated where it held, inconclusive where it was decided, or not run where it was run.
    Worse,
    /// An expected violation no longer occurs: the fault lost its effect, or the lock was fixed.
    UnexpectedPass,
    /// Violated with another cause.
    Other,
    /// Held where it was violated, decided where it was inconclusive, or run where it was not run.
    Better,
}

/// A changed verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The cell.
    #[serde(flatten)]
    pub place: Place,
    /// The property, or `None` if the whole cell was not run in one of the sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property: Option<Property>,
    /// The result before.
    pub before: Outcome,
    /// The result after.
    pub after: Outcome,
    /// The expected result of the property, or `None` if the scenario expects nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// The direction.
    pub direction: Direction,
    /// The position of the cell in the later set.
    #[serde(skip)]
    pub(crate) after_index: usize,
    /// Changes of one cell with the same key are one story.
    #[serde(skip)]
    pub(crate) story: StoryKey,
}

/// A latency after the change, divided by the latency before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// The cell.
    #[serde(flatten)]
    pub place: Place,
    /// `acquire`, `release`.
    pub operation: String,
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// The latency before the change.
    pub before: Estimate,
    /// The latency after the change.
    pub after: Estimate,
    /// After divided by before, or `None` if the value before was 0.
    pub ratio: Option<f64>,
    /// The smallest ratio that both intervals allow.
    pub ratio_low: f64,
    /// The largest ratio that both intervals allow, or `None` if there are too few values.
    pub ratio_high: Option<f64>,
    /// Whether the intervals overlap, so that there is no evidence of a change.
    pub within_noise: bool,
}

/// Compares the cells that are in both sets.
///
/// # Errors
/// Returns an error if a histogram cannot be decoded.
pub fn compare(before: &MatrixRecord, after: &MatrixRecord) -> Result<Comparison, FormatError> {
    let mut comparison = Comparison {
        format: FORMAT,
        ..Comparison::default()
    };
    // Iterate in reverse, so that the first cell of a place is popped first if a place occurs twice.
    let mut left: HashMap<Place, Vec<usize>> = HashMap::new();
    for (index, cell) in after.cells.iter().enumerate().rev() {
        left.entry(place(cell)).or_default().push(index);
    }
    let mut parameters = Parameters::default();
    for cell in &before.cells {
        let Some(index) = left.get_mut(&place(cell)).and_then(Vec::pop) else {
            comparison.only_before.push(place(cell));
            continue;
        };
        let other = &after.cells[index];
        comparison.cells += 1;
        // Another lease or number of workers changes the hash of the scenario as well.
        let has_other_parameters = parameters.add(cell, other);
        if !has_other_parameters
            && cell.scenario_hash != other.scenario_hash
            && !cell.scenario_hash.is_empty()
            && !other.scenario_hash.is_empty()
        {
            comparison.other_scenario.push(place(cell));
        }
        comparison.other_server.extend(other_server(cell, other));
        comparison.verdicts.extend(changes(cell, other, index));
        comparison.latency.extend(ratios(cell, other)?);
    }
    comparison.parameters = parameters.list();
    let mut left: Vec<usize> = left.into_values().flatten().collect();
    left.sort_unstable();
    let only_after = left.into_iter().map(|index| place(&after.cells[index]));
    comparison.only_after = only_after.collect();
    comparison.verdicts.sort_by_key(|change| change.direction);
    comparison.latency.sort_by(|one, other| {
        let worst = |ratio: &Ratio| ratio.ratio.unwrap_or(f64::INFINITY);
        let noise = one.within_noise.cmp(&other.within_noise);
        noise.then(worst(other).total_cmp(&worst(one)))
    });
    Ok(comparison)
}

/// Returns `None` if the servers are the same, or if one of the cells does not name them.
fn other_server(before: &Cell, after: &Cell) -> Option<OtherServer> {
    let (one, other) = (before.redis.as_ref()?, after.redis.as_ref()?);
    (one != other).then(|| OtherServer {
        place: place(before),
        before: one.to_string(),
        after: other.to_string(),
    })
}

fn place(cell: &Cell) -> Place {
    Place {
        lock: lock_with_options(cell),
        scenario: cell.scenario.clone(),
        backend: cell.backend,
    }
}

fn direction(before: &Outcome, after: &Outcome, expected: Option<&Expectation>) -> Direction {
    let is_alarm = matches!(expected, Some(Expectation::Violated { .. }));
    match before.rank().cmp(&after.rank()) {
        Ordering::Less => Direction::Worse,
        Ordering::Equal => Direction::Other,
        Ordering::Greater if before.is_violated() && is_alarm => Direction::UnexpectedPass,
        Ordering::Greater => Direction::Better,
    }
}

fn changes(before: &Cell, after: &Cell, after_index: usize) -> Vec<Change> {
    let problems = Problems::new(before, after);
    let change = |property: Option<Property>, one: Outcome, other: Outcome| {
        let expected = property.and_then(|property| {
            let of = |cell: &Cell| cell.expected.get(&property).cloned();
            of(after).or_else(|| of(before))
        });
        Change {
            place: place(before),
            property,
            direction: direction(&one, &other, expected.as_ref()),
            story: property.map_or(StoryKey::Cell, |it| problems.story(it, [&one, &other])),
            before: one,
            after: other,
            expected,
            after_index,
        }
    };
    match (&before.error, &after.error) {
        (None, None) => {}
        (Some(_), Some(_)) => return Vec::new(),
        _ => {
            return vec![change(
                None,
                Outcome::of_cell(before),
                Outcome::of_cell(after),
            )];
        }
    }
    let mut found = Vec::new();
    for property in Property::ALL {
        let one = Outcome::of_property(before, property);
        let other = Outcome::of_property(after, property);
        if !one.has_same_verdict(&other) {
            found.push(change(Some(property), one, other));
        }
    }
    found.sort_by_key(|change| Reverse(change.direction == Direction::Worse));
    found
}

fn ratios(before: &Cell, after: &Cell) -> Result<Vec<Ratio>, FormatError> {
    let mut ratios = Vec::new();
    // The latencies of an incomplete cell are ignored.
    if before.error.is_some() || after.error.is_some() {
        return Ok(ratios);
    }
    for (operation, one) in &before.latency {
        let other = after.latency.get(operation);
        let Some(other) = other.filter(|other| one.count > 0 && other.count > 0) else {
            continue;
        };
        let one = decode(before, operation, one)?;
        let other = decode(after, operation, other)?;
        if one.is_empty() || other.is_empty() {
            continue;
        }
        for quantile in QUANTILES {
            let estimates = (estimate(&one, quantile), estimate(&other, quantile));
            ratios.push(ratio(place(before), operation, quantile, estimates));
        }
    }
    Ok(ratios)
}

fn decode(cell: &Cell, operation: &str, latency: &Latency) -> Result<Histogram<u64>, FormatError> {
    latency::decode(&latency.histogram).map_err(|error| FormatError::Histogram {
        cell: visible(&title(cell)).into_owned(),
        operation: operation.to_owned(),
        reason: error.to_string(),
    })
}

fn ratio(
    place: Place,
    operation: &str,
    quantile: f64,
    (before, after): (Estimate, Estimate),
) -> Ratio {
    let through = |above: u64, below: u64| (below > 0).then(|| above as f64 / below as f64);
    let meets =
        |one: &Estimate, other: &Estimate| one.high_us.is_none_or(|high| other.low_us <= high);
    let low = before.high_us.and_then(|high| through(after.low_us, high));
    Ratio {
        place,
        operation: operation.to_owned(),
        quantile,
        ratio: through(after.value_us, before.value_us),
        ratio_low: low.unwrap_or(0.0),
        ratio_high: after.high_us.and_then(|high| through(high, before.low_us)),
        within_noise: meets(&before, &after) && meets(&after, &before),
        before,
        after,
    }
}
