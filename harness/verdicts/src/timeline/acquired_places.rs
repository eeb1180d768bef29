//! The values with which an attempt took a lock, and which of them its grant rests on.
//!
//! An attempt may try more than once before it is granted the lock. Each try writes its own values, and a value of an
//! earlier try may still be there, or may have expired. The grant rests on the values of the try that was granted:
//!
//! - If some value names the token of the grant, only the values that name it count.
//! - A value that had expired when the attempt wrote its last value belongs to an earlier try.

use std::sync::Arc;

use crate::history::KeyName;

use super::token::{is_distinctive, names_token};

/// The values that an attempt wrote in order to acquire: the last one in each key of each node.
#[derive(Debug, Clone, Default)]
pub struct AcquiredPlaces {
    places: Vec<AcquiredPlace>,
    /// Whether the history has a key history. Without one, no checker needs the token.
    key_history: bool,
    /// The token of the grant. Kept only if no value backs the grant, or if a value is a collection, which may have
    /// elements of several clients.
    token: Option<Box<str>>,
    /// Whether a value of the attempt names the token of the grant.
    is_token_written: bool,
    /// Whether that token is too long to occur in a value by chance.
    is_token_distinctive: bool,
}

/// A value that an attempt wrote to a key of a node.
#[derive(Debug, Clone)]
pub(super) struct AcquiredPlace {
    node: usize,
    key: KeyName,
    value: Arc<str>,
    /// The earliest time at which the value may first have been written.
    not_before_ns: u64,
    /// When the last write of the value was observed.
    written_ns: u64,
    /// When it expires, unless its node's clock is set.
    expires_ns: u64,
    /// Whether the grant can rest on the value. Always `true` before the grant.
    is_granted: bool,
}

impl AcquiredPlace {
    /// Creates the record of a value that was written between the two times and lives for `life_ns`.
    pub(super) fn new(
        (node, key, value): (usize, &KeyName, &Arc<str>),
        (not_before_ns, written_ns): (u64, u64),
        life_ns: u64,
    ) -> Self {
        AcquiredPlace {
            node,
            key: key.clone(),
            value: Arc::clone(value),
            not_before_ns,
            written_ns,
            expires_ns: written_ns.saturating_add(life_ns),
            is_granted: true,
        }
    }

    fn is_at(&self, node: usize, key: &KeyName) -> bool {
        self.node == node && self.key == *key
    }
}

impl AcquiredPlaces {
    /// Creates the record of an attempt that has written nothing so far.
    pub(super) fn new(key_history: bool) -> Self {
        AcquiredPlaces {
            key_history,
            ..AcquiredPlaces::default()
        }
    }

    /// Records a written value. Returns `true` if it starts a new try: the attempt had written another value to the key
    /// before, or its value there had expired.
    pub(super) fn record(&mut self, place: AcquiredPlace) -> bool {
        let mut known = self.places.iter_mut();
        let Some(known) = known.find(|known| known.is_at(place.node, &place.key)) else {
            self.places.push(place);
            return false;
        };
        let is_new = known.value != place.value || known.expires_ns <= place.written_ns;
        let not_before_ns = if is_new {
            place.not_before_ns
        } else {
            known.not_before_ns
        };
        *known = AcquiredPlace {
            not_before_ns,
            ..place
        };
        is_new
    }

    /// Records that the lock was granted with this token. Among the values that name the token and on which the grant
    /// can rest, returns the earliest time at which such a value may have been written, or `None` if there is no such
    /// value.
    pub(super) fn granted(&mut self, token: &str) -> Option<u64> {
        if !self.key_history && self.places.is_empty() {
            return None;
        }
        let is_any_named = self
            .places
            .iter()
            .any(|place| names_token(&place.value, token));
        self.is_token_written = is_any_named;
        self.is_token_distinctive = is_distinctive(token);
        let mut last_ns = 0;
        for place in &mut self.places {
            place.is_granted = !is_any_named || names_token(&place.value, token);
            if place.is_granted {
                last_ns = last_ns.max(place.written_ns);
            }
        }
        // The last value counts even if its expiry had already passed when it was written: it is not one of an earlier
        // try.
        for place in &mut self.places {
            place.is_granted &= place.expires_ns > last_ns || place.written_ns == last_ns;
        }
        let granted = || self.places.iter().filter(|place| place.is_granted);
        if granted().next().is_none() || granted().any(|place| place.value.starts_with('{')) {
            self.token = Some(token.into());
        }
        let not_before_ns = granted().map(|place| place.not_before_ns).min();
        not_before_ns.filter(|_| is_any_named)
    }

