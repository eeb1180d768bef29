//! Which lock uses which key.

use std::collections::BTreeMap;

use crate::history::KeyName;

use super::written_values::Written;

/// Which lock used each key of each node first, and in which attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyUsers {
    users: BTreeMap<(usize, KeyName), (u32, u64)>,
}

/// One key that two locks use.
#[derive(Debug, Clone)]
pub(super) struct SharedKey {
    pub(super) key: KeyName,
    /// The lock that used it first, and in which attempt.
    pub(super) first: (u32, u64),
}

impl KeyUsers {
    /// A lock was granted in an attempt that wrote this. A key that another lock uses, too, if there is
    /// none on its node that tells the two locks apart: all locks may write the key of a heartbeat.
    pub(super) fn granted(&mut self, lock: u32, op: u64, written: &Written) -> Option<SharedKey> {
        let mut shared: Option<SharedKey> = None;
        let mut has_own = false;
        for value in written.lock_values() {
            let place = (value.node, value.key.clone());
            let &mut first = self.users.entry(place).or_insert((lock, op));
            if first.0 == lock {
                has_own = true;
            } else if shared.is_none() {
                shared = Some(SharedKey {
                    key: value.key.clone(),
                    first,
                });
            }
        }
        shared.filter(|_| !has_own)
    }
}
