//! Shards of one search, joined.

use std::collections::BTreeSet;

use picklock_verdicts::counterexamples::{
    CounterexampleGroup, Counterexamples, MAX_SIGNATURES, Violation, worth_shrinking,
};
use picklock_verdicts::record::{
    Counterexample, Placed, SearchKind, SearchRecord, Shards, Unshrunk,
};

/// Why records are no shards of one search.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the messages say what each is, and the names what is in it"
)]
pub enum MergeError {
    #[error("no search was given")]
    Nothing,
    #[error("{file} is of another search than {first}: its {what} is {got}, not {expected}")]
    Foreign {
        first: String,
        file: String,
        what: &'static str,
        got: String,
        expected: String,
    },
    #[error("{file} is no shard: it is a whole search")]
    Whole { file: String },
    #[error("shard {shard} of {of} is in {file} and in an earlier file")]
    Overlapping { shard: u64, of: u64, file: String },
    #[error("{file} has shard {shard} of {of}, which cannot be")]
    OutOfRange { shard: u64, of: u64, file: String },
}

/// Joins records, each with the name of its file. Shards may be missing, which the result says; `elapsed_s` is that of
/// the longest.
///
/// # Errors
/// They are not of one search, or overlap.
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
    joined.counterexamples = told_once(&joined.counterexamples);
    joined.repro = joined
        .counterexamples
        .first()
        .and_then(|find| find.repro.clone());
    if is_whole {
        joined.reproduce = without_shard(&joined.reproduce);
    }
    joined.shards = Some(shards).filter(|_| !is_whole);
    Ok(joined)
}

/// The command of one shard as that of all of them.
fn without_shard(command: &str) -> String {
    // The last one: the lock, which comes first, can be a program with such an option.
    let Some((before, after)) = command.rsplit_once(" --shard") else {
        return command.to_owned();
    };
    let value = after.trim_start_matches([' ', '=']);
    let rest = value.find(' ').map_or("", |end| &value[end..]);
    format!("{before}{rest}")
}

/// The shards of a record, none of which is there already.
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

/// In what two records differ that shards of one search must share.
fn difference(one: &SearchRecord, other: &SearchRecord) -> Option<(&'static str, String, String)> {
    let of = |record: &SearchRecord| {
        let (asked, lock) = (&record.asked, &record.lock);
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
            ("workload", asked.workload.clone().unwrap_or_default()),
            ("scenario", asked.scenario_hash.clone().unwrap_or_default()),
            ("faults", asked.faults.join(",")),
            ("request", format!("{asked:?}")),
            ("what all runs share", record.coverage.fixed.join("; ")),
        ]
    };
    let mut pairs = of(one).into_iter().zip(of(other));
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
    // Shards know nothing of each other's patterns.
    covered.patterns = covered.patterns.max(more.patterns);
    for more in more.placed {
        let is_same = |one: &&mut Placed| (&one.moment, &one.fault) == (&more.moment, &more.fault);
        match covered.placed.iter_mut().find(is_same) {
            Some(one) => {
                one.schedules += more.schedules;
                one.counterexamples += more.counterexamples;
            }
            None => covered.placed.push(more),
        }
    }
    let place = |one: &Placed| (one.moment.clone(), one.fault.clone());
    covered.placed.sort_by_key(place);
    for (property, count) in more.inconclusive {
        *covered.inconclusive.entry(property).or_default() += count;
    }
}

/// What one process tells of what several have found. Each shard has shrunk the first schedule of each shape that it
/// saw, and left out what it saw another shape explain; of all of them only some are the first, or are not explained.
fn told_once(counterexamples: &[Counterexample]) -> Vec<Counterexample> {
    let mut seen = Counterexamples::default();
    for find in counterexamples {
        for of in unshrunk(find) {
            seen.add(CounterexampleGroup {
                violation: Violation {
                    property: find.property,
                    cause: find.cause,
                },
                place: (of.signature.len(), of.place),
                signature: of.signature,
                // Its shard knows whether it is steady. A search asks that of few, and in order.
                plan: (find, of.robust),
                count: of.schedules,
                robust: false,
                unshrunk: Vec::new(),
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
    let told = shrunk.simplest().into_iter().map(|group| Counterexample {
        schedules: group.count,
        first: group.number(),
        robust: group.robust,
        unshrunk: Vec::new(),
        ..group.plan.0.clone()
    });
    told.collect()
}

/// What a find was shrunk from. One of an earlier version, or of servers, says nothing of it.
fn unshrunk(find: &Counterexample) -> Vec<Unshrunk> {
    if !find.unshrunk.is_empty() {
        return find.unshrunk.clone();
    }
    vec![Unshrunk {
        signature: find.signature.clone(),
        place: vec![find.first.saturating_sub(1)],
        robust: find.robust,
        schedules: find.schedules,
    }]
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::{Cause, Property, catalog};

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Of one schedule each, shrunk to this shape from those shapes at these places.
    fn find(signature: &str, unshrunk: &[(&str, u64)]) -> Counterexample {
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
            schedules: 1,
            first: 1,
            robust: false,
            after_s: None,
            story: Vec::new(),
            seed: 1,
            scenario: catalog::named("calm").unwrap(),
            repro: None,
            reproduce: String::new(),
            unshrunk: unshrunk.collect(),
        }
    }

    fn told(counterexamples: &[Counterexample]) -> Vec<(String, u64, u64)> {
        let once = told_once(counterexamples).into_iter();
        once.map(|it| (it.signature.join(" "), it.schedules, it.first))
            .collect()
    }

    #[test]
    fn of_one_shape_the_first_schedule_of_all_shards_is_shrunk() {
        let (later, first) = (find("x", &[("a b", 7)]), find("y", &[("a b", 3)]));
        assert_eq!(told(&[later, first]), [("y".to_owned(), 2, 4)]);
    }

    #[test]
    fn what_the_find_of_another_shard_explains_is_none() {
        let (two, one) = (find("x", &[("a b", 0)]), find("a", &[("a", 5)]));
        assert_eq!(told(&[two, one]), [("a".to_owned(), 2, 6)]);
    }

    #[test]
    fn shapes_beyond_the_first_ones_are_counted_and_not_told() {
        let signatures = ["a", "b", "c", "d"].iter().zip(0..);
        let counterexamples: Vec<Counterexample> = signatures
            .map(|(signature, at)| find(signature, &[(signature, at)]))
            .collect();
        let told = told(&counterexamples);
        assert_eq!(told.len(), MAX_SIGNATURES);
        assert_eq!(told[0], ("a".to_owned(), 2, 1));
    }

    #[test]
    fn first_schedule_that_its_shard_saw_to_be_steady_is_told_so_and_no_later_one() {
        let mut counterexamples =
            ["a", "b", "c"].map(|signature| find(signature, &[(signature, 0)]));
        counterexamples[1].unshrunk[0].robust = true;
        counterexamples[2].unshrunk[0].robust = true;
        let robust: Vec<bool> = told_once(&counterexamples)
            .iter()
            .map(|it| it.robust)
            .collect();
        assert_eq!(robust, [false, true, false]);
    }

    #[test]
    fn command_of_the_whole_names_no_shard() {
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
    fn shards_that_say_nothing_of_it_are_joined_by_what_they_tell() {
        let counterexamples = [find("a", &[]), find("a", &[]), find("b", &[])];
        assert_eq!(told(&counterexamples).len(), 2);
    }
}
