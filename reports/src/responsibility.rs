//! Who is responsible for a violation: from exclusion, lease and resource together.
//!
//! Each of the three alone is easily misread. An overlap of two holds says nothing about the lock
//! if one of the clients stayed longer than its lease allowed.

use picklock_verdicts::check::{Cause, Property, Responsible, Status, Verdicts};

/// Who is responsible, in one or two sentences; `None` if no violation can be explained by these
/// three properties.
pub fn responsibility(verdicts: &Verdicts) -> Option<String> {
    let status = |property| status(verdicts, property);
    let whose = match (status(Property::Exclusion), status(Property::Lease)) {
        (_, Some(Status::Violated)) => service(verdicts).to_owned(),
        (Some(Status::Violated), _) if is_clients(verdicts) => client(verdicts),
        (Some(Status::Violated), _) => match responsible(verdicts, Property::Exclusion) {
            Responsible::Lock => "The lock's: its own commands let two clients in together.",
            _ => {
                "Two clients were inside together, but whether the lock or the client is at fault \
                 could not be decided."
            }
        }
        .to_owned(),
        (Some(Status::Held), _) if status(Property::Resource) == Some(Status::Violated) => {
            let outside = outside(verdicts).map_or_else(
                || "Look at what was done outside of any hold.".to_owned(),
                |(party, did)| format!("It is {party}: {did}."),
            );
            return Some(format!(
                "Not the lock's: no two holds overlapped, and yet the stock does not add up. {outside}"
            ));
        }
        _ => return None,
    };
    let words = format!("{whose} {}", damage(verdicts));
    Some(words.trim_end().to_owned())
}

fn status(verdicts: &Verdicts, property: Property) -> Option<Status> {
    verdicts.get(&property).map(|verdict| verdict.status)
}

/// Who is responsible for a violation of `property`, by its cause.
fn responsible(verdicts: &Verdicts, property: Property) -> Responsible {
    let cause = verdicts.get(&property).and_then(|verdict| verdict.cause);
    cause.map_or(Responsible::Undetermined, Cause::responsible)
}

fn service(verdicts: &Verdicts) -> &'static str {
    match responsible(verdicts, Property::Lease) {
        Responsible::Lock => {
            "The lock's: two clients had a running lease at once, and its own commands made that \
             possible."
        }
        Responsible::Redis => {
            "The lock's and its Redis's: Redis forgot the lock while a lease was running, and the \
             lock trusted it not to."
        }
        _ => "The lock or its Redis broke its word: two clients had a running lease at once.",
    }
}

fn client(verdicts: &Verdicts) -> String {
    let did = match responsible(verdicts, Property::Exclusion) {
        Responsible::Client(did) => did,
        _ => "it kept working after its lease had expired",
    };
    format!("The client's: {did}. The service kept its word.")
}

/// Who spoilt the stock, whatever the lock did, and how; `None`: nobody did.
fn outside(verdicts: &Verdicts) -> Option<(&'static str, &'static str)> {
    match responsible(verdicts, Property::Resource) {
        Responsible::Application(did) => Some(("the application's", did)),
        Responsible::Resource(did) => Some(("the resource's", did)),
        _ => None,
    }
}

/// True if the client alone is responsible for two that were inside together.
fn is_clients(verdicts: &Verdicts) -> bool {
    let is_locks = responsible(verdicts, Property::Exclusion) == Responsible::Lock;
    status(verdicts, Property::Lease) == Some(Status::Held) && !is_locks
}

