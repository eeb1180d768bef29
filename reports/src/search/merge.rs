//! Shards of one search, joined.

use std::collections::BTreeSet;

use picklock_verdicts::record::{Find, Placed, SearchKind, SearchRecord, Shards};

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
        let differs = difference(&joined, &record);
        if let Some((what, expected, got)) = differs {
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
    joined.finds = told_once(joined.finds);
    joined.repro = joined.finds.first().and_then(|find| find.repro.clone());
    joined.shards = Some(shards).filter(|_| !is_whole);
    Ok(joined)
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
    match shards.have.intersection(have).next() {
        Some(shard) => Err(MergeError::Overlapping {
            shard: *shard,
            of,
            file,
        }),
        None => Ok(shards.have.clone()),
    }
}

/// In what two records differ that shards of one search must share.
fn difference(one: &SearchRecord, other: &SearchRecord) -> Option<(&'static str, String, String)> {
    let of = |record: &SearchRecord| {
        let asked = &record.asked;
        let shards = record.shards.as_ref().map(|shards| shards.of);
        [
            ("version of picklock", record.picklock.clone()),
            ("kind", format!("{:?}", record.kind)),
            ("backend", record.backend.to_string()),
            (
                "lock",
                format!("{} {}", record.lock.name, record.lock.version),
            ),
            ("options", format!("{:?}", record.options)),
            ("seed", record.seed.to_string()),
            ("depth", format!("{:?}", record.depth)),
            ("number of shards", format!("{shards:?}")),
            ("workload", asked.workload.clone().unwrap_or_default()),
            ("scenario", asked.scenario_hash.clone().unwrap_or_default()),
            ("faults", asked.faults.join(",")),
            ("request", format!("{asked:?}")),
        ]
    };
    let pairs = of(one).into_iter().zip(of(other));
    let mut differing = pairs.filter(|((_, one), (_, other))| one != other);
    differing
        .next()
        .map(|((what, one), (_, other))| (what, one, other))
}

fn add(joined: &mut SearchRecord, part: SearchRecord) {
    joined.schedules += part.schedules;
    joined.violations += part.violations;
    joined.complete &= part.complete;
    joined.interrupted |= part.interrupted;
    joined.elapsed_s = joined.elapsed_s.max(part.elapsed_s);
    joined.finds.extend(part.finds);
    let (covered, more) = (&mut joined.coverage, part.coverage);
    covered.folded += more.folded;
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
                one.finds += more.finds;
            }
            None => covered.placed.push(more),
        }
    }
    let place = |one: &Placed| (one.moment.clone(), one.fault.clone());
    covered.placed.sort_by_key(place);
    for (property, count) in more.unjudged {
        *covered.unjudged.entry(property).or_default() += count;
    }
}

/// Finds with the same property, cause and shape as one.
fn told_once(finds: Vec<Find>) -> Vec<Find> {
    let mut once: Vec<Find> = Vec::new();
    for find in finds {
        let is_same = |old: &&mut Find| {
            (old.property, old.cause) == (find.property, find.cause) && old.shape == find.shape
        };
        match once.iter_mut().find(is_same) {
            Some(old) => {
                old.schedules += find.schedules;
                if find.first < old.first {
                    let schedules = old.schedules;
                    *old = Find { schedules, ..find };
                }
            }
            None => once.push(find),
        }
    }
    once.sort_by_key(|find| {
        (
            find.scenario.faults.len(),
            find.property,
            find.cause,
            find.first,
        )
    });
    once
}
