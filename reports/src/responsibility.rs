//! Decides who is at fault for violations. Every report takes its answer from [`Blame`].
//!
//! Exclusion, lease and resource are easily misread one by one. An overlap of two holds proves nothing against the
//! lock if one of the clients kept working after its lease.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Cause, Property, Responsible, Status, Verdicts};
use picklock_verdicts::record::Cell;

/// The party at fault for a violation, least severe for the lock first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// The application around the lock, or the resource.
    Outside,
    /// A client.
    Client,
    /// Redis, which lost the lock, and the lock, which relied on it.
    Redis,
    /// The history does not show who is at fault.
    Undetermined,
    /// The lock, by its own commands.
    Lock,
}

/// The violations of a run or a cell, and the verdicts that decide who is at fault for them.
#[derive(Debug, Clone, Default)]
pub struct Blame {
    statuses: BTreeMap<Property, Status>,
    causes: BTreeMap<Property, Vec<Cause>>,
}

impl Blame {
    /// Creates the blame for one run.
    pub fn from_verdicts(verdicts: &Verdicts) -> Blame {
        let causes = |cause: Option<Cause>| Vec::from_iter(cause);
        Blame {
            statuses: verdicts
                .iter()
                .map(|(property, it)| (*property, it.status))
                .collect(),
            causes: verdicts
                .iter()
                .map(|(property, it)| (*property, causes(it.cause)))
                .collect(),
        }
    }

    /// Creates the blame for all runs of a cell.
    pub fn from_cell(cell: &Cell) -> Blame {
        let mut blame = Blame::default();
        for (property, tally) in &cell.tally {
            let status = match (tally.violated, tally.held, tally.unknown) {
                (1.., _, _) => Status::Violated,
                (0, 1.., _) => Status::Held,
                (0, 0, 1..) => Status::Unknown,
                (0, 0, 0) => Status::NotApplicable,
            };
            let causes = tally.causes.keys().copied();
            blame.statuses.insert(*property, status);
            blame.causes.insert(*property, causes.collect());
        }
        blame
    }

    /// Returns the worst party at fault for all violations, or `None` if no property was violated.
    pub fn worst(&self) -> Option<Party> {
        Property::ALL
            .into_iter()
            .filter_map(|property| self.party(property))
            .max()
    }

    /// Returns the worst party at fault for the violations of `property`, or `None` if it was not violated.
    pub fn party(&self, property: Property) -> Option<Party> {
        if !self.is(property, Status::Violated) {
            return None;
        }
        let causes = self.causes.get(&property).into_iter().flatten();
        let worst = causes
            .map(|cause| self.attribute(property, cause.responsible()))
            .max();
        Some(worst.unwrap_or_else(|| self.attribute(property, Responsible::Undetermined)))
    }

    /// Returns true if only exclusion or the lease was violated, not by the lock itself, and fencing protected the
    /// stock.
    pub fn is_fenced(&self) -> bool {
        let mut violated = Property::ALL
            .into_iter()
            .filter(|it| self.is(*it, Status::Violated));
        self.worst().is_some_and(|party| party <= Party::Redis)
            && violated.all(|it| matches!(it, Property::Exclusion | Property::Lease))
            && self.is(Property::Fencing, Status::Held)
            && self.is(Property::Resource, Status::Held)
    }

    fn is(&self, property: Property, status: Status) -> bool {
        self.statuses.get(&property) == Some(&status)
    }

    /// Decides whose fault a violation of `property` is. `responsible` is the party that its cause names.
    ///
    /// If holds overlapped although no lease did, a client outlived its lease, even if Redis has lost the value since.
    /// If the lease is unknown, the client and Redis cannot be distinguished.
    fn attribute(&self, property: Property, responsible: Responsible) -> Party {
        let is_overlap = property == Property::Exclusion
            || property == Property::Resource && self.is(Property::Exclusion, Status::Violated);
        match responsible {
            Responsible::Lock => Party::Lock,
            Responsible::Client(_) => Party::Client,
            Responsible::Application(_) | Responsible::Resource(_) => Party::Outside,
            Responsible::Redis | Responsible::Undetermined
                if is_overlap && self.is(Property::Lease, Status::Held) =>
            {
                Party::Client
            }
            Responsible::Redis | Responsible::Undetermined
                if property == Property::Resource && self.is(Property::Exclusion, Status::Held) =>
            {
                Party::Outside
            }
            Responsible::Redis if !is_overlap || self.is(Property::Lease, Status::Violated) => {
                Party::Redis
            }
            Responsible::Redis | Responsible::Undetermined => Party::Undetermined,
        }
    }

    /// Returns true if all violations of exclusion come from losses that the lock reported late.
    fn is_late_report(&self) -> bool {
        let causes = self.causes.get(&Property::Exclusion);
        causes.is_some_and(|causes| {
            !causes.is_empty() && causes.iter().all(|it| *it == Cause::LateLossReport)
        })
    }

