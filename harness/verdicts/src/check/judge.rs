//! From a history to its verdicts: one pass for all checkers, then cause and story for each finding.

use picklock_scenarios::Property;

use crate::custody::KeyTable;
use crate::history::{EventKind, History};

use super::cause::cause;
use super::evidence::Evidence;
use super::finding::Judgement;
use super::properties::Checkers;
use super::story::story;
use super::sufficiency::{Insufficiency, Sufficiency};
use super::verdict::{Cause, Status, Verdict, Verdicts};
use crate::timeline::AttemptTracker;

/// Judges a history: one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let (judgements, too_little) = check(history);
    let evidence = Evidence::new(history);
    judgements
        .into_iter()
        .map(|(property, judgement)| (property, verdict(judgement, &evidence, &too_little)))
        .collect()
}

/// What the checkers found, and why the history may show too little to say `held`.
fn check(history: &History) -> (Vec<(Property, Judgement)>, Insufficiency) {
    let mut checkers = Checkers::new(&history.header);
    let mut sufficiency = Sufficiency::new(&history.header);
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut keys = history.header.custody.then(KeyTable::default);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        let followed = tracker.event(event, |attempt, step| {
            sufficiency.step(event.at_ns, attempt, step);
            checkers.step(event.at_ns, attempt, step);
        });
        // Every second event is a changed key, and nothing else asks for those.
        if matches!(event.what, EventKind::KeyChanged { .. }) {
            if let Some(keys) = &mut keys {
                keys.event(event, |update| checkers.key_changed(event.at_ns, &update));
            }
        } else if !followed {
            sufficiency.event(event);
            checkers.event(event);
        }
    }
    tracker.close(end_ns, |attempt, step| {
        sufficiency.step(end_ns, attempt, step);
        checkers.step(end_ns, attempt, step);
    });
    let mut judgements = checkers.finish();
    if !history.header.custody {
        doubt_bare_ownership(&mut judgements);
    }
    (judgements, sufficiency.result(end_ns))
}

/// Without custody, a release that succeeded after two leases had overlapped may have been of the
/// client's own lock: both had been let in.
fn doubt_bare_ownership(judgements: &mut [(Property, Judgement)]) {
    let shown_ns = |of: Property| {
        judgements.iter().find_map(|(property, judgement)| {
            let Judgement::Violated { first, .. } = judgement else {
                return None;
            };
            (*property == of).then_some(first.at_ns)
        })
    };
    let (lease_ns, ownership_ns) = (shown_ns(Property::Lease), shown_ns(Property::Ownership));
    if let (Some(lease_ns), Some(ownership_ns)) = (lease_ns, ownership_ns)
        && lease_ns <= ownership_ns
        && let Some((_, ownership)) =
            (judgements.iter_mut()).find(|(property, _)| *property == Property::Ownership)
    {
        *ownership = Judgement::Unknown(
            "two leases had overlapped before, and without the custody of the key nobody can say whose \
             lock the release took"
                .into(),
        );
    }
}

fn verdict(judgement: Judgement, evidence: &Evidence<'_>, too_little: &Insufficiency) -> Verdict {
    let unknown = || Verdict {
        status: Status::Unknown,
        story: too_little.reasons.clone(),
        ..Verdict::held()
    };
    match judgement {
        _ if too_little.is_void => unknown(),
        Judgement::Held if too_little.reasons.is_empty() => Verdict::held(),
        Judgement::Held => unknown(),
        Judgement::Unknown(reason) => Verdict::unknown(reason),
        Judgement::NotApplicable => Verdict::not_applicable(),
        Judgement::Violated { first, count } => {
            let cause = cause(&first, evidence);
            if cause == Cause::OutlivedLease && too_little.outlived_by_harness {
                return unknown();
            }
            Verdict {
                status: Status::Violated,
                cause: Some(cause),
                story: story(&first, evidence),
                violations: count,
                at_ns: Some(first.at_ns),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::{Finding, Seen};
    use crate::history::read_history;

    /// A property without rules of its own for cause and story is explained nevertheless.
    #[test]
    fn a_finding_without_rules_of_its_own_is_told_and_has_no_cause() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let evidence = Evidence::new(&history);
        let first = Finding {
            property: Property::Progress,
            at_ns: 900_000_000,
            seen: Seen::Attempts {
                ops: vec![evidence.holds()[0].op],
                statement: "worker 0 claimed too much".into(),
            },
        };
        let verdict = verdict(
            Judgement::Violated { first, count: 2 },
            &evidence,
            &Insufficiency::default(),
        );
        assert_eq!(verdict.status, Status::Violated);
        assert_eq!(verdict.cause, Some(Cause::Undetermined));
        assert_eq!(verdict.violations, 2);
        let story = verdict.story.join("\n");
        assert!(story.contains("worker 0 got the lock"), "{story}");
        assert!(
            story.contains("0.900 s  worker 0 claimed too much"),
            "{story}"
        );
    }
}
