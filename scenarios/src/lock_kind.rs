//! The kinds of locks, by the clients that may hold one at the same time.

use serde::{Deserialize, Serialize};

use crate::string_enum::{impl_named, string_enum};

string_enum! {
    /// The kind of a lock: how many clients may hold it at the same time.
    ///
    /// A lock has a capacity, and each hold of it has a weight. The sum of the weights of simultaneous holds must not
    /// exceed the capacity. Checkers use only these two numbers.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    LockKind {
        /// One client.
        #[default]
        Mutex = "mutex",
        /// As many clients as there are permits.
        Semaphore = "semaphore",
        /// Any number of readers, or one writer.
        Rwlock = "rwlock",
        /// One client, which asks before each of its acts whether it still leads.
        Leader = "leader",
    }
}

impl_named!(LockKind);

impl LockKind {
    /// Returns the kind with its article, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            LockKind::Mutex => "a lock with one holder",
            LockKind::Semaphore => "a semaphore",
            LockKind::Rwlock => "a read/write lock",
            LockKind::Leader => "a leader election",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_serialized_form() {
        for kind in LockKind::ALL {
            assert_eq!(LockKind::named(kind.as_str()), Some(kind));
            let value = toml::Value::try_from(kind).unwrap();
            assert_eq!(value.as_str(), Some(kind.as_str()));
        }
    }
}
