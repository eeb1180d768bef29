//! Compares the checkers with reference checkers, which are slow but obviously correct.
//!
//! [`generate`] creates histories that follow the protocol, but not the rules of a lock: grants overlap, releases and
//! attempts end in doubt, workers are killed, and most events have the same time as another one. Three oracles judge
//! them: [`pairs`] examines every pair of holds, [`linear`] tries every order of operations, and [`stalls`] examines
//! every time.
//!
//! [`keys`] creates histories in which commands and faults change the keys of the nodes, and [`contents`] looks up the
//! content of a key. [`tries`] finds the values on which a grant rests. [`thefts`] judges ownership there, [`claims`]
//! the reports of locks, and [`causes`] decides why two clients had one lock.

mod causes;
mod claims;
mod contents;
mod course;
mod generate;
mod gone;
mod keys;
mod left;
mod linear;
mod pairs;
mod stalls;
mod thefts;
mod tries;
mod unwritten;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use picklock_verdicts::check::{Cause, Property, Status, judge};
use picklock_verdicts::history::{Event, EventKind, History};
use picklock_verdicts::timeline::Timeline;

fn count(history: &History, property: Property) -> (u64, Option<u64>) {
    let verdict = &judge(history)[&property];
    (verdict.violations, verdict.at_ns)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exclusion_finds_overlapping_pairs(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Exclusion), pairs::exclusion(&history));
    }

    #[test]
    fn lease_finds_overlapping_leases(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Lease), pairs::lease(&history));
    }

    /// Without the stalls, there would be no more overlaps than recorded.
    #[test]
    fn harness_stalls_only_remove_violations(
        history in generate::histories(60),
        stalls in proptest::collection::vec((any::<proptest::sample::Index>(), 0..9_u64), 0..4),
    ) {
        let mut stalled = history.clone();
        for (position, late_ms) in stalls {
            let index = position.index(stalled.events.len() + 1);
            let at_ns = index.checked_sub(1).map_or(0, |before| stalled.events[before].at_ns);
            stalled.events.insert(index, Event { at_ns, what: EventKind::HarnessStalled { late_ms } });
        }
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            prop_assert!(count(&stalled, property).0 <= count(&history, property).0);
        }
    }

    /// Without the stalls, there would be no more overlaps than recorded.
    #[test]
    fn stalls_only_remove_violations(
        history in generate::histories(60),
        stalls in proptest::collection::vec(
            (any::<proptest::sample::Index>(), 0..9_000_000_u64, proptest::option::of(0..3_usize)), 0..4
        ),
    ) {
        let mut stalled = history.clone();
        for (position, length_ns, worker) in stalls {
            let index = position.index(stalled.events.len() + 1);
            let at_ns = index.checked_sub(1).map_or(0, |before| stalled.events[before].at_ns);
            let (since_ns, stalled_ms) = (at_ns.saturating_sub(length_ns), length_ns / 1_000_000);
            let what = match worker {
                Some(worker) => EventKind::WorkerStalled { worker, since_ns, stalled_ms },
                None => EventKind::NodeStalled { node: 0, since_ns, stalled_ms },
            };
            stalled.events.insert(index, Event { at_ns, what });
        }
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            prop_assert!(count(&stalled, property).0 <= count(&history, property).0);
        }
    }

    /// Leases that only may have overlapped are inconclusive.
    #[test]
    fn lease_is_undecided_if_leases_may_have_overlapped(
        history in generate::histories(60)
    ) {
        let verdict = &judge(&history)[&Property::Lease];
        let certain = pairs::lease(&history).0 > 0;
        let possible = pairs::possible_lease(&history).0 > 0;
        prop_assert!(possible || !certain);
        prop_assert_eq!(certain, verdict.status == Status::Violated);
        let undecided = verdict.story.iter().any(|line| line.contains("may still have been running"));
        prop_assert_eq!(possible && !certain, undecided);
    }

    #[test]
    fn ownership_finds_stolen_locks(history in generate::histories(80)) {
        let (lease, ownership) = (pairs::lease(&history), pairs::ownership(&history));
        // Once two leases have overlapped, a success does not show whose lock was released.
        let expected = match (lease.1, ownership.1) {
            (Some(lease_ns), Some(ownership_ns)) if lease_ns <= ownership_ns => (0, None),
            _ => ownership,
        };
        prop_assert_eq!(count(&history, Property::Ownership), expected);
    }

    #[test]
    fn fencing_finds_stale_tokens(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Fencing), pairs::fencing(&history));
    }

    #[test]
    fn holds_agree_with_the_oracle(history in generate::histories(60)) {
        let listed: Vec<_> = Timeline::new(&history)
            .holds()
            .iter()
            .map(|hold| (hold.op, hold.begin_ns, hold.end_ns, hold.deadline_ns))
            .collect();
        let expected: Vec<_> = pairs::holds(&history)
            .into_iter()
            .map(|hold| (hold.op, hold.begin_ns, hold.end_ns, hold.deadline_ns))
            .collect();
        prop_assert_eq!(listed, expected);
    }

    #[test]
    fn story_is_short_and_has_a_cause(history in generate::histories(80)) {
        for (property, verdict) in judge(&history) {
            prop_assert!(verdict.story.len() <= 10, "{property}: {:?}", verdict.story);
            let violated = verdict.status == Status::Violated;
            prop_assert_eq!(violated, verdict.cause.is_some());
            prop_assert_eq!(violated, verdict.violations > 0);
            prop_assert_eq!(violated, verdict.at_ns.is_some());
            prop_assert!(!violated || !verdict.story.is_empty());
        }
    }

    /// No order of operations on a lock that does not expire can explain overlapping holds, even if other outcomes are
    /// unknown.
    #[test]
    fn violation_of_exclusion_is_not_linearizable(history in generate::histories(24)) {
        if count(&history, Property::Exclusion).0 > 0 {
            let explained = linear::linearizable(&history);
            prop_assert!(!explained);
        }
    }

    /// The converse holds if every hold was released with success. See [`linear`] for the argument.
    #[test]
    fn unlinearizable_complete_history_violates_exclusion(
        history in generate::complete_histories(24)
    ) {
        let overlap = count(&history, Property::Exclusion).0 > 0;
        prop_assert_eq!(overlap, !linear::linearizable(&history));
    }

    #[test]
    fn progress_finds_starvations(history in generate::slow_histories(40)) {
        prop_assert_eq!(count(&history, Property::Progress).0, stalls::starvations(&history));
    }

    /// The histories have faults that keep some workers from some nodes, attempts in doubt and killed workers.
    #[test]
    fn progress_excuses_only_effects_of_faults(history in generate::faulty_histories(50)) {
        prop_assert_eq!(count(&history, Property::Progress).0, stalls::starvations(&history));
    }

    #[test]
    fn ownership_finds_taken_values(history in keys::key_histories(60)) {
        prop_assert_eq!(count(&history, Property::Ownership), thefts::ownership(&history));
    }

    #[test]
    fn claims_finds_false_claims(history in keys::key_histories(60)) {
        prop_assert_eq!(count(&history, Property::Claims), claims::claims(&history));
    }

    #[test]
    fn causes_agree_with_the_oracle(history in keys::key_histories(60)) {
        for property in [Property::Exclusion, Property::Lease] {
            let verdict = &judge(&history)[&property];
            if let (Some(cause), Some(at_ns)) = (verdict.cause, verdict.at_ns) {
                let possible = causes::causes(&history, property, at_ns);
                prop_assert!(possible.contains(&cause), "{property}: {cause}, not {possible:?}");
            }
        }
    }
}

