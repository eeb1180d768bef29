//! Tests of the grouping of violations into problems, and of their texts.

use Status::{Held, NotApplicable, Unknown, Violated};

use super::*;

fn violated(cause: Cause, moments: &[u64]) -> Verdict {
    let moment = |(line, at_ns): (usize, &u64)| Moment {
        line,
        at_ns: *at_ns,
        is_fault: false,
    };
    Verdict {
        status: Violated,
        cause: Some(cause),
        story: moments
            .iter()
            .map(|at_ns| format!("{at_ns} s  event"))
            .collect(),
        moments: moments.iter().enumerate().map(moment).collect(),
        ..Verdict::held()
    }
}

fn status(status: Status) -> Verdict {
    Verdict {
        status,
        ..Verdict::held()
    }
}

/// A release that is not atomic deletes another client's lock, so that two clients are inside.
fn stolen() -> Verdicts {
    Verdicts::from([
        (Property::Exclusion, violated(Cause::StolenRelease, &[2, 3])),
        (Property::Lease, violated(Cause::StolenRelease, &[2, 3])),
        (Property::Ownership, violated(Cause::Race, &[2])),
        (
            Property::Resource,
            violated(Cause::StolenRelease, &[2, 3, 4]),
        ),
    ])
}

#[test]
fn violations_with_one_cause_or_one_moment_are_one_problem() {
    let verdicts = stolen();
    let problems = problems(&verdicts);
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.party, Party::Lock);
    assert_eq!(problem.properties.len(), 4);
    assert_eq!(problem.causes, [Cause::StolenRelease, Cause::Race]);
    assert_eq!(problem.remedy(), Some("compare and delete in one script"));
    let lines: Vec<&str> = problem.deciding().iter().map(|one| one.line).collect();
    assert_eq!(lines, ["2 s  event", "3 s  event", "4 s  event"]);
}

#[test]
fn faults_of_two_parties_are_two_problems() {
    let verdicts = Verdicts::from([
        (Property::Exclusion, violated(Cause::OutlivedLease, &[1, 5])),
        (Property::Lease, violated(Cause::StolenRelease, &[3, 5])),
        (Property::Ownership, violated(Cause::StolenRelease, &[3])),
        (Property::Resource, violated(Cause::OutlivedLease, &[1, 5])),
    ]);
    let problems = problems(&verdicts);
    let parties: Vec<Party> = problems.iter().map(|it| it.party).collect();
    assert_eq!(parties, [Party::Lock, Party::Client]);
    assert_eq!(
        problems[0].properties,
        [Property::Lease, Property::Ownership]
    );
}

#[test]
fn shared_fault_or_unknown_cause_joins_nothing() {
    let mut claims = violated(Cause::Undetermined, &[7]);
    claims.moments[0].is_fault = true;
    let mut progress = violated(Cause::Undetermined, &[7, 9]);
    progress.moments[0].is_fault = true;
    let verdicts = Verdicts::from([(Property::Claims, claims), (Property::Progress, progress)]);
    assert_eq!(problems(&verdicts).len(), 2);
}

#[test]
fn story_without_marked_lines_ends_with_the_deciding_ones() {
    let mut verdict = violated(Cause::NoTtl, &[1, 2, 3, 4]);
    verdict.moments.clear();
    let verdicts = Verdicts::from([(Property::Progress, verdict)]);
    let deciding = problems(&verdicts)[0].deciding();
    assert_eq!(deciding.len(), LAST_LINES);
    assert_eq!(deciding[2].line, "4 s  event");
    assert_eq!(deciding[2].at_ns, None);
}

#[test]
fn headline_names_the_overlap_and_the_damage_once() {
    let mut verdicts = stolen();
    let summary = |verdicts: &mut Verdicts, property, text: &str| {
        verdicts.get_mut(&property).unwrap().summary = text.to_owned();
    };
    for property in [Property::Exclusion, Property::Lease] {
        summary(
            &mut verdicts,
            property,
            "two clients held the lock at once for 9 ms",
        );
    }
    summary(&mut verdicts, Property::Resource, "one unit was sold twice");
    assert_eq!(
        problems(&verdicts)[0].headline(),
        "Two clients held the lock at once for 9 ms, and one unit was sold twice"
    );
}

