//! From a history to its verdicts: one pass for all checkers, then cause and story for each finding.

use picklock_scenarios::Property;

use crate::history::{EventKind, History};
use crate::key_history::KeyTable;

use super::finding::{Finding, Judgement, Observation};
use super::inconclusive::InconclusiveReason;
use super::properties::Checkers;
use super::run_validity::{InvalidRun, RunValidity, no_competitor_was_ready};
use super::story::{kept_out_without_expiry, story, unserved};
use super::turns::Turns;
use super::verdict::{Status, Verdict, Verdicts};
use crate::check::causes::cause::cause;
use crate::check::causes::evidence::Evidence;
use crate::timeline::{AttemptTracker, HoldReader, is_of_run};

/// Judges a history. Returns one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let evidence = Evidence::new(history);
    let (judgements, mut invalid) = check(&evidence);
    let correction = evidence.stall_correction();
    let late_injection = correction.and_then(|correction| correction.late_injection(history));
    invalid.reasons.extend(late_injection);
    invalid
        .reasons
        .extend(no_competitor_was_ready(&evidence.timeline));
    let judged = judgements
        .into_iter()
        .filter(|(property, _)| history.header.judges(*property));
    let verdicts = judged.map(|(property, judgement)| {
        let judgement = evidence.correct_for_stalls(property, judgement);
        let verdict = verdict(judgement, &evidence, &invalid);
        (property, with_remark(property, verdict, &evidence))
    });
    verdicts.collect()
}

/// Returns the judgement of each checker, and the reasons why the history may show too little for `held`.
fn check(evidence: &Evidence<'_>) -> (Vec<(Property, Judgement)>, InvalidRun) {
    let history = evidence.history;
    let mut checkers = Checkers::new(&history.header);
    let mut run_validity = RunValidity::new(&history.header);
    let mut turns = Turns::new(&history.header);
    let mut tracker = AttemptTracker::new(&history.header);
    // All holds are needed for `claims`, which are judged by the key history, and if a property may be violated.
    let mut holds = (history.header.key_history).then(HoldReader::default);
    let mut keys = history.header.key_history.then(KeyTable::default);
    let mut run_events = Vec::new();
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        let followed = tracker.event(event, |attempt, step| {
            run_validity.step(event.at_ns, attempt, step);
            turns.step(attempt, step);
            checkers.step(event.at_ns, attempt, step);
            if let Some(holds) = &mut holds {
                holds.step(event, attempt, step);
            }
        });
        // About every second event reports a changed key. Only the checkers use these events.
        if matches!(event.what, EventKind::KeyChanged { .. }) {
            if let Some(keys) = &mut keys {
                keys.event(event, |update| checkers.key_changed(event.at_ns, &update));
            }
        } else if event.what.is_access() {
            checkers.accessed(event);
        } else if !followed {
            run_validity.event(event);
            checkers.event(event);
            run_events.extend(is_of_run(event).then_some(event));
        } else if matches!(event.what, EventKind::AcquireFailed { .. }) {
            // A step does not have the message of a failed request.
            run_validity.event(event);
        }
    }
    tracker.close(end_ns, |attempt, step| {
        run_validity.step(end_ns, attempt, step);
        checkers.step(end_ns, attempt, step);
    });
    let invalid = run_validity.result(end_ns, tracker.under_way());
    // Free the attempts of a long history first, because the following steps need as much memory.
    drop(tracker);
    evidence.timeline.set_run_events(run_events);
    let have_overlapped = turns.may_have_overlapped();
    evidence.timeline.set_holds_overlapped(have_overlapped);
    if let Some(holds) = holds {
        evidence.timeline.set_holds(holds.finish(history));
    }
    (checkers.finish(&evidence.timeline), invalid)
}

/// Returns `true` if no client got the lock because the lock does not accept the lease. A key that never expires is
/// still the lock's fault.
fn is_refused_lease(first: &Finding, inapplicable: &[InconclusiveReason]) -> bool {
    let refused =
        |reason: &InconclusiveReason| matches!(reason, InconclusiveReason::LeaseRefused { .. });
    let leaves_no_key =
        matches!(&first.observation, Observation::Starvation(it) if !it.has_unexpiring_key);
    leaves_no_key && inapplicable.iter().any(refused)
}

fn verdict(judgement: Judgement, evidence: &Evidence<'_>, invalid: &InvalidRun) -> Verdict {
    let inapplicable = invalid.inapplicable();
    match judgement {
        Judgement::Held if invalid.reasons.is_empty() => Verdict::held(),
        Judgement::HeldThough { refused, failed } if invalid.reasons.is_empty() => Verdict {
            story: vec![unserved(evidence, refused, failed)],
            ..Verdict::held()
        },
        Judgement::Violated { first, .. } if is_refused_lease(&first, &inapplicable) => {
            Verdict::inapplicable(inapplicable)
        }
        Judgement::Violated { first, count } if !invalid.is_void => {
            let facts = evidence.facts(&first);
            let story = story(&facts);
            Verdict {
                status: Status::Violated,
                cause: Some(cause(&facts)),
                story: story.lines,
                summary: story.summary,
                moments: story.moments,
                violations: count,
                at_ns: Some(first.at_ns),
                ..Verdict::held()
            }
        }
        _ if !inapplicable.is_empty() => Verdict::inapplicable(inapplicable),
        Judgement::NotApplicable if !invalid.is_void => Verdict::not_applicable(),
        Judgement::Unknown(reason) if !invalid.is_void => Verdict::unknown(vec![reason]),
        _ => Verdict::unknown(invalid.reasons.clone()),
    }
}