/// Random histories prove nothing about violations that they do not contain.
#[test]
fn key_histories_contain_every_kind_of_violation() {
    let mut runner = TestRunner::deterministic();
    let histories = keys::key_histories(60);
    let mut seen: BTreeMap<(Property, Cause), u32> = BTreeMap::new();
    for _ in 0..3000 {
        let history = histories.new_tree(&mut runner).unwrap().current();
        for (property, verdict) in judge(&history) {
            if let Some(cause) = verdict.cause {
                *seen.entry((property, cause)).or_default() += 1;
            }
        }
    }
    let kinds = [
        (
            Property::Ownership,
            "stolen-release race phantom-extend foreign-renewal",
        ),
        (
            Property::Claims,
            "unbacked-grant wrong-expiry false-release shared-key ambiguous-acquire",
        ),
        (Property::Lease, CAUSES_OF_LEASE),
        (Property::Exclusion, "outlived-lease expired-grant"),
    ];
    for (property, causes) in kinds {
        for word in causes.split(' ') {
            let cause = Cause::named(word).unwrap();
            let times = seen.get(&(property, cause)).copied().unwrap_or(0);
            assert!(times > 0, "{property} {cause}: never; {seen:?}");
        }
    }
}

const CAUSES_OF_LEASE: &str = "unbacked-grant wrong-expiry stolen-release race phantom-extend evicted \
    lost-on-restart lost-on-failover quorum-erosion clock-jump split-key own-removal undetermined";
