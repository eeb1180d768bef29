//! The party at fault, and its description, by verdicts and causes.

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
fn statuses_without_causes_determine_the_fault() {
    let client =
        "The client's: it kept working after its lease had expired. The lock kept its promise.";
    let cases = [
        ((Held, Held, Held, NotApplicable), None, None),
        ((Unknown, Unknown, Held, NotApplicable), None, None),
        (
            (Violated, Held, Violated, NotApplicable),
            Some(Party::Client),
            Some(format!(
                "{client} The stock was damaged: only fencing would have prevented it."
            )),
        ),
        (
            (Violated, Held, Held, Held),
            Some(Party::Client),
            Some(format!(
                "{client} Fencing did its work: the stock was not damaged."
            )),
        ),
        (
            (Violated, Violated, Unknown, NotApplicable),
            Some(Party::Undetermined),
            Some(lease_fault(Party::Undetermined).to_owned()),
        ),
        (
            (Violated, Unknown, Unknown, NotApplicable),
            Some(Party::Undetermined),
            Some(exclusion_fault(&Blame::default(), Party::Undetermined)),
        ),
        (
            (Held, Held, Violated, NotApplicable),
            Some(Party::Outside),
            Some(outside_fault(&Blame::default())),
        ),
    ];
    for ((exclusion, lease, resource, fencing), party, sentence) in cases {
        let verdicts = verdicts(exclusion, lease, resource, fencing);
        let case = format!("{exclusion} {lease} {resource}");
        assert_eq!(Blame::from_verdicts(&verdicts).worst(), party, "{case}");
        assert_eq!(responsibility(&verdicts), sentence, "{case}");
    }
}

/// Its commands let nobody in: the lease of the first client was over.
#[test]
fn lock_that_reports_a_loss_late_is_not_blamed_for_its_commands() {
    let verdicts = Verdicts::from([
        (
            Property::Exclusion,
            verdict(Violated, Some(Cause::LateLossReport)),
        ),
        (Property::Lease, verdict(Held, None)),
    ]);
    let said = responsibility(&verdicts).unwrap();
    assert!(
        said.starts_with("The lock's: it reported the loss only after"),
        "{said}"
    );
}

/// The table of all cases that the reports once answered differently.
#[test]
fn cause_and_lease_together_determine_the_party() {
    let cases = [
        // Holds overlapped, but no leases: a client outlived its lease, whatever Redis did.
        (
            Held,
            Some(Cause::LostOnFailover),
            Party::Client,
            "The client's: ",
        ),
        (Held, None, Party::Client, "The client's: "),
        (
            Held,
            Some(Cause::OutlivedLease),
            Party::Client,
            "The client's: ",
        ),
        // A lock whose own commands let two clients in cannot blame a client.
        (
            Held,
            Some(Cause::StolenRelease),
            Party::Lock,
            "The lock's: ",
        ),
        (
            Unknown,
            Some(Cause::StolenRelease),
            Party::Lock,
            "The lock's: ",
        ),
        (
            Unknown,
            Some(Cause::LostOnFailover),
            Party::Undetermined,
            "Two clients held",
        ),
        (Unknown, None, Party::Undetermined, "Two clients held"),
        (
            Unknown,
            Some(Cause::OutlivedLease),
            Party::Client,
            "The client's: ",
        ),
        (
            Violated,
            Some(Cause::LostOnFailover),
            Party::Redis,
            "The lock's and its Redis's: ",
        ),
        (
            Violated,
            Some(Cause::StolenRelease),
            Party::Lock,
            "The lock's: ",
        ),
        (Violated, None, Party::Undetermined, "The lock or its Redis"),
    ];
    for (lease, cause, party, start) in cases {
        let mut verdicts = verdicts(Violated, lease, Violated, NotApplicable);
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            let verdict = verdicts.get_mut(&property).unwrap();
            verdict.cause = cause.filter(|_| verdict.status == Violated);
        }
        let blame = Blame::from_verdicts(&verdicts);
        assert_eq!(blame.worst(), Some(party), "{lease} {cause:?}");
        let sentence = responsibility(&verdicts).unwrap();
        assert!(sentence.starts_with(start), "{lease} {cause:?}: {sentence}");
        let needs_fencing = sentence.contains("only fencing");
        assert_eq!(needs_fencing, party == Party::Client, "{sentence}");
    }
}

#[test]
fn damage_outside_of_the_lock_is_never_its_fault() {
    let parties = [
        (Cause::LateWrite, "the resource's: it accepted a late write"),
        (
            Cause::ReleasedBeforeCommit,
            "the application's: it released",
        ),
        (Cause::UncheckedWrite, "the application's: its failure path"),
        (Cause::StaleRead, "the resource's: its replica returned"),
    ];
    for (cause, party) in parties {
        for (exclusion, start) in [(Held, "Not the lock's: "), (Violated, "The client's: ")] {
            let mut verdicts = verdicts(exclusion, Held, Violated, NotApplicable);
            verdicts.insert(Property::Resource, verdict(Violated, Some(cause)));
            let sentence = responsibility(&verdicts).unwrap();
            assert!(sentence.starts_with(start), "{sentence}");
            assert!(sentence.contains(party), "{sentence}");
        }
    }
}

#[test]
fn worse_fault_of_another_property_is_mentioned() {
    let mut verdicts = verdicts(Violated, Held, Held, NotApplicable);
    verdicts.insert(
        Property::Ownership,
        verdict(Violated, Some(Cause::StolenRelease)),
    );
    assert_eq!(Blame::from_verdicts(&verdicts).worst(), Some(Party::Lock));
    let sentence = responsibility(&verdicts).unwrap();
    assert!(
        sentence.ends_with("In addition, violated by the lock itself: ownership."),
        "{sentence}"
    );
}

#[test]
fn no_verdicts_yield_no_sentence() {
    assert_eq!(responsibility(&Verdicts::new()), None);
}