/// Adds a remark to an `exclusion` that held only because the lock's key never expires.
fn with_remark(property: Property, mut verdict: Verdict, evidence: &Evidence<'_>) -> Verdict {
    if property == Property::Exclusion && verdict.status == Status::Held {
        verdict.story.extend(kept_out_without_expiry(evidence));
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::verdict::Cause;
    use crate::history::read_history;
    use crate::timeline::work_count;

    /// A missing feature excuses untested properties, but not a violation.
    #[test]
    fn violation_in_an_inapplicable_scenario_stays() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let evidence = Evidence::new(&history);
        let inapplicable = |is_void| InvalidRun {
            reasons: vec![
                InconclusiveReason::NobodyCompeted,
                InconclusiveReason::ExtensionUntested {
                    unsupported: Some("not implemented".into()),
                },
            ],
            is_void,
        };
        let first = Finding {
            at_ns: 900_000_000,
            observation: Observation::Attempts {
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

    /// A value that never expires explains why no other client got the lock; a value that expires does not.
    #[test]
    fn hold_behind_a_key_without_expiry_is_explained() {
        let remark = |capacity: u32, key: &str, ttl: &str| {
            let header = r#"{"format":"picklock-history/1","scenario":"q","lock":"s","backend":"sim","seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":2,"update":"decrement","min_grants":1,"progress_within_ms":6000,"key_history":true}"#;
            let header =
                header.replace(r#""ttl_ms""#, &format!(r#""capacity":{capacity},"ttl_ms""#));
            let set = format!(
                r#""event":"key-changed","node":0,"key":{key}{ttl},"why":"command","phase":"acquire","command":"SET""#
            );
            let events = [
                r#""at_ns":0,"event":"acquire","key":0,"ttl_ms":1000,"wait_ms":0"#.to_owned(),
                format!(r#""at_ns":1000,{set}"#),
                r#""at_ns":2000,"event":"granted","token":"t""#.to_owned(),
                r#""at_ns":3000002000,"event":"release""#.to_owned(),
            ];
            let lines = events.map(|event| format!(r#"{{"worker":0,"op":1,{event}}}"#));
            let text = format!("{header}\n{}", lines.join("\n"));
            let history = read_history(text.as_bytes()).unwrap();
            let evidence = Evidence::new(&history);
            check(&evidence);
            kept_out_without_expiry(&evidence)
        };
        let text = remark(1, r#"0,"value":"t""#, "").unwrap();
        assert!(
            text.contains("for 3 s, longer than its lease of 1 s"),
            "{text}"
        );
        assert!(text.contains("its value never expires"), "{text}");
        assert_eq!(remark(1, r#"0,"value":"t""#, r#","ttl_ms":1000"#), None);
        // A semaphore may only count, or keep the end of each lease.
        let counter = r#"{"permits_of":0},"value":"1""#;
        let text = remark(2, counter, "").unwrap();
        assert!(
            text.ends_with("its permit went to no other client: it never expires"),
            "{text}"
        );
        assert_eq!(remark(2, counter, r#","ttl_ms":1000"#), None);
        let element = |value| format!(r#"{{"lock":0,"permit":"k [t]"}},"value":"{value}""#);
        assert!(remark(2, &element("t"), "").is_some());
        assert_eq!(remark(2, &element("t: 1796025682128"), ""), None);
    }

    /// Returns a history in which nothing ends: it has requests without an answer, grants without a release, and values
    /// that replace each other in a single key.
    fn endless(events: usize, answered: bool, key_history: bool) -> History {
        let mut text = format!(
            r#"{{"format":"picklock-history/1","scenario":"q","lock":"s","backend":"sim","seed":1,"workers":3,"nodes":1,"keys":["k"],"ttl_ms":2000,"stock_start":2,"update":"decrement","min_grants":3,"progress_within_ms":6000,"key_history":{key_history}}}"#
        );
        let (mut at_ns, mut op) = (0, 0);
        let mut line = |op: u64, event: &str, more: &str| {
            at_ns += 1000;
            let worker = op % 3;
            text.push_str(&format!(
                "\n{{\"at_ns\":{at_ns},\"worker\":{worker},\"op\":{op},\"event\":\"{event}\"{more}}}"
            ));
        };
        for _ in 0..events / 4 {
            op += 1;
            line(op, "acquire", r#","key":0,"ttl_ms":2000,"wait_ms":6000"#);
            if key_history {
                let set = format!(
                    r#","node":0,"key":0,"value":"t{op}","ttl_ms":2000,"why":"command","phase":"acquire","command":"SET""#
                );
                line(op, "key-changed", &set);
            }
            if answered {
                line(op, "granted", &format!(r#","token":"t{op}""#));
            }
        }
        read_history(text.as_bytes()).unwrap()
    }

    /// Counts steps, because times depend on the machine.
    #[test]
    fn cost_grows_with_the_number_of_events() {
        for answered in [false, true] {
            for key_history in [false, true] {
                let work = |events| {
                    let history = endless(events, answered, key_history);
                    work_count::take();
                    judge(&history);
                    work_count::take()
                };
                let (small, large) = (work(2_000), work(20_000));
                assert!(
                    large <= 13 * small,
                    "answered {answered}, key history {key_history}: {small} and {large} steps"
                );
            }
        }
    }

    #[test]
    fn finding_without_special_rules_has_a_story_and_no_cause() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let evidence = Evidence::new(&history);
        let first = Finding {
            at_ns: 900_000_000,
            observation: Observation::Attempts {
                ops: vec![evidence.timeline.holds()[0].op],
                statement: "client 0 claimed too much".into(),
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
        assert!(story.contains("client 0 got the lock"), "{story}");
        assert!(
            story.contains("0.900 s  client 0 claimed too much"),
            "{story}"
        );
    }
}
