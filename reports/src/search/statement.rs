//! Describes the coverage of a search, in sentences that claim no more than it tested.

use picklock_scenarios::BackendName;
use picklock_verdicts::record::{SearchKind, SearchRecord};

use crate::units::{count, grouped};

/// Returns what was tested, what all runs have in common, and the conclusion. Each item has one or more
/// sentences.
pub fn statement(record: &SearchRecord) -> Vec<String> {
    let mut sentences = match record.kind {
        SearchKind::Sweep => describe_sweep(record),
        SearchKind::Hunt => describe_hunt(record),
    };
    sentences.extend(describe_gaps(record));
    let fixed = record.coverage.fixed.join("; ");
    sentences.push(format!("All runs have in common: {fixed}."));
    sentences.push(conclusion(record));
    sentences
}

fn describe_sweep(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    let depth = record.depth.unwrap_or_default();
    let injection_points = count(covered.injection_points, "injection point");
    let places = count(covered.placements, "place");
    let faults = count(covered.faults.len(), "fault");
    let with = match depth {
        0 => "without a fault".to_owned(),
        1 => "with one fault".to_owned(),
        depth => format!("with up to {depth} faults"),
    };
    let schedules = count(record.schedules, "schedule");
    let mut sentences = vec![
        format!(
            "The run without faults has {injection_points}. {faults} can fire at them in {places}."
        ),
        format!("{schedules} {with} were run and judged."),
    ];
    if covered.pruned > 0 {
        sentences.push(format!(
            "{} more have the same faults in another order, and each would repeat one of these runs.",
            grouped(covered.pruned)
        ));
    }
    sentences
}

fn describe_hunt(record: &SearchRecord) -> Vec<String> {
    let schedules = count(record.schedules, "schedule");
    let patterns = count(record.coverage.patterns, "pattern");
    let faults = record.settings.faults.join(", ");
    // On servers a hunt begins with the catalog, unless it draws uniformly.
    let from = match record.backend {
        BackendName::Sim => "",
        _ if record.settings.uniform => "",
        _ => "from the catalog, and then ",
    };
    vec![format!(
        "{schedules} {from}with random workloads and faults (of {faults}) were run and judged. They showed {patterns} of key history and protocol."
    )]
}

/// Lists the schedules that prove nothing, with the reasons.
fn describe_gaps(record: &SearchRecord) -> Vec<String> {
    let covered = &record.coverage;
    let mut sentences = Vec::new();
    if covered.missed > 0 {
        sentences.push(format!(
            "In {}, a fault did not fire: its target was gone, or its trigger never fired.",
            count(covered.missed, "schedule")
        ));
    }
    if !covered.inconclusive.is_empty() {
        let each = covered.inconclusive.iter();
        let each: Vec<String> = each.map(|(it, count)| format!("{it} in {count}")).collect();
        sentences.push(format!(
            "Inconclusive, mostly because the faults left too little evidence: {}.",
            each.join(", ")
        ));
    }
    if covered.stuck > 0 {
        let schedules = count(covered.stuck, "schedule");
        sentences.push(format!(
            "{schedules} did not end or failed to run, and proves nothing."
        ));
    }
    if covered.unrepeated > 0 {
        sentences.push(format!(
            "{} found a violation that did not recur when repeated; it is not counted.",
            count(covered.unrepeated, "plan")
        ));
    }
    if !covered.unavoidable.is_empty() {
        let each = covered.unavoidable.iter();
        let each: Vec<String> = each.map(|(it, runs)| format!("{it} in {runs}")).collect();
        sentences.push(format!(
            "Not counted, because every lock on such servers shows it (--unavoidable counts it): {}.",
            each.join(", ")
        ));
    }
    if let Some(shards) = &record.shards {
        let missing = describe_ranges(&shards.missing());
        if !missing.is_empty() {
            let all = grouped(shards.of);
            let part = format!("This is part of a search in {all} shards; missing: {missing}.");
            sentences.push(part);
        }
    }
    if record.interrupted {
        sentences.push("The search was interrupted.".to_owned());
    }
    sentences
}

fn conclusion(record: &SearchRecord) -> String {
    let subject = match record.settings.properties.as_slice() {
        [] => "the lock".to_owned(),
        some => {
            let words: Vec<&str> = some.iter().map(|it| it.as_str()).collect();
            words.join(", ")
        }
    };
    let max = count(record.depth.unwrap_or_default(), "fault");
    match (record.counterexamples.is_empty(), record.exhaustive) {
        (true, true) => format!(
            "No placement of up to {max} of this fault model breaks {subject} in this workload with this seed. Other \
             workloads, seeds, latencies and longer lists of faults were not tested."
        ),
        (true, false) => format!(
            "No counterexample to {subject} was found. This is not a proof, because the search is not exhaustive."
        ),
        (false, true) => format!(
            "These are all the ways in which up to {max} of this fault model break {subject} in this workload with this \
             seed, up to the faults that each represents."
        ),
        (false, false) => "There may be more: the search is not exhaustive.".to_owned(),
    }
}

/// Lists ascending numbers with consecutive ones as a range, such as `1 to 6, 8, 10 to 12`.
fn describe_ranges(numbers: &[u64]) -> String {
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
    fn consecutive_numbers_are_shown_as_a_range() {
        let cases: [(&[u64], &str); 4] = [
            (&[], ""),
            (&[4], "4"),
            (&[1, 2], "1 to 2"),
            (&[1, 2, 3, 6, 8, 9, 10], "1 to 3, 6, 8 to 10"),
        ];
        for (numbers, words) in cases {
            assert_eq!(describe_ranges(numbers), words);
        }
    }
}
