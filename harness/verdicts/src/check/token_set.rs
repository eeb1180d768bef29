//! A set of fencing tokens, for a counter.

use std::collections::BTreeMap;

/// The tokens of a key that have been granted. Tokens in sequence are kept as one range, so the set
/// of a counter that counts stays small.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenSet {
    /// First and last token of each range. Ranges do not touch.
    ranges: BTreeMap<u64, u64>,
}

impl TokenSet {
    /// Adds a token. False if it was there already.
    pub(super) fn insert(&mut self, token: u64) -> bool {
        let before = self.ranges.range(..=token).next_back();
        let before = before.map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| last >= token) {
            return false;
        }
        let next = token.checked_add(1);
        let last = next.and_then(|next| self.ranges.remove(&next));
        let first = match before {
            Some((first, last)) if last.checked_add(1) == Some(token) => first,
            _ => token,
        };
        self.ranges.insert(first, last.unwrap_or(token));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_counter_is_one_range() {
        let mut set = TokenSet::default();
        for token in [1, 2, 4, 3, u64::MAX, u64::MAX - 1, 0] {
            assert!(set.insert(token));
            assert!(!set.insert(token));
        }
        assert_eq!(
            set.ranges,
            BTreeMap::from([(0, 4), (u64::MAX - 1, u64::MAX)])
        );
    }

    proptest! {
        #[test]
        fn it_is_a_set(tokens in proptest::collection::vec(0..20_u64, 0..40)) {
            let (mut set, mut known) = (TokenSet::default(), BTreeSet::new());
            for token in tokens {
                prop_assert_eq!(set.insert(token), known.insert(token));
            }
        }
    }
}
