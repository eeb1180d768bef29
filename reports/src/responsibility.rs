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
    /// Redis, which lost the key, and the lock, which relied on Redis.
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

    /// Returns `true` if only exclusion or the lease was violated, not by the lock itself, and fencing protected the
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

    /// Returns `true` if `property` has this status.
    pub(crate) fn is(&self, property: Property, status: Status) -> bool {
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
}

impl Party {
    /// Returns the party that a cause names, regardless of other violations.
    pub(crate) fn from_cause(cause: Cause) -> Party {
        match cause.responsible() {
            Responsible::Lock => Party::Lock,
            Responsible::Client(_) => Party::Client,
            Responsible::Redis => Party::Redis,
            Responsible::Application(_) | Responsible::Resource(_) => Party::Outside,
            Responsible::Undetermined => Party::Undetermined,
        }
    }

    /// Returns the sign of a violation for which the party is at fault.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Party::Lock => Status::Violated.sign(),
            Party::Redis => "R",
            Party::Client => "C",
            Party::Outside => "A",
            Party::Undetermined => "U",
        }
    }

    /// Names the party at fault in a few words.
    pub fn fault(self) -> &'static str {
        match self {
            Party::Outside => "the application's fault",
            Party::Client => "the client's fault",
            Party::Redis => "Redis lost the lock",
            Party::Undetermined => "fault unknown",
            Party::Lock => "the lock's fault",
        }
    }
}

#[cfg(test)]
mod tests;