/// The damage, and what prevented more.
fn damage(verdicts: &Verdicts) -> String {
    if let Some((party, did)) = outside(verdicts) {
        return format!("The harm to the stock is {party}: {did}.");
    }
    let fencing = status(verdicts, Property::Fencing);
    let has_tokens = matches!(fencing, Some(Status::Held | Status::Violated));
    let words = match status(verdicts, Property::Resource) {
        Some(Status::Violated) if has_tokens => {
            "The stock was harmed although there are fencing tokens."
        }
        Some(Status::Violated) if is_clients(verdicts) => {
            "The stock was harmed: only fencing would have prevented it."
        }
        // A lock that kept its word would have prevented it, too.
        Some(Status::Violated) => "The stock was harmed.",
        Some(Status::Held) if has_tokens => "Fencing did its work: the stock came to no harm.",
        Some(Status::Held) => "The stock came to no harm this time, but nothing stood in the way.",
        _ => "",
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::check::Verdict;

    use super::*;

    fn verdicts(exclusion: Status, lease: Status, resource: Status, fencing: Status) -> Verdicts {
        let of = |status| Verdict {
            status,
            ..Verdict::held()
        };
        Verdicts::from([
            (Property::Exclusion, of(exclusion)),
            (Property::Lease, of(lease)),
            (Property::Resource, of(resource)),
            (Property::Fencing, of(fencing)),
        ])
    }

    #[test]
    fn the_three_together_tell_whose_fault_it_is() {
        use Status::{Held, NotApplicable, Unknown, Violated};
        let cases = [
            ((Held, Held, Held, NotApplicable), None),
            ((Unknown, Unknown, Held, NotApplicable), None),
            (
                (Violated, Held, Violated, NotApplicable),
                Some(
                    "The client's: it kept working after its lease had expired. The service \
                     kept its word. The stock was harmed: only fencing would have prevented it.",
                ),
            ),
            (
                (Violated, Held, Held, Held),
                Some(
                    "The client's: it kept working after its lease had expired. The service \
                     kept its word. Fencing did its work: the stock came to no harm.",
                ),
            ),
            (
                (Violated, Violated, Unknown, NotApplicable),
                Some(
                    "The lock or its Redis broke its word: two clients had a running lease at once.",
                ),
            ),
            (
                (Violated, Unknown, Unknown, NotApplicable),
                Some(
                    "Two clients were inside together, but whether the lock or the client is at \
                     fault could not be decided.",
                ),
            ),
            (
                (Held, Held, Violated, NotApplicable),
                Some(
                    "Not the lock's: no two holds overlapped, and yet the stock does not add up. \
                     Look at what was done outside of any hold.",
                ),
            ),
        ];
        for ((exclusion, lease, resource, fencing), sentence) in cases {
            let said = responsibility(&verdicts(exclusion, lease, resource, fencing));
            assert_eq!(said.as_deref(), sentence, "{exclusion} {lease} {resource}");
        }
    }

    /// Whatever the leases show: a lock whose own command let two in cannot point at its client.
    #[test]
    fn a_proven_cause_says_whose_fault_it_is() {
        for lease in [Status::Held, Status::Unknown] {
            let harmed = Status::Violated;
            let mut verdicts = verdicts(Status::Violated, lease, harmed, Status::NotApplicable);
            let exclusion = verdicts.get_mut(&Property::Exclusion).unwrap();
            exclusion.cause = Some(Cause::StolenRelease);
            let said = responsibility(&verdicts).unwrap();
            assert!(said.starts_with("The lock's: its own commands"), "{said}");
            // Such a lock needs no fencing, but a mend.
            assert!(said.ends_with("The stock was harmed."), "{said}");
        }
    }

    #[test]
    fn what_is_spoilt_outside_of_a_right_lock_is_never_the_locks() {
        use Status::{Held, NotApplicable, Violated};
        let of = |cause, exclusion| {
            let mut verdicts = verdicts(exclusion, Held, Violated, NotApplicable);
            verdicts.get_mut(&Property::Resource).unwrap().cause = Some(cause);
            responsibility(&verdicts).unwrap()
        };
        let parties = [
            (Cause::LateWrite, "the resource's: it took a write"),
            (
                Cause::ReleasedBeforeCommit,
                "the application's: it released",
            ),
            (Cause::UncheckedWrite, "the application's: its failure path"),
            (Cause::StaleRead, "the resource's: its replica"),
        ];
        for (cause, party) in parties {
            let said = of(cause, Held);
            assert!(said.starts_with("Not the lock's: "), "{said}");
            assert!(said.contains(party), "{said}");
            let said = of(cause, Violated);
            assert!(said.starts_with("The client's: "), "{said}");
            assert!(said.contains(party), "{said}");
        }
    }

    #[test]
    fn without_verdicts_nothing_is_said() {
        assert_eq!(responsibility(&Verdicts::new()), None);
    }
}