    fn responsible(&self, property: Property) -> Responsible {
        let cause = self.causes.get(&property).and_then(|causes| causes.first());
        cause.map_or(Responsible::Undetermined, |cause| cause.responsible())
    }
}

/// Returns who is at fault in a few sentences, or `None` if exclusion, lease and resource do not decide it.
pub fn responsibility(verdicts: &Verdicts) -> Option<String> {
    let blame = Blame::from_verdicts(verdicts);
    let (party, fault) = if let Some(party) = blame.party(Property::Lease) {
        (party, lease_fault(party).to_owned())
    } else if let Some(party) = blame.party(Property::Exclusion) {
        (party, exclusion_fault(&blame, party))
    } else if blame.is(Property::Exclusion, Status::Held) {
        (blame.party(Property::Resource)?, outside_fault(&blame))
    } else {
        return None;
    };
    let mut sentences = vec![fault];
    if !blame.is(Property::Exclusion, Status::Held) || blame.is(Property::Lease, Status::Violated) {
        sentences.extend(damage(&blame));
    }
    let worse = Property::ALL
        .into_iter()
        .filter(|it| blame.party(*it) > Some(party));
    let worse: Vec<&str> = worse.map(Property::as_str).collect();
    if let (false, Some(worst)) = (worse.is_empty(), blame.worst()) {
        let (worse, by) = (worse.join(", "), describe(worst));
        sentences.push(format!("In addition, violated {by}: {worse}."));
    }
    Some(sentences.join(" "))
}

fn describe(party: Party) -> &'static str {
    match party {
        Party::Outside => "outside of the lock",
        Party::Client => "by a client",
        Party::Redis => "by Redis",
        Party::Undetermined => "by an unknown party",
        Party::Lock => "by the lock itself",
    }
}

fn lease_fault(party: Party) -> &'static str {
    match party {
        Party::Lock => {
            "The lock's: two clients had a running lease at once, and its own commands made that \
             possible."
        }
        Party::Redis => {
            "The lock's and its Redis's: Redis lost the lock while a lease was running, and the \
             lock relied on it."
        }
        _ => "The lock or its Redis broke its promise: two clients had a running lease at once.",
    }
}

fn exclusion_fault(blame: &Blame, party: Party) -> String {
    match party {
        Party::Client => {
            let action = match blame.responsible(Property::Exclusion) {
                Responsible::Client(action) => action,
                _ => "it kept working after its lease had expired",
            };
            let promise = if blame.is(Property::Lease, Status::Held) {
                " The lock kept its promise."
            } else {
                ""
            };
            format!("The client's: {action}.{promise}")
        }
        Party::Lock if blame.is_late_report() => {
            "The lock's: it reported the loss only after another client had the lock.".to_owned()
        }
        Party::Lock => "The lock's: its own commands let two clients hold it at once.".to_owned(),
        _ => "Two clients held the lock at once, but whether the lock or the client is at fault \
              is unknown."
            .to_owned(),
    }
}

fn outside_fault(blame: &Blame) -> String {
    let origin = outside(blame).map_or_else(
        || "Check what happened outside of any hold.".to_owned(),
        |(party, action)| format!("It is {party}: {action}."),
    );
    format!("Not the lock's: no two holds overlapped, but the stock does not add up. {origin}")
}

/// Returns who damaged the stock regardless of the lock, and how, or `None` if no one did.
fn outside(blame: &Blame) -> Option<(&'static str, &'static str)> {
    match blame.responsible(Property::Resource) {
        Responsible::Application(action) => Some(("the application's", action)),
        Responsible::Resource(action) => Some(("the resource's", action)),
        _ => None,
    }
}

/// Returns a sentence about the damage and about what prevented it, or `None` if the resource was not judged.
fn damage(blame: &Blame) -> Option<String> {
    if let Some((party, action)) = outside(blame) {
        return Some(format!("The damage to the stock is {party}: {action}."));
    }
    let has_tokens = [Status::Held, Status::Violated]
        .iter()
        .any(|it| blame.is(Property::Fencing, *it));
    let is_damaged = blame.is(Property::Resource, Status::Violated);
    let sentence = if is_damaged && has_tokens {
        "The stock was damaged although there are fencing tokens."
    } else if is_damaged && blame.worst() == Some(Party::Client) {
        "The stock was damaged: only fencing would have prevented it."
    } else if is_damaged {
        // A lock that keeps its promise would have prevented it, too.
        "The stock was damaged."
    } else if !blame.is(Property::Resource, Status::Held) {
        return None;
    } else if has_tokens {
        "Fencing did its work: the stock was not damaged."
    } else {
        "The stock was not damaged this time, but nothing would have prevented it."
    };
    Some(sentence.to_owned())
}

#[cfg(test)]
mod tests;
