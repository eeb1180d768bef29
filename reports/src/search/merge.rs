//! Joins the shards of one search.

use std::collections::BTreeSet;

use picklock_verdicts::counterexamples::{
    CounterexampleGroup, Counterexamples, MAX_SIGNATURES, Violation, worth_shrinking,
};
use picklock_verdicts::record::{
    Counterexample, Placed, SearchKind, SearchRecord, Shards, Unshrunk,
};

/// The reason why records are not shards of one search.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the names their fields"
)]
pub enum MergeError {
    #[error("no search was given")]
    Nothing,
    #[error("{file} is not from the same search as {first}: its {what} is {got}, not {expected}")]
    Foreign {
        first: String,
        file: String,
        what: &'static str,
        got: String,
        expected: String,
    },
    #[error("{file} is not a shard: it is a whole search")]
    Whole { file: String },
    #[error("shard {shard} of {of} is in {file} and in an earlier file")]
    Overlapping { shard: u64, of: u64, file: String },
    #[error("{file} has an impossible shard number: {shard} of {of}")]
    OutOfRange { shard: u64, of: u64, file: String },
}

/// Joins records, each with the name of its file. Shards may be missing, and the result lists them. Its
/// `elapsed_s` is the longest of the records.
///
/// # Errors
/// Returns an error if the records are not shards of one search, or if they overlap.
pub fn merge(records: Vec<(String, SearchRecord)>) -> Result<SearchRecord, MergeError> {
    let mut records = records.into_iter();
    let (first, mut joined) = records.next().ok_or(MergeError::Nothing)?;
    let mut have = shards(&first, &joined, &BTreeSet::new())?;
    for (file, record) in records {
        if let Some((what, expected, got)) = difference(&joined, &record) {
            return Err(MergeError::Foreign {
                first,
                file,
                what,
                got,
                expected,
            });
        }
        have.extend(shards(&file, &record, &have)?);
        add(&mut joined, record);
    }
    let of = joined.shards.as_ref().map_or(1, |shards| shards.of);
    let shards = Shards { of, have };
    let is_whole = shards.missing().is_empty();
    joined.exhaustive = is_whole
        && joined.complete
        && joined.kind == SearchKind::Sweep
        && joined.coverage.stuck == 0;
    joined.counterexamples = merge_counterexamples(&joined.counterexamples);
    let first = joined.counterexamples.first();
    joined.repro = first.and_then(|counterexample| counterexample.repro.clone());
    if is_whole {
        joined.reproduce = without_shard(&joined.reproduce);
    }
    joined.shards = Some(shards).filter(|_| !is_whole);
    Ok(joined)
}

/// Joins an interrupted hunt with its continuation. Counterexamples with the same violation and signature are one.
#[must_use]
pub fn continued(mut earlier: SearchRecord, mut later: SearchRecord) -> SearchRecord {
    let seconds = earlier.elapsed_s + later.elapsed_s;
    let found = std::mem::take(&mut later.counterexamples);
    let (complete, interrupted, next) = (later.complete, later.interrupted, later.next);
    add(&mut earlier, later);
    for new in found {
        let is_same = |one: &&mut Counterexample| {
            (one.property, one.cause, &one.signature) == (new.property, new.cause, &new.signature)
        };
        match earlier.counterexamples.iter_mut().find(is_same) {
            Some(known) => known.schedules += new.schedules,
            None => earlier.counterexamples.push(new),
        }
    }
    let first = earlier.counterexamples.first();
    SearchRecord {
        repro: first.and_then(|one| one.repro.clone()),
        elapsed_s: seconds,
        complete,
        interrupted,
        next,
        ..earlier
    }
}

/// Turns the command of one shard into the command of the whole search.
fn without_shard(command: &str) -> String {
    // Remove the last occurrence: the lock comes first, and can be a program with an option of that name.
    let Some((before, after)) = command.rsplit_once(" --shard") else {
        return command.to_owned();
    };
    let value = after.trim_start_matches([' ', '=']);
    let rest = value.find(' ').map_or("", |end| &value[end..]);
    format!("{before}{rest}")
}

