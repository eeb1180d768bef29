//! Shards of one search, joined.

use std::collections::BTreeSet;

use picklock_scenarios::{Cause, Property};
use picklock_verdicts::record::{Find, Placed, SearchKind, SearchRecord, Shards, Unshrunk};

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
    joined.finds = told_once(&joined.finds);
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

/// The most shapes of one violation that a search shrinks.
pub const MOST_SHAPES: usize = 3;

/// Schedules of one shape, in all shards, and the find that the first of them was shrunk to.
struct Group {
    of: Unshrunk,
    find: usize,
}

impl Group {
    /// What has fewer faults comes first, then what the search placed first.
    fn order(&self) -> (usize, &[u64]) {
        (self.of.shape.len(), &self.of.place)
    }
}

/// What one process tells of what several have found. Each shard has shrunk the first schedule of each shape that it
/// saw, and left out what it saw another shape explain; of all of them only some are the first, or are not explained.
fn told_once(finds: &[Find]) -> Vec<Find> {
    let mut groups = by_shape(finds);
    one_steady(&mut groups, finds);
    let mut groups = simplest(groups, finds);
    most_shapes(&mut groups, finds);
    // What has become the same is one find.
    let mut shrunk: Vec<Group> = Vec::new();
    for mut group in groups {
        group.of.shape.clone_from(&finds[group.find].shape);
        // What is steady goes before what came first.
        add_group(&mut shrunk, group, finds, |group| {
            (!group.steady, group.place.len(), group.place.clone())
        });
    }
    let mut once: Vec<Find> = Vec::new();
    for group in simplest(shrunk, finds) {
        once.push(Find {
            schedules: group.of.schedules,
            first: group.of.place.first().map_or(1, |number| number + 1),
            steady: group.of.steady,
            unshrunk: Vec::new(),
            ..finds[group.find].clone()
        });
    }
    once
}

fn violation(find: &Find) -> (Property, Cause) {
    (find.property, find.cause)
}

fn by_shape(finds: &[Find]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, find) in finds.iter().enumerate() {
        let itself = || Unshrunk {
            shape: find.shape.clone(),
            place: vec![find.first.saturating_sub(1)],
            steady: find.steady,
            schedules: find.schedules,
        };
        let unshrunk = find.unshrunk.clone();
        // One of an earlier version, or of servers, says nothing of it.
        let unshrunk = if unshrunk.is_empty() {
            vec![itself()]
        } else {
            unshrunk
        };
        for of in unshrunk {
            let new = Group { of, find: number };
            add_group(&mut groups, new, finds, |group| {
                (false, group.place.len(), group.place.clone())
            });
        }
    }
    groups
}

/// A search asks no further which schedules are steady once one of the violation is.
fn one_steady(groups: &mut [Group], finds: &[Find]) {
    in_order(groups, finds);
    let mut seen: BTreeSet<(Property, Cause)> = BTreeSet::new();
    for group in groups.iter_mut().filter(|group| group.of.steady) {
        group.of.steady = seen.insert(violation(&finds[group.find]));
    }
}

/// The order of the search.
fn in_order(groups: &mut [Group], finds: &[Find]) {
    let key = |one: &Group| violation(&finds[one.find]);
    groups.sort_by(|a, b| (a.order(), key(a)).cmp(&(b.order(), key(b))));
}

/// Of one shape, the one stays whose key is lower.
fn add_group(
    groups: &mut Vec<Group>,
    new: Group,
    finds: &[Find],
    key: impl Fn(&Unshrunk) -> (bool, usize, Vec<u64>),
) {
    let is_same = |old: &&mut Group| {
        violation(&finds[old.find]) == violation(&finds[new.find]) && old.of.shape == new.of.shape
    };
    match groups.iter_mut().find(is_same) {
        Some(old) => {
            let schedules = old.of.schedules + new.of.schedules;
            if key(&new.of) < key(&old.of) {
                *old = new;
            }
            old.of.schedules = schedules;
        }
        None => groups.push(new),
    }
}

/// In the order of the search, without those that another one explains: the same violation, with some of the same
/// faults, and as steady.
fn simplest(mut groups: Vec<Group>, finds: &[Find]) -> Vec<Group> {
    in_order(&mut groups, finds);
    let key = |one: &Group| violation(&finds[one.find]);
    let mut simplest: Vec<Group> = Vec::new();
    for group in groups {
        let explains = |old: &&mut Group| {
            key(old) == key(&group)
                && is_part(&old.of.shape, &group.of.shape)
                && (old.of.steady || !group.of.steady)
        };
        match simplest.iter_mut().find(explains) {
            Some(old) => old.of.schedules += group.of.schedules,
            None => simplest.push(group),
        }
    }
    simplest
}

/// Leaves the first shapes of each violation, and its first steady one. The first one counts what the rest have.
fn most_shapes(groups: &mut Vec<Group>, finds: &[Find]) {
    let mut kept: Vec<Group> = Vec::new();
    for group in std::mem::take(groups) {
        let is_like =
            |one: &&mut Group| violation(&finds[one.find]) == violation(&finds[group.find]);
        let mut like = kept.iter_mut().filter(is_like);
        let first = like.next();
        let rest = like.count();
        match first {
            Some(first) if rest + 1 >= MOST_SHAPES && !group.of.steady => {
                first.of.schedules += group.of.schedules;
            }
            _ => kept.push(group),
        }
    }
    *groups = kept;
}

/// True if every word of the first is in the second, as often. Both are sorted.
fn is_part(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|word| all.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::catalog;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Of one schedule each, shrunk to this shape from those shapes at these places.
    fn find(shape: &str, unshrunk: &[(&str, u64)]) -> Find {
        let unshrunk = unshrunk.iter().map(|(shape, place)| Unshrunk {
            shape: words(shape),
            place: vec![*place],
            steady: false,
            schedules: 1,
        });
        Find {
            property: Property::Lease,
            cause: Cause::StolenRelease,
            shape: words(shape),
            faults: Vec::new(),
            schedules: 1,
            first: 1,
            steady: false,
            after_s: None,
            story: Vec::new(),
            seed: 1,
            scenario: catalog::named("calm").unwrap(),
            repro: None,
            reproduce: String::new(),
            unshrunk: unshrunk.collect(),
        }
    }

    fn told(finds: &[Find]) -> Vec<(String, u64, u64)> {
        let once = told_once(finds).into_iter();
        once.map(|it| (it.shape.join(" "), it.schedules, it.first))
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
        let shapes = ["a", "b", "c", "d"].iter().zip(0..);
        let finds: Vec<Find> = shapes
            .map(|(shape, at)| find(shape, &[(shape, at)]))
            .collect();
        let told = told(&finds);
        assert_eq!(told.len(), MOST_SHAPES);
        assert_eq!(told[0], ("a".to_owned(), 2, 1));
    }

    #[test]
    fn shards_that_say_nothing_of_it_are_joined_by_what_they_tell() {
        let finds = [find("a", &[]), find("a", &[]), find("b", &[])];
        assert_eq!(told(&finds).len(), 2);
    }
}
