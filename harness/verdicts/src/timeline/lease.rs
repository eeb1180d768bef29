//! The stretches of time in which the lease of a hold ran.

/// A stretch of time in which a lease ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// From the grant's arrival, or the extension's.
    pub from_ns: u64,
    /// Until the deadline, or the end of the hold. Never earlier than `from_ns`; equal to it if the
    /// hold had no length.
    pub until_ns: u64,
}

/// True if two stretches of time, each from and to, overlap.
///
/// Stretches that only touch do not: equal times prove no order. One without length strictly inside
/// the other one does, because what takes no time in the simulation takes a microsecond on a server.
pub fn overlap((from_ns, until_ns): (u64, u64), other: (u64, u64)) -> bool {
    from_ns < other.1 && other.0 < until_ns
}

impl Lease {
    /// See [`overlap`].
    pub fn overlaps(self, other: Lease) -> bool {
        overlap(self.span(), other.span())
    }

    /// From and to.
    pub fn span(self) -> (u64, u64) {
        (self.from_ns, self.until_ns)
    }

    /// The lease of a grant that arrived at `at_ns`. None if it had expired by then.
    pub(super) fn started(at_ns: u64, deadline_ns: u64) -> Vec<Lease> {
        let lease = (deadline_ns > at_ns).then_some(Lease {
            from_ns: at_ns,
            until_ns: deadline_ns,
        });
        lease.into_iter().collect()
    }

    /// A report of `report_window_ns` arrived at `at_ns`: the lease ends at `deadline_ns`. That may be earlier
    /// than was said before, even earlier than now. A lease that had expired when the report was made
    /// starts again when it arrives.
    pub(super) fn moved(
        leases: &mut Vec<Lease>,
        report_window_ns: u64,
        at_ns: u64,
        deadline_ns: u64,
    ) {
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

    /// How many stretches of two holds overlap, and since when the first pair does.
    pub(crate) fn shared(mine: &[Lease], theirs: &[Lease]) -> (u64, Option<u64>) {
        let (mut count, mut since_ns) = (0, None);
        for one in mine {
            for other in theirs.iter().filter(|other| one.overlaps(**other)) {
                count += 1;
                let onset_ns = one.from_ns.max(other.from_ns);
                since_ns = Some(since_ns.map_or(onset_ns, |since: u64| since.min(onset_ns)));
            }
        }
        (count, since_ns)
    }
}
