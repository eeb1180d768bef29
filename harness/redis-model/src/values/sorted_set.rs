//! Sorted sets. Members are ordered by score, and members with equal scores by their bytes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::super::number::double;

/// Members with scores.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct SortedSet {
    scores: BTreeMap<Vec<u8>, f64>,
    order: BTreeSet<Entry>,
}

/// The sort key of a member. The score is never −0 and never NaN, because a command that would result in NaN is
/// refused.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    score: f64,
    member: Vec<u8>,
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| self.member.cmp(&other.member))
    }
}

impl SortedSet {
    pub(in super::super) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Sets a member's score.
    pub(in super::super) fn set(&mut self, member: &[u8], score: f64) {
        // Real servers store whole scores as integers, which have no -0.
        let score = if score == 0.0 { 0.0 } else { score };
        self.remove(member);
        self.scores.insert(member.to_vec(), score);
        self.order.insert(Entry {
            score,
            member: member.to_vec(),
        });
    }

    /// Removes a member. Returns `true` if it existed.
    pub(in super::super) fn remove(&mut self, member: &[u8]) -> bool {
        let Some((member, score)) = self.scores.remove_entry(member) else {
            return false;
        };
        self.order.remove(&Entry { score, member });
        true
    }

    pub(in super::super) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// Iterates over members with scores, lowest first.
    pub(in super::super) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&[u8], f64)> + ExactSizeIterator {
        self.order
            .iter()
            .map(|place| (place.member.as_slice(), place.score))
    }
}

/// One end of a range of scores, such as `5`, `(5` or `-inf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Bound {
    value: f64,
    exclusive: bool,
}

impl Bound {
    /// Parses one end of a range.
    pub(in super::super) fn read(text: &[u8]) -> Option<Bound> {
        let (exclusive, number) = match text {
            [b'(', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let value = double(number)?;
        Some(Bound { value, exclusive })
    }

    /// Returns `true` if the bound, as a lower end, includes the score.
    pub(in super::super) fn allows_above(&self, score: f64) -> bool {
        score > self.value || (!self.exclusive && score == self.value)
    }

    /// Returns `true` if the bound, as an upper end, includes the score.
    pub(in super::super) fn allows_below(&self, score: f64) -> bool {
        score < self.value || (!self.exclusive && score == self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_score_then_by_bytes() {
        let mut set = SortedSet::default();
        for (member, score) in [("b", 1.0), ("a", 1.0), ("c", -1.0), ("c", 5.0)] {
            set.set(member.as_bytes(), score);
        }
        let order: Vec<&[u8]> = set.iter().map(|(member, _)| member).collect();
        assert_eq!(order, [b"a", b"b", b"c"]);
        assert!(set.remove(b"a"));
        assert_eq!(set.len(), 2);
    }
}
