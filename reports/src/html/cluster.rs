//! Clusters: consecutive lane segments that are too short to see, drawn as one piece.
//!
//! Segments longer than the step stay separate, and so do segments that are part of a violation. A cluster
//! has the number of its holds and their total duration.

use crate::measures::meets;
use crate::worker_lanes::{Activity, Segment};

/// A part of a lane that the page draws as one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Segment(Segment),
    /// Several segments that are too short to see.
    Cluster(Cluster),
}

/// Several consecutive segments of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// The number of holds among the segments.
    pub(super) holds: u64,
    /// The total time that they held.
    pub(super) held_ns: u64,
    /// Whether a lease had expired in one of the segments.
    pub(super) past: bool,
}

impl Piece {
    /// Returns when the piece begins and ends.
    pub(super) fn span_ns(self) -> (u64, u64) {
        match self {
            Piece::Segment(segment) => (segment.from_ns, segment.to_ns),
            Piece::Cluster(cluster) => (cluster.from_ns, cluster.to_ns),
        }
    }
}

/// Groups neighbours that together are not longer than `step_ns`. An element that is at least that long
/// itself stays separate, and so does an element that touches one of the `exact` spans, which are disjoint
/// and ordered by time.
pub(super) fn grouped<'a, T>(
    all: &'a [T],
    step_ns: u64,
    exact: &[(u64, u64)],
    span: impl Fn(&T) -> (u64, u64),
) -> Vec<&'a [T]> {
    let stays_alone = |one: &T| {
        let (from_ns, to_ns) = span(one);
        to_ns.saturating_sub(from_ns) >= step_ns || meets(exact, from_ns, to_ns)
    };
    let (mut groups, mut rest) = (Vec::new(), all);
    while let Some(first) = rest.first() {
        let from_ns = span(first).0;
        let fits = |one: &&T| !stays_alone(one) && span(one).1.saturating_sub(from_ns) <= step_ns;
        let more = if stays_alone(first) {
            0
        } else {
            rest[1..].iter().take_while(fits).count()
        };
        let (group, after) = rest.split_at(1 + more);
        groups.push(group);
        rest = after;
    }
    groups
}

/// Returns the pieces of one lane; see [`grouped`].
pub(super) fn clustered(segments: &[Segment], step_ns: u64, exact: &[(u64, u64)]) -> Vec<Piece> {
    let groups = grouped(segments, step_ns, exact, |it| (it.from_ns, it.to_ns));
    groups.into_iter().filter_map(piece).collect()
}

fn piece(group: &[Segment]) -> Option<Piece> {
    let (first, last) = (group.first()?, group.last()?);
    if last.to_ns == first.to_ns {
        return Some(Piece::Segment(*first));
    }
    let holds = || group.iter().filter(|segment| segment.activity.holds());
    Some(Piece::Cluster(Cluster {
        from_ns: first.from_ns,
        to_ns: last.to_ns,
        holds: holds().count() as u64,
        held_ns: holds().map(|hold| hold.to_ns - hold.from_ns).sum(),
        past: holds().any(|hold| hold.activity == Activity::PastLease),
    }))
}

/// Returns the pieces of each lane with the smallest step for clustering that yields at most `max` pieces.
/// The step is 0 if nothing is clustered.
pub(super) fn fitting<T>(
    end_ns: u64,
    max: usize,
    at_step: impl Fn(u64) -> Vec<Vec<T>>,
) -> (Vec<Vec<T>>, u64) {
    let mut step_ns = 0;
    loop {
        let pieces = at_step(step_ns);
        let count: usize = pieces.iter().map(Vec::len).sum();
        // Beyond the length of the run, a larger step merges nothing more.
        if count <= max || step_ns > end_ns {
            return (pieces, step_ns);
        }
        step_ns = match step_ns {
            0 => end_ns / 1_000_000 + 1,
            _ => step_ns.saturating_mul(2),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(from_ns: u64, to_ns: u64, activity: Activity) -> Segment {
        Segment {
            from_ns,
            to_ns,
            op: from_ns,
            key: 0,
            activity,
        }
    }

    fn lane() -> Vec<Segment> {
        vec![
            segment(0, 2, Activity::Waiting),
            segment(2, 5, Activity::InLease),
            segment(5, 6, Activity::PastLease),
            segment(8, 30, Activity::InLease),
            segment(31, 32, Activity::Waiting),
            segment(33, 34, Activity::InLease),
        ]
    }

    #[test]
    fn short_segments_are_clustered_and_long_ones_are_not() {
        let pieces = clustered(&lane(), 10, &[]);
        let [
            Piece::Cluster(first),
            Piece::Segment(long),
            Piece::Cluster(last),
        ] = pieces[..]
        else {
            panic!("{pieces:?}");
        };
        assert_eq!((first.from_ns, first.to_ns), (0, 6));
        assert_eq!((first.holds, first.held_ns, first.past), (2, 4, true));
        assert_eq!((long.from_ns, long.to_ns), (8, 30));
        assert_eq!((last.holds, last.held_ns, last.past), (1, 1, false));
    }

    #[test]
    fn segments_of_a_violation_are_not_clustered() {
        let pieces = clustered(&lane(), 10, &[(5, 5), (33, 40)]);
        let exact = pieces.iter().filter(|p| matches!(p, Piece::Segment(_)));
        // The two segments that touch 5, the long one, the two that touch 33 to 40, and the one left alone.
        assert_eq!(exact.count(), 6);
    }

    #[test]
    fn step_of_zero_clusters_nothing() {
        let pieces = clustered(&lane(), 0, &[]);
        let same: Vec<Piece> = lane().into_iter().map(Piece::Segment).collect();
        assert_eq!(pieces, same);
    }
}