/// Returns the shards of a record, none of which may be in `have` already.
fn shards(
    file: &str,
    record: &SearchRecord,
    have: &BTreeSet<u64>,
) -> Result<BTreeSet<u64>, MergeError> {
    let file = file.to_owned();
    let Some(shards) = &record.shards else {
        return Err(MergeError::Whole { file });
    };
    let of = shards.of;
    if let Some(shard) = shards.have.iter().copied().find(|it| *it == 0 || *it > of) {
        return Err(MergeError::OutOfRange { shard, of, file });
    }
    match shards.have.intersection(have).next().copied() {
        Some(shard) => Err(MergeError::Overlapping { shard, of, file }),
        None => Ok(shards.have.clone()),
    }
}

/// Returns the first difference between two records that rules out that they are shards of one search.
fn difference(one: &SearchRecord, other: &SearchRecord) -> Option<(&'static str, String, String)> {
    let settings = |record: &SearchRecord| {
        let (request, lock) = (&record.settings, &record.lock);
        let shards = record.shards.as_ref().map(|shards| shards.of);
        [
            ("version of picklock", record.picklock.clone()),
            ("kind", format!("{:?}", record.kind)),
            ("backend", record.backend.to_string()),
            ("lock", format!("{} {}", lock.name, lock.version)),
            ("options", format!("{:?}", record.options)),
            ("seed", record.seed.to_string()),
            ("depth", format!("{:?}", record.depth)),
            ("number of shards", format!("{shards:?}")),
            ("workload", request.workload.clone().unwrap_or_default()),
            (
                "scenario",
                request.scenario_hash.clone().unwrap_or_default(),
            ),
            ("faults", request.faults.join(",")),
            ("request", format!("{request:?}")),
            (
                "setting that all runs share",
                record.coverage.fixed.join("; "),
            ),
        ]
    };
    let mut pairs = settings(one).into_iter().zip(settings(other));
    let differ = pairs.find(|((_, one), (_, other))| one != other);
    differ.map(|((what, one), (_, other))| (what, one, other))
}

fn add(joined: &mut SearchRecord, part: SearchRecord) {
    joined.schedules += part.schedules;
    joined.violations += part.violations;
    joined.complete &= part.complete;
    joined.interrupted |= part.interrupted;
    joined.elapsed_s = joined.elapsed_s.max(part.elapsed_s);
    joined.counterexamples.extend(part.counterexamples);
    let (covered, more) = (&mut joined.coverage, part.coverage);
    covered.pruned += more.pruned;
    covered.missed += more.missed;
    covered.stuck += more.stuck;
    covered.unrepeated += more.unrepeated;
    // The patterns of different shards may be the same, so this is a lower bound.
    covered.patterns = covered.patterns.max(more.patterns);
    for more in more.placed {
        let is_same = |one: &&mut Placed| {
            (&one.injection_point, &one.fault) == (&more.injection_point, &more.fault)
        };
        match covered.placed.iter_mut().find(is_same) {
            Some(one) => {
                one.schedules += more.schedules;
                one.counterexamples += more.counterexamples;
            }
            None => covered.placed.push(more),
        }
    }
    let place = |one: &Placed| (one.injection_point.clone(), one.fault.clone());
    covered.placed.sort_by_key(place);
    for (violation, count) in more.unavoidable {
        *covered.unavoidable.entry(violation).or_default() += count;
    }
    for (property, count) in more.inconclusive {
        *covered.inconclusive.entry(property).or_default() += count;
    }
}

/// Merges the counterexamples of several shards into those that a single process would report. Each shard has shrunk
/// the first schedule that it saw of each signature, and has dropped signatures that another one explains. Only some
/// of these are still the first of their signature and unexplained in the whole search.
fn merge_counterexamples(counterexamples: &[Counterexample]) -> Vec<Counterexample> {
    let mut seen = Counterexamples::default();
    for counterexample in counterexamples {
        for origin in unshrunk(counterexample) {
            seen.add(CounterexampleGroup {
                violation: Violation {
                    property: counterexample.property,
                    cause: counterexample.cause,
                },
                place: (origin.signature.len(), origin.place),
                signature: origin.signature,
                // The shard has already tested whether it is robust. A search tests only a few, in order.
                plan: (counterexample, origin.robust),
                count: origin.schedules,
                robust: false,
                unshrunk: Vec::new(),
                not_needed: Vec::new(),
            });
        }
    }
    seen.mark_robust(|group| group.plan.1);
    let mut shrunk = Counterexamples::default();
    for group in worth_shrinking(seen.simplest(), MAX_SIGNATURES) {
        shrunk.add(CounterexampleGroup {
            signature: group.plan.0.signature.clone(),
            ..group
        });
    }
    let merged = shrunk.simplest().into_iter().map(|group| Counterexample {
        schedules: group.count,
        first: group.number(),
        robust: group.robust,
        unshrunk: Vec::new(),
        ..group.plan.0.clone()
    });
    merged.collect()
}

