//! Limits the bytes of frames that the proxy buffers, over all connections.
//!
//! A frame is buffered until its last byte has arrived, and again until it can be forwarded. One connection buffers
//! little, but a worker can open many connections and leave a long frame unfinished on each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of bytes that all connections together may buffer beyond their uncounted bytes.
const MAX_COUNTED: usize = 12 << 20;

/// Number of bytes that each share may buffer uncounted. Ordinary commands need no more, so the large buffers of one
/// worker never affect them.
const UNCOUNTED: usize = 32 << 10;

/// The bytes that all connections of a proxy buffer.
#[derive(Debug, Clone, Default)]
pub(in crate::proxy) struct FrameBudget(Arc<AtomicUsize>);

impl FrameBudget {
    /// Creates the share of one more reader or queue.
    pub(in crate::proxy) fn share(&self) -> FrameShare {
        FrameShare {
            budget: self.clone(),
            counted: 0,
        }
    }
}

/// The bytes that the reader or the queue of one direction of a connection buffers.
#[derive(Debug, Default)]
pub(in crate::proxy) struct FrameShare {
    budget: FrameBudget,
    counted: usize,
}

impl FrameShare {
    /// Sets the number of buffered bytes. Returns `false` if the number has grown and the total exceeds the budget. The
    /// owner must then stop buffering.
    pub(in crate::proxy) fn resize(&mut self, bytes: usize) -> bool {
        let counted = bytes.saturating_sub(UNCOUNTED);
        if counted == self.counted {
            return true;
        }
        let total = &self.budget.0;
        let previous = std::mem::replace(&mut self.counted, counted);
        if counted < previous {
            total.fetch_sub(previous - counted, Ordering::Relaxed);
            return true;
        }
        let growth = counted - previous;
        total.fetch_add(growth, Ordering::Relaxed) + growth <= MAX_COUNTED
    }
}

impl Drop for FrameShare {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_over_all_shares() {
        let budget = FrameBudget::default();
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.resize(UNCOUNTED + MAX_COUNTED - 5));
        // Uncounted bytes do not count against the budget.
        assert!(other.resize(UNCOUNTED));
        assert!(other.resize(UNCOUNTED + 5));
        assert!(!other.resize(UNCOUNTED + 6));
        // Shrinking always succeeds.
        assert!(other.resize(UNCOUNTED + 1));
        drop(one);
        assert!(other.resize(UNCOUNTED + MAX_COUNTED));
        drop(other);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
