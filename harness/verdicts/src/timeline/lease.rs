//! The periods in which the lease of a hold ran.

use smallvec::SmallVec;

/// A period in which a lease ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When the grant or the extension arrived.
    pub from_ns: u64,
    /// The deadline, or the end of the hold. Never earlier than `from_ns`; equal to it if the hold has no length.
    pub until_ns: u64,
}

/// Periods in chronological order. Most holds have one, which needs no allocation.
pub type Leases = SmallVec<[Lease; 1]>;

/// Returns `true` if two periods, each given as `(from, to)`, overlap.
///
/// Periods that only touch do not overlap, because equal times prove no order. A period of zero length strictly inside
/// another period overlaps it, because work that takes no time in the simulation takes a microsecond on a server.
pub fn overlap((from_ns, until_ns): (u64, u64), other: (u64, u64)) -> bool {
    from_ns < other.1 && other.0 < until_ns
}

impl Lease {
    /// Returns `true` if the leases overlap; see [`overlap`].
    pub fn overlaps(self, other: Lease) -> bool {
        overlap(self.span(), other.span())
    }

    /// Returns the start and the end.
    pub fn span(self) -> (u64, u64) {
        (self.from_ns, self.until_ns)
    }

    /// Returns the lease of a grant that arrived at `at_ns`. The list is empty if the lease had expired by then.
    pub(super) fn started(at_ns: u64, deadline_ns: u64) -> Leases {
        let lease = (deadline_ns > at_ns).then_some(Lease {
            from_ns: at_ns,
            until_ns: deadline_ns,
        });
        lease.into_iter().collect()
    }

    /// Applies a report that was written at `report_window_ns` and arrived at `at_ns`: the lease ends at
    /// `deadline_ns`. This can be earlier than the previous deadline, and even earlier than now. A lease that had
    /// expired when the report was written starts again when the report arrives.
    pub(super) fn moved(leases: &mut Leases, report_window_ns: u64, at_ns: u64, deadline_ns: u64) {
        while leases.last().is_some_and(|last| last.from_ns > deadline_ns) {
            leases.pop();
        }
        match leases.last_mut() {
            Some(last) if last.until_ns > report_window_ns || last.until_ns > deadline_ns => {
                last.until_ns = deadline_ns;
            }
            _ => leases.extend(Lease::started(at_ns, deadline_ns)),
        }
    }

    /// Returns the start of the earliest overlap between periods of two holds. Both lists must be in chronological
    /// order.
    pub(crate) fn shared_since_ns(mine: &[Lease], theirs: &[Lease]) -> Option<u64> {
        let mut since_ns: Option<u64> = None;
        Lease::each_shared(mine, theirs, |part| {
            since_ns = Some(since_ns.map_or(part.from_ns, |since_ns| since_ns.min(part.from_ns)));
        });
        since_ns
    }

    /// Calls `on_part` with every overlap between a period of one hold and one of another. Both lists must be in
    /// chronological order.
    pub(crate) fn each_shared(mine: &[Lease], theirs: &[Lease], mut on_part: impl FnMut(Lease)) {
        let (few, many) = if mine.len() < theirs.len() {
            (mine, theirs)
        } else {
            (theirs, mine)
        };
        for one in few {
            let next = many.partition_point(|other| other.until_ns <= one.from_ns);
            let met = many[next..]
                .iter()
                .take_while(|other| other.from_ns < one.until_ns);
            for other in met.filter(|other| one.overlaps(**other)) {
                on_part(Lease {
                    from_ns: one.from_ns.max(other.from_ns),
                    until_ns: one.until_ns.min(other.until_ns),
                });
            }
        }
    }
}
