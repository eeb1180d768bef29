//! The last write of an acquisition: on which node, and when.

/// The nodes on which an attempt has written the lock's key in order to acquire it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LastWrite {
    #[default]
    Nowhere,
    /// On this node only. The times are the earliest and latest time of the last write.
    On(usize, (u64, u64)),
    OnSeveral,
}

impl LastWrite {
    /// Returns the state after a write on `node` at some time in `written_ns`.
    pub(super) fn after(self, node: usize, written_ns: (u64, u64)) -> LastWrite {
        match self {
            LastWrite::Nowhere => LastWrite::On(node, written_ns),
            LastWrite::On(before, _) if before == node => LastWrite::On(node, written_ns),
            _ => LastWrite::OnSeveral,
        }
    }
}