/// The party depends on the cause and on the lease: a client outlived its lease if holds overlapped and no leases did.
#[test]
fn fault_is_explained_by_cause_and_lease() {
    let cases = [
        (
            Held,
            Cause::LostOnFailover,
            "The client's fault: it kept working",
        ),
        (
            Held,
            Cause::OutlivedLease,
            "The client's fault: it kept working",
        ),
        (
            Held,
            Cause::ExpiredGrant,
            "The client's fault: it used a grant",
        ),
        (
            Held,
            Cause::StolenRelease,
            "The lock's fault: a release deleted",
        ),
        (
            Unknown,
            Cause::StolenRelease,
            "The lock's fault: a release deleted",
        ),
        (Unknown, Cause::LostOnFailover, "The history does not show"),
        (Violated, Cause::LostOnFailover, "Redis lost the lock"),
        (Violated, Cause::Undetermined, "The history does not show"),
    ];
    for (lease, cause, start) in cases {
        let lease = match lease {
            Violated => violated(cause, &[1]),
            other => status(other),
        };
        let verdicts = Verdicts::from([
            (Property::Exclusion, violated(cause, &[1])),
            (Property::Lease, lease),
            (Property::Resource, violated(cause, &[1])),
        ]);
        let problems = problems(&verdicts);
        assert_eq!(problems.len(), 1, "{cause}");
        let fault = problems[0].fault(&verdicts);
        assert!(fault.starts_with(start), "{cause}: {fault}");
        let is_client = problems[0].party == Party::Client;
        assert_eq!(
            fault.contains("Only fencing"),
            is_client,
            "{cause}: {fault}"
        );
    }
}

#[test]
fn damage_outside_of_the_lock_is_never_its_fault() {
    let parties = [
        (
            Cause::LateWrite,
            "The resource's fault, not the lock's: it accepted a late write",
        ),
        (
            Cause::ReleasedBeforeCommit,
            "The application's fault, not the lock's: it released",
        ),
        (
            Cause::UncheckedWrite,
            "The application's fault, not the lock's: its failure path",
        ),
        (
            Cause::StaleRead,
            "The resource's fault, not the lock's: its replica",
        ),
    ];
    for (cause, start) in parties {
        let verdicts = Verdicts::from([
            (Property::Exclusion, Verdict::held()),
            (Property::Lease, Verdict::held()),
            (Property::Resource, violated(cause, &[1])),
        ]);
        let fault = problems(&verdicts)[0].fault(&verdicts);
        assert!(fault.starts_with(start), "{fault}");
    }
}

#[test]
fn fencing_is_praised_where_it_protected_the_stock() {
    let verdicts = |fencing: Status| {
        Verdicts::from([
            (Property::Exclusion, violated(Cause::OutlivedLease, &[1])),
            (Property::Lease, Verdict::held()),
            (Property::Resource, Verdict::held()),
            (Property::Fencing, status(fencing)),
        ])
    };
    let fault = |verdicts: Verdicts| problems(&verdicts)[0].fault(&verdicts);
    assert!(fault(verdicts(Held)).contains("Fencing did its work"));
    assert!(fault(verdicts(NotApplicable)).contains("nothing would have prevented it"));
}

#[test]
fn nothing_violated_is_no_problem() {
    assert!(problems(&Verdicts::new()).is_empty());
}

/// Returns a violation with a deciding line at each of these times.
fn timed(cause: Cause, times: &[&str]) -> Verdict {
    let mut verdict = violated(cause, &vec![1; times.len()]);
    verdict.story = times
        .iter()
        .map(|time| format!("{time} s  event"))
        .collect();
    for (moment, place) in verdict.moments.iter_mut().zip(1..) {
        moment.at_ns = place;
    }
    verdict
}

#[test]
fn two_problems_share_five_numbered_lines() {
    let counted = |of_lock: &[&str], of_client: &[&str]| {
        let verdicts = Verdicts::from([
            (Property::Exclusion, timed(Cause::OutlivedLease, of_client)),
            (Property::Ownership, timed(Cause::StolenRelease, of_lock)),
        ]);
        let numbered = numbered(&verdicts);
        numbered
            .iter()
            .map(|(_, lines)| lines.len())
            .collect::<Vec<_>>()
    };
    let three = ["1.001", "1.002", "1.003"];
    assert_eq!(counted(&three, &three), [3, 2]);
    assert_eq!(counted(&three[..2], &three), [2, 3]);
}

#[test]
fn numbers_are_in_order_of_time_over_all_problems() {
    let verdicts = Verdicts::from([
        // The client's fault is earlier, and its last line is a line of the other problem.
        (
            Property::Exclusion,
            timed(Cause::OutlivedLease, &["1.012", "2.766"]),
        ),
        (
            Property::Ownership,
            timed(Cause::StolenRelease, &["2.766", "1.755"]),
        ),
    ]);
    let numbered = numbered(&verdicts);
    let numbers = numbered.iter().map(|(problem, lines)| {
        let numbers: Vec<usize> = lines.iter().map(|it| it.number).collect();
        (problem.party, numbers)
    });
    let numbers: Vec<(Party, Vec<usize>)> = numbers.collect();
    assert_eq!(
        numbers,
        [(Party::Lock, vec![2, 3]), (Party::Client, vec![1, 3])]
    );
    assert_eq!(numbered[0].0.story(), ["1.755 s  event", "2.766 s  event"]);
}
