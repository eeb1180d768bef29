//! How much a search has tried, in sentences that say no more than it did.

use picklock_verdicts::record::{SearchKind, SearchRecord};

use crate::units::{count, grouped};

/// What was tried, what was the same in all runs, and what follows from that. One sentence or a few each.
pub fn statement(record: &SearchRecord) -> Vec<String> {
    let mut told = match record.kind {
        SearchKind::Sweep => swept(record),
        SearchKind::Hunt => hunted(record),
    };
    told.extend(left_open(record));
    told.push(format!(
        "The same in all of them: {}.",
        record.coverage.fixed.join("; ")
    ));
    told.push(follows(record));
    told
}

fn swept(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    let depth = record.depth.unwrap_or_default();
    let mut told = vec![format!(
        "The run without faults has {}. {} can strike at them in {}.",
        count(covered.moments, "moment"),
        capital(&count(covered.faults.len() as u64, "fault")),
        count(covered.placements, "place")
    )];
    let faults = match depth {
        0 => "without a fault".to_owned(),
        1 => "with one fault".to_owned(),
        depth => format!("with up to {depth} faults"),
    };
    told.push(format!(
        "{} {faults} were run and judged.",
        capital(&count(record.schedules, "schedule"))
    ));
    if covered.folded > 0 {
        told.push(format!(
            "{} more would have the same faults in another order: each is the same run as one of them.",
            grouped(covered.folded)
        ));
    }
    told
}

fn hunted(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    vec![format!(
        "{} with random workloads and faults (of {}) were run and judged. They have shown {} of custody and protocol.",
        capital(&count(record.schedules, "schedule")),
        record.asked.faults.join(", "),
        count(covered.patterns, "pattern")
    )]
}

/// What keeps a schedule from saying something.
fn left_open(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    let mut told = Vec::new();
    if covered.missed > 0 {
        told.push(format!(
            "In {}, a fault did not strike: its target was gone, or its moment never came.",
            count(covered.missed, "schedule")
        ));
    }
    if !covered.unjudged.is_empty() {
        let each = covered.unjudged.iter();
        let each: Vec<String> = each.map(|(it, count)| format!("{it} in {count}")).collect();
        told.push(format!(
            "Could not be judged, mostly because the faults left too little to judge: {}.",
            each.join(", ")
        ));
    }
    if covered.stuck > 0 {
        told.push(format!(
            "{} did not end, or could not be run, and says nothing.",
            capital(&count(covered.stuck, "schedule"))
        ));
    }
    if covered.unrepeated > 0 {
        told.push(format!(
            "{} violated something and did not when repeated: that is no find.",
            capital(&count(covered.unrepeated, "plan"))
        ));
    }
    if let Some(shards) = &record.shards {
        let missing = shards.missing();
        if !missing.is_empty() {
            told.push(format!(
                "This is part of a search in {} shards; not here: {}.",
                grouped(shards.of),
                in_runs(&missing)
            ));
        }
    }
    if record.interrupted {
        told.push("It was interrupted.".to_owned());
    }
    told
}

fn follows(record: &SearchRecord) -> String {
    let what = match record.asked.properties.as_slice() {
        [] => "the lock".to_owned(),
        some => {
            let words: Vec<&str> = some.iter().map(|it| it.word()).collect();
            words.join(", ")
        }
    };
    let depth = record.depth.unwrap_or_default();
    let most = count(depth as u64, "fault");
    match (record.finds.is_empty(), record.exhaustive) {
        (true, true) => format!(
            "No placement of up to {most} of this vocabulary breaks {what} in this workload with this seed. Other \
             workloads, seeds, latencies and longer lists of faults were not tried."
        ),
        (true, false) => format!(
            "Nothing was found against {what}. That is no proof: the search is not exhaustive."
        ),
        (false, true) => format!(
            "These are all the ways in which up to {most} of this vocabulary break {what} in this workload with this \
             seed, up to the faults that each stands for."
        ),
        (false, false) => "There may be more: the search is not exhaustive.".to_owned(),
    }
}

/// Ascending numbers, those that follow each other as one: `1 to 6, 8, 10 to 12`.
fn in_runs(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(u64::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_told_as_one_run() {
        let cases: [(&[u64], &str); 4] = [
            (&[], ""),
            (&[4], "4"),
            (&[1, 2], "1 to 2"),
            (&[1, 2, 3, 6, 8, 9, 10], "1 to 3, 6, 8 to 10"),
        ];
        for (numbers, words) in cases {
            assert_eq!(in_runs(numbers), words);
        }
    }
}
