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
    let fixed = record.coverage.fixed.join("; ");
    told.push(format!("The same in all of them: {fixed}."));
    told.push(follows(record));
    told
}

fn swept(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    let depth = record.depth.unwrap_or_default();
    let injection_points = count(covered.injection_points, "moment");
    let places = count(covered.placements, "place");
    let faults = count(covered.faults.len(), "fault");
    let with = match depth {
        0 => "without a fault".to_owned(),
        1 => "with one fault".to_owned(),
        depth => format!("with up to {depth} faults"),
    };
    let schedules = count(record.schedules, "schedule");
    let mut told = vec![
        format!(
            "The run without faults has {injection_points}. {faults} can strike at them in {places}."
        ),
        format!("{schedules} {with} were run and judged."),
    ];
    if covered.pruned > 0 {
        told.push(format!(
            "{} more would have the same faults in another order: each is the same run as one of them.",
            grouped(covered.pruned)
        ));
    }
    told
}

fn hunted(record: &SearchRecord) -> Vec<String> {
    let schedules = count(record.schedules, "schedule");
    let patterns = count(record.coverage.patterns, "pattern");
    let faults = record.asked.faults.join(", ");
    vec![format!(
        "{schedules} with random workloads and faults (of {faults}) were run and judged. They have shown {patterns} of key history and protocol."
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
    if !covered.inconclusive.is_empty() {
        let each = covered.inconclusive.iter();
        let each: Vec<String> = each.map(|(it, count)| format!("{it} in {count}")).collect();
        told.push(format!(
            "Could not be judged, mostly because the faults left too little to judge: {}.",
            each.join(", ")
        ));
    }
    if covered.stuck > 0 {
        let schedules = count(covered.stuck, "schedule");
        told.push(format!(
            "{schedules} did not end, or could not be run, and says nothing."
        ));
    }
    if covered.unrepeated > 0 {
        told.push(format!(
            "{} violated something and did not when repeated: that is no find.",
            count(covered.unrepeated, "plan")
        ));
    }
    if let Some(shards) = &record.shards {
        let missing = in_runs(&shards.missing());
        if !missing.is_empty() {
            let all = grouped(shards.of);
            let part = format!("This is part of a search in {all} shards; not here: {missing}.");
            told.push(part);
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
            let words: Vec<&str> = some.iter().map(|it| it.as_str()).collect();
            words.join(", ")
        }
    };
    let most = count(record.depth.unwrap_or_default(), "fault");
    match (record.counterexamples.is_empty(), record.exhaustive) {
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