/// Returns the schedules from which a counterexample was shrunk. Records of real servers do not list them.
fn unshrunk(counterexample: &Counterexample) -> Vec<Unshrunk> {
    if !counterexample.unshrunk.is_empty() {
        return counterexample.unshrunk.clone();
    }
    vec![Unshrunk {
        signature: counterexample.signature.clone(),
        place: vec![counterexample.first.saturating_sub(1)],
        robust: counterexample.robust,
        schedules: counterexample.schedules,
    }]
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::{Cause, Property, catalog};

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Returns a counterexample that was shrunk to this signature from the given signatures at these places,
    /// each with one schedule.
    fn counterexample(signature: &str, unshrunk: &[(&str, u64)]) -> Counterexample {
        let unshrunk = unshrunk.iter().map(|(signature, place)| Unshrunk {
            signature: words(signature),
            place: vec![*place],
            robust: false,
            schedules: 1,
        });
        Counterexample {
            property: Property::Lease,
            cause: Cause::StolenRelease,
            signature: words(signature),
            faults: Vec::new(),
            not_needed: Vec::new(),
            schedules: 1,
            first: 1,
            robust: false,
            recurred: None,
            after_s: None,
            story: Vec::new(),
            seed: 1,
            scenario: catalog::named("calm").unwrap(),
            repro: None,
            reproduce: String::new(),
            unshrunk: unshrunk.collect(),
        }
    }

    fn summary(counterexamples: &[Counterexample]) -> Vec<(String, u64, u64)> {
        let merged = merge_counterexamples(counterexamples).into_iter();
        merged
            .map(|it| (it.signature.join(" "), it.schedules, it.first))
            .collect()
    }

    #[test]
    fn first_schedule_of_a_signature_in_all_shards_wins() {
        let (later, first) = (
            counterexample("x", &[("a b", 7)]),
            counterexample("y", &[("a b", 3)]),
        );
        assert_eq!(summary(&[later, first]), [("y".to_owned(), 2, 4)]);
    }

    #[test]
    fn counterexample_explained_by_another_shard_is_dropped() {
        let (two, one) = (
            counterexample("x", &[("a b", 0)]),
            counterexample("a", &[("a", 5)]),
        );
        assert_eq!(summary(&[two, one]), [("a".to_owned(), 2, 6)]);
    }

    #[test]
    fn signatures_beyond_the_limit_are_only_counted() {
        let signatures = ["a", "b", "c", "d"].iter().zip(0..);
        let counterexamples: Vec<Counterexample> = signatures
            .map(|(signature, at)| counterexample(signature, &[(signature, at)]))
            .collect();
        let summary = summary(&counterexamples);
        assert_eq!(summary.len(), MAX_SIGNATURES);
        assert_eq!(summary[0], ("a".to_owned(), 2, 1));
    }

    #[test]
    fn only_the_first_robust_signature_is_marked_robust() {
        let mut counterexamples =
            ["a", "b", "c"].map(|signature| counterexample(signature, &[(signature, 0)]));
        counterexamples[1].unshrunk[0].robust = true;
        counterexamples[2].unshrunk[0].robust = true;
        let robust: Vec<bool> = merge_counterexamples(&counterexamples)
            .iter()
            .map(|it| it.robust)
            .collect();
        assert_eq!(robust, [false, true, false]);
    }

    #[test]
    fn command_of_the_whole_search_has_no_shard() {
        for (command, whole) in [
            ("sweep --shard 1/4 --seed 1", "sweep --seed 1"),
            ("hunt --shard=auto/8", "hunt"),
            ("hunt --runs 9", "hunt --runs 9"),
            (
                "hunt --impl 'exec:a --shard 9' --shard 1/4 --seed 1",
                "hunt --impl 'exec:a --shard 9' --seed 1",
            ),
        ] {
            assert_eq!(without_shard(command), whole);
        }
    }

    #[test]
    fn shards_without_unshrunk_schedules_are_merged() {
        let counterexamples = [
            counterexample("a", &[]),
            counterexample("a", &[]),
            counterexample("b", &[]),
        ];
        assert_eq!(summary(&counterexamples).len(), 2);
    }
}
