//! From a history to its verdicts: one pass for all checkers, then cause and story for each finding.

use std::cell::OnceCell;

use picklock_scenarios::Property;

use crate::custody::KeyTable;
use crate::history::{EventKind, History};

use super::cause::cause;
use super::double_sale::{late_sellers, overlapping_sellers};
use super::evidence::Evidence;
use super::finding::{Judgement, Seen};
use super::on_time::OnTime;
use super::properties::Checkers;
use super::story::story;
use super::sufficiency::{Insufficiency, Sufficiency};
use super::verdict::{STORY_LINES, Status, Verdict, Verdicts};
use crate::timeline::AttemptTracker;

/// Judges a history: one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let (mut judgements, mut too_little) = check(history);
    let evidence = Evidence::new(history);
    if let Some(on_time) = evidence.on_time() {
        let waited = on_time.waited_for_fault(history);
        too_little.reasons.extend(waited);
        too_little.reasons.truncate(STORY_LINES);
        judge_on_time(&mut judgements, on_time, &evidence);
    }
    judgements
        .into_iter()
        .map(|(property, judgement)| (property, verdict(judgement, &evidence, &too_little)))
        .collect()
}

/// Overlaps that would not be there, had the harness been on time, are not violations. If others are, the
/// first of them is the finding.
fn judge_on_time(
    judgements: &mut [(Property, Judgement)],
    on_time: &OnTime,
    evidence: &Evidence<'_>,
) {
    let history = OnceCell::new();
    for (property, judgement) in judgements {
        let Judgement::Violated { first, .. } = judgement else {
            continue;
        };
        match first.seen {
            Seen::Overlap { earlier, later } => {
                let again = history.get_or_init(|| {
                    let history = on_time.history(evidence.history);
                    history.map(|history| check(&history).0)
                });
                let Some(again) = again else { return };
                *judgement = match again.iter().find(|(other, _)| other == property) {
                    Some((_, stands @ Judgement::Violated { .. })) => stands.clone(),
                    _ => Judgement::Unknown(on_time.reason([earlier, later], evidence.history)),
                };
            }
            // What was sold remains sold. Whether two sellers overlapped is the question.
            Seen::WrongStock(stock)
                if overlapping_sellers(evidence, &stock, first.at_ns).is_none() =>
            {
                if let Some((one, other)) = late_sellers(evidence, &stock, first.at_ns) {
                    let ops = [one.op, other.op];
                    *judgement = Judgement::Unknown(on_time.reason(ops, evidence.history));
                }
            }
            _ => {}
        }
    }
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
        Judgement::Violated { first, count } => Verdict {
            status: Status::Violated,
            cause: Some(cause(&first, evidence)),
            story: story(&first, evidence),
            violations: count,
            at_ns: Some(first.at_ns),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::Finding;
    use crate::check::verdict::Cause;
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
