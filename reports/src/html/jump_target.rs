//! The places in a timeline where the button "next violation" jumps.

use picklock_verdicts::check::{Status, Verdicts};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct JumpTarget {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) words: String,
}

/// Returns the overlaps and the first violation of each property, ordered by time.
pub(super) fn jump_targets(overlaps: &[(u64, u64, u32)], verdicts: &Verdicts) -> Vec<JumpTarget> {
    let overlap = |&(from_ns, to_ns, _): &(u64, u64, u32)| JumpTarget {
        from_ns,
        to_ns,
        words: "overlapping holds".to_owned(),
    };
    let mut jump_targets: Vec<JumpTarget> = overlaps.iter().map(overlap).collect();
    for (property, verdict) in verdicts {
        let (Status::Violated, Some(at_ns)) = (verdict.status, verdict.at_ns) else {
            continue;
        };
        let cause = verdict.cause.map_or("", |cause| cause.as_str());
        let words = format!("{property} violated: {cause}");
        let mut targets = jump_targets.iter_mut();
        match targets.find(|target| target.from_ns == at_ns) {
            Some(target) => target.words = format!("{words} · {}", target.words),
            None => jump_targets.push(JumpTarget {
                from_ns: at_ns,
                to_ns: at_ns,
                words,
            }),
        }
    }
    jump_targets.sort_by_key(|target| (target.from_ns, target.to_ns));
    jump_targets
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::check::{Cause, Property, Verdict};

    use super::*;

    #[test]
    fn verdict_is_merged_into_its_overlap() {
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
        let jump_targets = jump_targets(&[(5, 8, 0), (20, 30, 0)], &verdicts);
        let seen: Vec<(u64, u64, &str)> = jump_targets
            .iter()
            .map(|target| (target.from_ns, target.to_ns, target.words.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (
                    5,
                    8,
                    "exclusion violated: outlived-lease · overlapping holds"
                ),
                (9, 9, "resource violated: outlived-lease"),
                (20, 30, "overlapping holds"),
            ]
        );
    }
}
