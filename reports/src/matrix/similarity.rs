//! Which built-in lock a user's lock behaves like, and where it is worse than the one that it is held to.
//!
//! A function of verdicts and of what the scenarios expect of the built-in locks. Only what was judged is
//! compared: `unknown` is no evidence, nor is what does not apply, and nothing is said where an expectation is `any`.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Status, Verdict};
use picklock_verdicts::expectation::{Expectation, Expected, fits};
use picklock_verdicts::record::{Cell, Similarity};

/// A built-in lock: what the scenarios expect of it, by their names.
#[derive(Debug, Clone)]
pub struct ReferenceLock {
    /// Its name.
    pub name: String,
    /// What each scenario expects.
    pub expected: BTreeMap<String, Expected>,
}

/// How far the results of a lock are from what is expected of a standard. The smallest is the closest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Properties that held here and are violated there, or the other way round.
    differs: usize,
    /// Violations with another cause.
    other_cause: usize,
    /// True for any lock but the one that it is held to, which wins among equals.
    is_other: bool,
}

/// Compares the cells of one lock in one backend with the standards, in their order. `held_to`: the
/// standard that the lock is held to; `None` if no built-in lock uses as many servers, which is said then.
/// The result is `None` if nothing was judged that could be compared.
pub fn similarity(
    cells: &[&Cell],
    references: &[ReferenceLock],
    held_to: Option<&str>,
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
    let Some(held_to) = held_to else {
        return Some(nothing);
    };
    let measured = references.iter().map(|standard| {
        let (mut distance, mut compared) = (Distance::default(), 0);
        for (expectation, verdict) in results(cells, standard) {
            compared += 1;
            let is_violated = verdict.status == Status::Violated;
            match expectation {
                _ if fits(expectation, verdict) => {}
                Expectation::Violated { .. } if is_violated => distance.other_cause += 1,
                _ => distance.differs += 1,
            }
        }
        distance.is_other = standard.name != held_to;
        (distance, compared, standard)
    });
    let measured = measured.filter(|(_, compared, _)| *compared > 0);
    // The first of several that are equally close.
    let (distance, compared, closest) = measured.min_by_key(|(distance, ..)| *distance)?;
    let standard = references
        .iter()
        .find(|standard| standard.name == held_to)?;
    let worse = cells.iter().filter(|cell| is_worse(cell, standard));
    Some(Similarity {
        like: Some(closest.name.clone()),
        differs: distance.differs,
        compared,
        standard: Some(held_to.to_owned()),
        worse: worse.map(|cell| cell.scenario.clone()).collect(),
        ..nothing
    })
}

/// `mine: like get-then-del; set-nx-px would also hold in stale-delete`.
pub fn similarity_in_words(similarity: &Similarity) -> String {
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
        return format!("{lock}: no built-in lock uses as many servers");
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

/// What was judged, with what is expected of the standard.
fn results<'a>(
    cells: &'a [&Cell],
    standard: &'a ReferenceLock,
) -> impl Iterator<Item = (&'a Expectation, &'a Verdict)> {
    cells.iter().flat_map(|cell| {
        let expected = standard.expected.get(&cell.scenario);
        cell.verdicts.iter().filter_map(move |(property, verdict)| {
            let expectation = expected?.get(*property)?;
            let is_judged = matches!(verdict.status, Status::Held | Status::Violated);
            let is_open = matches!(expectation, Expectation::Any { .. });
            (is_judged && !is_open && cell.error.is_none()).then_some((expectation, verdict))
        })
    })
}

/// True if a property was violated, in any run, that the standard keeps.
fn is_worse(cell: &Cell, standard: &ReferenceLock) -> bool {
    let expected = standard.expected.get(&cell.scenario);
    cell.tally.iter().any(|(property, tally)| {
        let expectation = expected.and_then(|expected| expected.get(*property));
        tally.violated > 0 && expectation == Some(&Expectation::Held)
    })
}
