//! The reference checkers: slow ones that are obviously correct. The checkers are compared with them.
//!
//! [`generate`] makes histories that follow the protocol, but not the rules of a lock: grants
//! overlap, releases and attempts end unknown, workers are killed, and most times are equal to some
//! other. Three oracles judge those: [`pairs`] looks at every pair of holds, [`linear`] tries every
//! order of operations, [`stalls`] looks at every moment.
//!
//! [`keys`] makes histories in which commands and faults change the keys of the nodes, and [`contents`]
//! looks up what a key holds. [`thefts`] judges ownership there, [`claims`] what locks say, and
//! [`causes`] why two had one lock.

mod causes;
mod claims;
mod contents;
mod generate;
mod gone;
mod keys;
mod linear;
mod pairs;
mod stalls;
mod thefts;

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
    fn exclusion_finds_exactly_the_overlapping_pairs(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Exclusion), pairs::exclusion(&history));
    }

    #[test]
    fn lease_finds_exactly_the_overlapping_leases(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Lease), pairs::lease(&history));
    }

    /// Had the harness been on time, there would be no more overlaps than there were.
    #[test]
    fn harness_pauses_only_take_violations_away(
        history in generate::histories(60),
        pauses in proptest::collection::vec((any::<proptest::sample::Index>(), 0..9_u64), 0..4),
    ) {
        let mut paused = history.clone();
        for (index, late_ms) in pauses {
            let index = index.index(paused.events.len() + 1);
            let at_ns = index.checked_sub(1).map_or(0, |before| paused.events[before].at_ns);
            paused.events.insert(index, Event { at_ns, what: EventKind::HarnessStalled { late_ms } });
        }
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            prop_assert!(count(&paused, property).0 <= count(&history, property).0);
        }
    }

    /// Had nobody stood still, there would be no more overlaps than there were.
    #[test]
    fn standstills_only_take_violations_away(
        history in generate::histories(60),
        stalls in proptest::collection::vec(
            (any::<proptest::sample::Index>(), 0..9_000_000_u64, proptest::option::of(0..3_usize)), 0..4
        ),
    ) {
        let mut still = history.clone();
        for (index, length_ns, worker) in stalls {
            let index = index.index(still.events.len() + 1);
            let at_ns = index.checked_sub(1).map_or(0, |before| still.events[before].at_ns);
            let (since_ns, stalled_ms) = (at_ns.saturating_sub(length_ns), length_ns / 1_000_000);
            let what = match worker {
                Some(worker) => EventKind::WorkerStalled { worker, since_ns, stalled_ms },
                None => EventKind::NodeStalled { node: 0, since_ns, stalled_ms },
            };
            still.events.insert(index, Event { at_ns, what });
        }
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            prop_assert!(count(&still, property).0 <= count(&history, property).0);
        }
    }

    /// Leases that only may have overlapped decide nothing.
    #[test]
    fn lease_is_undecided_exactly_where_leases_may_have_overlapped(
        history in generate::histories(60)
    ) {
        let verdict = &judge(&history)[&Property::Lease];
        let certain = pairs::lease(&history).0 > 0;
        let possible = pairs::possible_lease(&history).0 > 0;
        prop_assert!(possible || !certain);
        prop_assert_eq!(certain, verdict.status == Status::Violated);
        let undecided = verdict.story.iter().any(|line| line.contains("may have been running"));
        prop_assert_eq!(possible && !certain, undecided);
    }

    #[test]
    fn ownership_finds_exactly_the_stolen_locks(history in generate::histories(80)) {
        let (lease, ownership) = (pairs::lease(&history), pairs::ownership(&history));
        // Once two leases have overlapped, a success does not show whose lock was released.
        let expected = match (lease.1, ownership.1) {
            (Some(lease_ns), Some(ownership_ns)) if lease_ns <= ownership_ns => (0, None),
            _ => ownership,
        };
        prop_assert_eq!(count(&history, Property::Ownership), expected);
    }

    #[test]
    fn fencing_finds_exactly_the_stale_tokens(history in generate::histories(60)) {
        prop_assert_eq!(count(&history, Property::Fencing), pairs::fencing(&history));
    }

    #[test]
    fn the_listed_holds_are_those_of_the_oracle(history in generate::histories(60)) {
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
    fn a_story_is_short_and_comes_with_a_cause(history in generate::histories(80)) {
        for (property, verdict) in judge(&history) {
            prop_assert!(verdict.story.len() <= 10, "{property}: {:?}", verdict.story);
            let violated = verdict.status == Status::Violated;
            prop_assert_eq!(violated, verdict.cause.is_some());
            prop_assert_eq!(violated, verdict.violations > 0);
            prop_assert_eq!(violated, verdict.at_ns.is_some());
            prop_assert!(!violated || !verdict.story.is_empty());
        }
    }

    /// Overlapping holds cannot be explained by any order of operations on a lock that does not
    /// expire, even if other outcomes are unknown.
    #[test]
    fn a_violation_of_exclusion_is_not_linearizable(history in generate::histories(24)) {
        if count(&history, Property::Exclusion).0 > 0 {
            let explained = linear::linearizable(&history);
            prop_assert!(!explained);
        }
    }

    /// The converse holds if every hold was released with success: see [`linear`] for the argument.
    #[test]
    fn a_complete_history_that_is_not_linearizable_violates_exclusion(
        history in generate::complete_histories(24)
    ) {
        let overlap = count(&history, Property::Exclusion).0 > 0;
        prop_assert_eq!(overlap, !linear::linearizable(&history));
    }

    #[test]
    fn progress_finds_exactly_the_stalls(history in generate::slow_histories(40)) {
        prop_assert_eq!(count(&history, Property::Progress).0, stalls::stalls(&history));
    }

    /// Faults that keep some workers from some nodes, attempts in doubt and killed workers included.
    #[test]
    fn progress_excuses_only_what_a_fault_takes_away(history in generate::faulty_histories(50)) {
        prop_assert_eq!(count(&history, Property::Progress).0, stalls::stalls(&history));
    }

    #[test]
    fn ownership_finds_exactly_the_values_that_were_taken(history in keys::key_histories(60)) {
        prop_assert_eq!(count(&history, Property::Ownership), thefts::ownership(&history));
    }

    #[test]
    fn claims_finds_exactly_what_is_untrue(history in keys::key_histories(60)) {
        prop_assert_eq!(count(&history, Property::Claims), claims::claims(&history));
    }

    #[test]
    fn causes_are_what_became_of_the_values(history in keys::key_histories(60)) {
        for property in [Property::Exclusion, Property::Lease] {
            let verdict = &judge(&history)[&property];
            if let (Some(cause), Some(at_ns)) = (verdict.cause, verdict.at_ns) {
                let possible = causes::causes(&history, property, at_ns);
                prop_assert!(possible.contains(&cause), "{property}: {cause}, not {possible:?}");
            }
        }
    }
}

/// Random histories prove nothing about what they do not contain.
#[test]
fn the_histories_of_keys_contain_every_kind_of_violation() {
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
