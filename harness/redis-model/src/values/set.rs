//! Sets, which are sorted while all members are integers and otherwise keep their insertion order.

use std::ops::Deref;

use indexmap::IndexSet;

use super::super::number::integer;

/// Maximum number of integers that a real server keeps sorted.
const MAX_SORTED: usize = 512;

/// Members of a set.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Set {
    members: IndexSet<Vec<u8>>,
    /// Whether all members have been integers so far, and the set has been small.
    integers: bool,
}

impl Default for Set {
    fn default() -> Self {
        Set {
            members: IndexSet::new(),
            integers: true,
        }
    }
}

impl Set {
    /// Adds a member. Returns `true` if it is new.
    pub(in super::super) fn add(&mut self, member: &[u8]) -> bool {
        if self.members.contains(member) {
            return false;
        }
        let number = integer(member);
        self.integers &= number.is_some() && self.members.len() < MAX_SORTED;
        match number {
            Some(number) if self.integers => {
                let place = self
                    .members
                    .binary_search_by_key(&Some(number), |other| integer(other))
                    .unwrap_or_else(|place| place);
                self.members.shift_insert(place, member.to_vec());
            }
            _ => {
                self.members.insert(member.to_vec());
            }
        }
        true
    }

    /// Removes a member. Returns `true` if it existed.
    pub(in super::super) fn remove(&mut self, member: &[u8]) -> bool {
        self.members.shift_remove(member)
    }
}

impl Deref for Set {
    type Target = IndexSet<Vec<u8>>;

    fn deref(&self) -> &IndexSet<Vec<u8>> {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_sorted_until_a_word_is_added() {
        let mut set = Set::default();
        for member in ["10", "9", "-1", "9"] {
            set.add(member.as_bytes());
        }
        let order = |set: &Set| -> Vec<String> {
            set.iter()
                .map(|member| String::from_utf8(member.clone()).unwrap())
                .collect()
        };
        assert_eq!(order(&set), ["-1", "9", "10"]);
        set.add(b"a");
        set.add(b"1");
        assert_eq!(order(&set), ["-1", "9", "10", "a", "1"]);
    }
}
