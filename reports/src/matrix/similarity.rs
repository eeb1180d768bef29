//! Finds the built-in lock that behaves most like a user's lock, and the scenarios in which the user's lock is worse
//! than its reference lock.
//!
//! This is a pure function of the verdicts and of the scenarios' expectations of the built-in locks. Only
//! held and violated verdicts are compared: `unknown` and `not-applicable` prove nothing, and an
//! expectation of `any` allows no conclusion.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Status, Verdict};
use picklock_verdicts::expectation::{Expectation, Expected, fits};
use picklock_verdicts::record::{Cell, Similarity};

/// A built-in lock with the scenarios' expectations of it, by scenario name.
#[derive(Debug, Clone)]
pub struct ReferenceLock {
    /// Name of the lock.
    pub name: String,
    /// Expectations of each scenario.
    pub expected: BTreeMap<String, Expected>,
}

/// The distance between the results of a lock and the expectations of a built-in lock. The smallest is the
/// closest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Number of properties that held for one lock and are violated by the other.
    differs: usize,
    /// Number of violations with another cause.
    other_cause: usize,
    /// Whether the built-in lock is not the reference lock. Among equal distances, the reference lock is preferred.
    is_other: bool,
}

/// Compares the cells of one lock in one backend with built-in locks, in their order. `reference_name` names
/// the reference lock. If it is `None`, because no built-in lock uses as many servers, the result states
/// that.
///
/// Returns `None` if no verdict could be compared.
pub fn similarity(
    cells: &[&Cell],
    references: &[ReferenceLock],
    reference_name: Option<&str>,
) -> Option<Similarity> {
    let first = cells.first()?;
    let nothing = Similarity {
        lock: first.lock.name.clone(),
        backend: first.backend,
        like: None,
        differs: 0,
        compared: 0,
        standard: None,
        worse: Vec::new(),
    };
    let Some(reference_name) = reference_name else {
        return Some(nothing);
    };
    let measured = references.iter().map(|reference| {
        let (mut distance, mut compared) = (Distance::default(), 0);
        for (expectation, verdict) in results(cells, reference) {
            compared += 1;
            let is_violated = verdict.status == Status::Violated;
            match expectation {
                _ if fits(expectation, verdict) => {}
                Expectation::Violated { .. } if is_violated => distance.other_cause += 1,
                _ => distance.differs += 1,
            }
        }
        distance.is_other = reference.name != reference_name;
        (distance, compared, reference)
    });
    let measured = measured.filter(|(_, compared, _)| *compared > 0);
    // If several are equally close, the first one wins.
    let (distance, compared, closest) = measured.min_by_key(|(distance, ..)| *distance)?;
    let reference = references.iter().find(|it| it.name == reference_name)?;
    let worse = cells.iter().filter(|cell| is_worse(cell, reference));
    Some(Similarity {
        like: Some(closest.name.clone()),
        differs: distance.differs,
        compared,
        standard: Some(reference_name.to_owned()),
        worse: worse.map(|cell| cell.scenario.clone()).collect(),
        ..nothing
    })
}

/// Formats a similarity, such as `mine: like get-then-del; set-nx-px would also hold in stale-delete`.
pub fn describe_similarity(similarity: &Similarity) -> String {
    let Similarity {
        lock,
        like,
        differs,
        compared,
        standard,
        worse,
        ..
    } = similarity;
    let (Some(like), Some(standard)) = (like, standard) else {
        return format!("{lock}: no built-in lock uses this number of servers");
    };
    let differ = match differs {
        0 => format!("like {like}"),
        _ => format!("closest to {like}, from which {differs} of {compared} results differ"),
    };
    if worse.is_empty() {
        return format!("{lock}: {differ}");
    }
    let also = if like == standard { "" } else { "also " };
    let worse = worse.join(", ");
    format!("{lock}: {differ}; {standard} would {also}hold in {worse}")
}

/// Returns the held and violated verdicts, with the expectation of the built-in lock.
fn results<'a>(
    cells: &'a [&Cell],
    reference: &'a ReferenceLock,
) -> impl Iterator<Item = (&'a Expectation, &'a Verdict)> {
    cells.iter().flat_map(|cell| {
        let expected = reference.expected.get(&cell.scenario);
        cell.verdicts.iter().filter_map(move |(property, verdict)| {
            let expectation = expected?.get(*property)?;
            let is_judged = matches!(verdict.status, Status::Held | Status::Violated);
            let is_any = matches!(expectation, Expectation::Any { .. });
            (is_judged && !is_any && cell.error.is_none()).then_some((expectation, verdict))
        })
    })
}

/// Returns `true` if any run violated a property that the reference lock is expected to keep.
fn is_worse(cell: &Cell, reference: &ReferenceLock) -> bool {
    let expected = reference.expected.get(&cell.scenario);
    cell.tally.iter().any(|(property, tally)| {
        let expectation = expected.and_then(|expected| expected.get(*property));
        tally.violated > 0 && expectation == Some(&Expectation::Held)
    })
}
