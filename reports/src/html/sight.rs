//! Where there is something to see: what "next violation" jumps to.

use picklock_verdicts::check::{Status, Verdicts};
use serde::Serialize;

/// A place in the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Sight {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) words: String,
}

/// Overlaps, and the first violation of each property, in the order of time.
pub(super) fn sights(overlaps: &[(u64, u64, u32)], verdicts: &Verdicts) -> Vec<Sight> {
    let mut sights: Vec<Sight> = overlaps
        .iter()
        .map(|&(from_ns, to_ns, _)| Sight {
            from_ns,
            to_ns,
            words: "inside together".to_owned(),
        })
        .collect();
    for (property, verdict) in verdicts {
        let (Status::Violated, Some(at_ns)) = (verdict.status, verdict.at_ns) else {
            continue;
        };
        let cause = verdict.cause.map_or("", |cause| cause.word());
        let words = format!("{property} violated: {cause}");
        match sights.iter_mut().find(|sight| sight.from_ns == at_ns) {
            Some(sight) => sight.words = format!("{words} · {}", sight.words),
            None => sights.push(Sight {
                from_ns: at_ns,
                to_ns: at_ns,
                words,
            }),
        }
    }
    sights.sort_by_key(|sight| (sight.from_ns, sight.to_ns));
    sights
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::check::{Cause, Property, Verdict};

    use super::*;

    #[test]
    fn a_verdict_joins_the_overlap_that_it_is_about() {
        let violated = |at_ns| Verdict {
            status: Status::Violated,
            cause: Some(Cause::OutlivedLease),
            at_ns: Some(at_ns),
            ..Verdict::held()
        };
        let verdicts = Verdicts::from([
            (Property::Exclusion, violated(5)),
            (Property::Lease, Verdict::held()),
            (Property::Resource, violated(9)),
        ]);
        let sights = sights(&[(5, 8, 0), (20, 30, 0)], &verdicts);
        let seen: Vec<(u64, u64, &str)> = sights
            .iter()
            .map(|sight| (sight.from_ns, sight.to_ns, sight.words.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (5, 8, "exclusion violated: outlived-lease · inside together"),
                (9, 9, "resource violated: outlived-lease"),
                (20, 30, "inside together"),
            ]
        );
    }
}
