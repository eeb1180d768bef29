//! Sorted sets: members by score, equal scores by bytes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::super::number::lenient_double;
use super::super::reply::Refusal;

/// Members with scores.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct SortedSet {
    scores: BTreeMap<Vec<u8>, f64>,
    order: BTreeSet<Entry>,
    /// -0 is stored as such.
    keeps_minus_zero: bool,
}

/// A member's position. Scores are never NaN: a command that would produce one is refused.
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
        // -0 and 0 are the same score, so the total order of the bits would be wrong.
        self.score
            .partial_cmp(&other.score)
            .unwrap_or(Ordering::Equal)
            .then_with(|| self.member.cmp(&other.member))
    }
}

impl SortedSet {
    /// An empty one, in which -0 stays what it is, as in Redis 6.2: a small sorted set stores the text of its
    /// scores there. Since 7.0 it stores whole scores as integers, among which there is no -0.
    pub(in super::super) fn with_minus_zero() -> Self {
        SortedSet {
            keeps_minus_zero: true,
            ..SortedSet::default()
        }
    }

    pub(in super::super) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Sets a member's score.
    pub(in super::super) fn set(&mut self, member: &[u8], score: f64) {
        let score = if score == 0.0 && !self.keeps_minus_zero {
            0.0
        } else {
            score
        };
        self.remove(member);
        self.scores.insert(member.to_vec(), score);
        self.order.insert(Entry {
            score,
            member: member.to_vec(),
        });
    }

    /// Removes a member. True if it existed.
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

    /// How many members are before this one.
    pub(in super::super) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.scores.get(member)?;
        self.iter().position(|(other, _)| other == member)
    }

    /// Members with scores, lowest first.
    pub(in super::super) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&[u8], f64)> + ExactSizeIterator {
        self.order
            .iter()
            .map(|place| (place.member.as_slice(), place.score))
    }
}

/// One end of a score range: `5`, `(5`, `-inf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Bound {
    value: f64,
    exclusive: bool,
}

impl Bound {
    /// Parses it. `lenient`: blanks may stand before the number, and it may be hexadecimal.
    pub(in super::super) fn read(text: &[u8], lenient: bool) -> Result<Bound, Refusal> {
        let (exclusive, number) = match text {
            [b'(', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let blank = number.first().is_some_and(u8::is_ascii_whitespace);
        // It is a C string.
        let mut digits = number.iter().take_while(|byte| **byte != 0);
        let hexadecimal = digits.any(|byte| matches!(byte, b'x' | b'X'));
        let refused = !lenient && (blank || hexadecimal);
        let value = lenient_double(number).filter(|_| !refused);
        let value = value.ok_or(Refusal::fixed("ERR min or max is not a float"))?;
        Ok(Bound { value, exclusive })
    }

    /// As a lower end.
    pub(in super::super) fn allows_above(&self, score: f64) -> bool {
        score > self.value || (!self.exclusive && score == self.value)
    }

    /// As an upper end.
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
        assert_eq!(set.rank(b"c"), Some(2));
        assert!(set.remove(b"a"));
        assert_eq!(set.len(), 2);
    }
}
