//! The bytes of frames that the proxy keeps, counted over all connections.
//!
//! A frame is kept until its last byte has come, and again until it can go on. One connection keeps
//! little, but a worker can open many, and leave a long frame unfinished on each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all connections together may keep beyond what each may keep anyway.
const MOST: usize = 12 << 20;

/// Bytes that a holder may keep without being counted: ordinary commands need no more, so what one
/// worker does never concerns them.
const FREE: usize = 32 << 10;

/// What all connections of a proxy keep.
#[derive(Debug, Clone, Default)]
pub(in crate::proxy) struct FrameBudget(Arc<AtomicUsize>);

impl FrameBudget {
    /// For one more holder.
    pub(in crate::proxy) fn share(&self) -> FrameShare {
        FrameShare {
            budget: self.clone(),
            counted: 0,
        }
    }
}

/// What one holder keeps: a direction of a connection, as its reader or as its queue.
#[derive(Debug, Default)]
pub(in crate::proxy) struct FrameShare {
    budget: FrameBudget,
    counted: usize,
}

impl FrameShare {
    /// The holder keeps this many bytes from now on. False: together it is too much, and it must get
    /// rid of them.
    pub(in crate::proxy) fn keep(&mut self, bytes: usize) -> bool {
        let counted = bytes.saturating_sub(FREE);
        if counted == self.counted {
            return true;
        }
        let all = &self.budget.0;
        let before = match counted >= self.counted {
            true => all.fetch_add(counted - self.counted, Ordering::Relaxed),
            false => all.fetch_sub(self.counted - counted, Ordering::Relaxed),
        };
        let is_more = counted > self.counted;
        let sum = before.wrapping_add(counted).wrapping_sub(self.counted);
        self.counted = counted;
        !is_more || sum <= MOST
    }
}

impl Drop for FrameShare {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_over_all_holders() {
        let budget = FrameBudget::default();
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.keep(FREE + MOST - 5));
        // What each may keep anyway is not counted.
        assert!(other.keep(FREE));
        assert!(other.keep(FREE + 5));
        assert!(!other.keep(FREE + 6));
        // Less is never too much.
        assert!(other.keep(FREE + 1));
        drop(one);
        assert!(other.keep(FREE + MOST));
        drop(other);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
