//! From a history to its verdicts: one pass for all checkers, then cause and story for each finding.

use picklock_scenarios::Property;

use crate::history::{EventKind, History};
use crate::key_history::KeyTable;

use super::finding::{Finding, Judgement, Seen};
use super::inconclusive::InconclusiveReason;
use super::properties::Checkers;
use super::run_validity::{InvalidRun, Sufficiency, nobody_was_ready};
use super::story::{story, unserved};
use super::verdict::{Status, Verdict, Verdicts};
use crate::check::causes::cause::cause;
use crate::check::causes::evidence::Evidence;
use crate::timeline::{AttemptTracker, HoldReader};

/// Judges a history: one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let evidence = Evidence::new(history);
    let (judgements, mut too_little) = check(&evidence);
    let stall_correction = evidence.stall_correction.as_ref();
    let waited =
        stall_correction.and_then(|stall_correction| stall_correction.waited_for_fault(history));
    let reasons = &mut too_little.reasons;
    reasons.extend(waited);
    reasons.extend(nobody_was_ready(&evidence.timeline));
    let verdicts = judgements.into_iter().map(|(property, judgement)| {
        let judgement = evidence.judged_on_time(property, judgement);
        (property, verdict(judgement, &evidence, &too_little))
    });
    verdicts.collect()
}

/// What the checkers found, by property, and why the history may show too little to say `held`.
fn check(evidence: &Evidence<'_>) -> (Vec<(Property, Judgement)>, InvalidRun) {
    let history = evidence.history;
    let mut checkers = Checkers::new(&history.header);
    let mut run_validity = Sufficiency::new(&history.header);
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut holds = HoldReader::default();
    let mut keys = history.header.key_history.then(KeyTable::default);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        let followed = tracker.event(event, |attempt, step| {
            run_validity.step(event.at_ns, attempt, step);
            checkers.step(event.at_ns, attempt, step);
            holds.step(event, attempt, step);
        });
        // Every second event is a changed key, and nothing else asks for those.
        if matches!(event.what, EventKind::KeyChanged { .. }) {
            if let Some(keys) = &mut keys {
                keys.event(event, |update| checkers.key_changed(event.at_ns, &update));
            }
        } else if !followed {
            run_validity.event(event);
            checkers.event(event);
        }
    }
    tracker.close(end_ns, |attempt, step| {
        run_validity.step(end_ns, attempt, step);
        checkers.step(end_ns, attempt, step);
    });
    evidence.timeline.set_holds(holds.finish(history));
    let judgements = checkers.finish(&evidence.timeline);
    (judgements, run_validity.result(end_ns, tracker.under_way()))
}

/// True if nobody got the lock because it does not take the lease. A key that never expires is the lock's fault
/// nevertheless.
fn is_refused_lease(first: &Finding, inapplicable: &[InconclusiveReason]) -> bool {
    let refused =
        |reason: &InconclusiveReason| matches!(reason, InconclusiveReason::LeaseRefused { .. });
    let leaves_none = matches!(&first.seen, Seen::Starvation(it) if !it.has_unexpiring_key);
    leaves_none && inapplicable.iter().any(refused)
}

fn verdict(judgement: Judgement, evidence: &Evidence<'_>, too_little: &InvalidRun) -> Verdict {
    let inapplicable = too_little.inapplicable();
    match judgement {
        Judgement::Held if too_little.reasons.is_empty() => Verdict::held(),
        Judgement::HeldThough { refused, failed } if too_little.reasons.is_empty() => Verdict {
            story: vec![unserved(evidence, refused, failed)],
            ..Verdict::held()
        },
        Judgement::Violated { first, .. } if is_refused_lease(&first, &inapplicable) => {
            Verdict::inapplicable(inapplicable)
        }
        Judgement::Violated { first, count } if !too_little.is_void => {
            let facts = evidence.facts(&first);
            Verdict {
                status: Status::Violated,
                cause: Some(cause(&facts)),
                story: story(&facts),
                violations: count,
                at_ns: Some(first.at_ns),
                ..Verdict::held()
            }
        }
        _ if !inapplicable.is_empty() => Verdict::inapplicable(inapplicable),
        Judgement::NotApplicable if !too_little.is_void => Verdict::not_applicable(),
        Judgement::Unknown(reason) if !too_little.is_void => Verdict::unknown(vec![reason]),
        _ => Verdict::unknown(too_little.reasons.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::verdict::Cause;
    use crate::history::read_history;

    /// What is not offered excuses what was not tested, and no violation.
    #[test]
    fn violation_of_an_inapplicable_scenario_stays() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let evidence = Evidence::new(&history);
        let inapplicable = |is_void| InvalidRun {
            reasons: vec![
                InconclusiveReason::NobodyCompeted,
                InconclusiveReason::ExtensionUntested {
                    unsupported: Some("it never could".into()),
                },
            ],
            is_void,
        };
        let first = Finding {
            at_ns: 900_000_000,
            seen: Seen::Attempts {
                ops: Vec::new(),
                statement: "two leases overlapped".into(),
            },
        };
        let status = |judgement, is_void| {
            let found = verdict(judgement, &evidence, &inapplicable(is_void));
            assert_eq!(found.reasons.len(), found.story.len());
            (found.status, found.reasons.len())
        };
        let unknown = || Judgement::Unknown(InconclusiveReason::StockUncounted);
        let violated = || Judgement::Violated {
            first: first.clone(),
            count: 1,
        };
        assert_eq!(status(Judgement::Held, false), (Status::NotApplicable, 1));
        assert_eq!(status(unknown(), false), (Status::NotApplicable, 1));
        assert_eq!(
            verdict(violated(), &evidence, &inapplicable(false)).status,
            Status::Violated
        );
        for judgement in [Judgement::Held, unknown(), violated()] {
            assert_eq!(status(judgement, true), (Status::Unknown, 2));
        }
    }

    /// A property without rules of its own for cause and story is explained nevertheless.
    #[test]
    fn a_finding_without_rules_of_its_own_is_told_and_has_no_cause() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let evidence = Evidence::new(&history);
        let first = Finding {
            at_ns: 900_000_000,
            seen: Seen::Attempts {
                ops: vec![evidence.timeline.holds()[0].op],
                statement: "worker 0 claimed too much".into(),
            },
        };
        let verdict = verdict(
            Judgement::Violated { first, count: 2 },
            &evidence,
            &InvalidRun::default(),
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