    /// Returns `true` if the attempt wrote a value to this key.
    pub(super) fn contains(&self, node: usize, key: &KeyName) -> bool {
        self.places.iter().any(|place| place.is_at(node, key))
    }

    /// Returns `true` if the grant can rest on the value that the attempt wrote to this key.
    pub fn is_granted(&self, node: usize, key: &KeyName) -> bool {
        let place = self.places.iter().find(|place| place.is_at(node, key));
        place.is_none_or(|place| place.is_granted)
    }

    /// Returns `true` if the value that the attempt wrote to this key names the token of its grant.
    pub fn names_grant(&self, node: usize, key: &KeyName) -> bool {
        self.is_token_written && self.contains(node, key) && self.is_granted(node, key)
    }

    /// Returns `true` if a value of the attempt names the token of its grant, and not by chance.
    pub fn names_distinctive_token(&self) -> bool {
        self.is_token_written && self.is_token_distinctive
    }

    /// Returns `true` if `value` is in this key because of the attempt: it is the value that the attempt wrote, or a
    /// collection with the element that names the attempt's token. `is_older` states whether the value was there before
    /// the release.
    pub fn is_left_in(&self, (node, key): (usize, &KeyName), value: &str, is_older: bool) -> bool {
        let Some(own) = self.places.iter().find(|place| place.is_at(node, key)) else {
            return false;
        };
        let is_element = |token: &str| names_token(&own.value, token) && names_token(value, token);
        if value.starts_with('{') {
            self.token.as_deref().is_some_and(is_element)
        } else {
            is_older && *own.value == *value
        }
    }

    /// Returns the token of the grant if no value backs it, or if its values are collections.
    pub fn kept_token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the number of nodes with a value that the grant can rest on.
    pub fn granted_nodes(&self) -> usize {
        let granted = || self.places.iter().filter(|place| place.is_granted);
        let is_first = |(index, place): &(usize, &AcquiredPlace)| {
            granted().take(*index).all(|other| other.node != place.node)
        };
        granted().enumerate().filter(is_first).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(node: usize, value: &str, at_ns: u64) -> AcquiredPlace {
        AcquiredPlace::new(
            (node, &KeyName::Lock(0), &value.into()),
            (at_ns, at_ns),
            200,
        )
    }

    fn granted(places: &AcquiredPlaces, nodes: usize) -> Vec<usize> {
        let is_granted = |node: &usize| {
            places.contains(*node, &KeyName::Lock(0)) && places.is_granted(*node, &KeyName::Lock(0))
        };
        (0..nodes).filter(is_granted).collect()
    }

    #[test]
    fn only_values_that_name_the_token_count() {
        let mut places = AcquiredPlaces::new(true);
        assert!(!places.record(place(0, "first", 10)));
        assert!(!places.record(place(1, "first", 11)));
        assert!(places.record(place(1, "second", 100)));
        assert!(!places.record(place(2, "second", 120)));
        assert_eq!(places.granted("second"), Some(100));
        assert_eq!(granted(&places, 3), [1, 2]);
        assert_eq!(places.granted_nodes(), 2);
    }

    #[test]
    fn value_that_was_over_belongs_to_an_earlier_try() {
        let mut places = AcquiredPlaces::new(true);
        places.record(place(0, "same", 10));
        places.record(place(1, "same", 11));
        assert!(places.record(place(1, "same", 300)));
        assert_eq!(places.granted("same"), Some(300));
        assert_eq!(granted(&places, 2), [1]);
        assert_eq!(places.granted("hashed"), None);
        assert_eq!(granted(&places, 2), [1]);
    }
}
