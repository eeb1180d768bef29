//! The party at fault by verdicts and causes.

use Status::{Held, NotApplicable, Unknown, Violated};
use picklock_verdicts::check::Verdict;

use super::*;

fn verdict(status: Status, cause: Option<Cause>) -> Verdict {
    Verdict {
        status,
        cause,
        ..Verdict::held()
    }
}

fn verdicts(exclusion: Status, lease: Status, resource: Status, fencing: Status) -> Verdicts {
    Verdicts::from([
        (Property::Exclusion, verdict(exclusion, None)),
        (Property::Lease, verdict(lease, None)),
        (Property::Resource, verdict(resource, None)),
        (Property::Fencing, verdict(fencing, None)),
    ])
}

#[test]
fn statuses_without_causes_determine_the_party() {
    let cases = [
        ((Held, Held, Held, NotApplicable), None),
        ((Unknown, Unknown, Held, NotApplicable), None),
        (
            (Violated, Held, Violated, NotApplicable),
            Some(Party::Client),
        ),
        ((Violated, Held, Held, Held), Some(Party::Client)),
        (
            (Violated, Violated, Unknown, NotApplicable),
            Some(Party::Undetermined),
        ),
        (
            (Violated, Unknown, Unknown, NotApplicable),
            Some(Party::Undetermined),
        ),
        ((Held, Held, Violated, NotApplicable), Some(Party::Outside)),
    ];
    for ((exclusion, lease, resource, fencing), party) in cases {
        let verdicts = verdicts(exclusion, lease, resource, fencing);
        let worst = Blame::from_verdicts(&verdicts).worst();
        assert_eq!(worst, party, "{exclusion} {lease} {resource}");
    }
}

/// Tests all cases for which reports once named different parties.
#[test]
fn cause_and_lease_together_determine_the_party() {
    let cases = [
        // Holds overlapped, but no leases: a client outlived its lease, whatever Redis did.
        (Held, Some(Cause::LostOnFailover), Party::Client),
        (Held, None, Party::Client),
        (Held, Some(Cause::OutlivedLease), Party::Client),
        // If the lock's own commands let two clients in, the lock is responsible, not a client.
        (Held, Some(Cause::StolenRelease), Party::Lock),
        (Unknown, Some(Cause::StolenRelease), Party::Lock),
        (Unknown, Some(Cause::LostOnFailover), Party::Undetermined),
        (Unknown, None, Party::Undetermined),
        (Unknown, Some(Cause::OutlivedLease), Party::Client),
        (Violated, Some(Cause::LostOnFailover), Party::Redis),
        (Violated, Some(Cause::StolenRelease), Party::Lock),
        (Violated, None, Party::Undetermined),
    ];
    for (lease, cause, party) in cases {
        let mut verdicts = verdicts(Violated, lease, Violated, NotApplicable);
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            let verdict = verdicts.get_mut(&property).unwrap();
            verdict.cause = cause.filter(|_| verdict.status == Violated);
        }
        let blame = Blame::from_verdicts(&verdicts);
        assert_eq!(blame.worst(), Some(party), "{lease} {cause:?}");
    }
}
