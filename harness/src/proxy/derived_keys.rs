//! The keys that hold locks under names that do not contain the lock's name, such as a hash or a shortened name. They
//! are unknown until a lock has written them, and are then passed to the proxy by the observer of the servers' keys.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use memchr::memmem::Finder;

/// A key that holds a lock under a derived name.
#[derive(Debug)]
struct DerivedKey {
    node: usize,
    lock: u32,
    name: Finder<'static>,
}

/// The derived keys of all nodes.
#[derive(Debug, Default)]
pub(crate) struct DerivedKeys {
    /// Whether there are any derived keys. Most locks have none, and this saves the search of each command.
    any: AtomicBool,
    keys: RwLock<Vec<DerivedKey>>,
}

impl DerivedKeys {
    /// Replaces the derived keys of a node. Each entry is a lock and the key's name.
    pub(crate) fn replace(&self, node: usize, keys: &[(u32, Vec<u8>)]) {
        // The list is consistent between any two statements, so a poisoned lock is harmless.
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|key| key.node != node);
        known.extend(keys.iter().map(|(lock, name)| DerivedKey {
            node,
            lock: *lock,
            name: Finder::new(name).into_owned(),
        }));
        self.any.store(!known.is_empty(), Ordering::Release);
    }

    /// Returns the lock of the first key that matches.
    pub(crate) fn find(&self, matches: impl Fn(&Finder<'_>) -> bool) -> Option<u32> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let known = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|key| matches(&key.name));
        found.map(|key| key.lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_found_until_its_node_has_others() {
        let keys = DerivedKeys::default();
        let named = |text: &str| keys.find(|name| name.find(text.as_bytes()).is_some());
        assert_eq!(named("GET 5f2a"), None);
        keys.replace(0, &[(0, b"5f2a".to_vec()), (1, b"c001".to_vec())]);
        keys.replace(1, &[(1, b"d00d".to_vec())]);
        assert_eq!(named("GET 5f2a"), Some(0));
        assert_eq!(named("GET c001"), Some(1));
        keys.replace(0, &[]);
        assert_eq!((named("GET 5f2a"), named("GET d00d")), (None, Some(1)));
    }
}
