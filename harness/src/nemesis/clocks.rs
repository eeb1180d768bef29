//! By how much each wall clock is off, and which faults made it so.
//!
//! Faults of one clock add up, and may end in any order; what a world is told is always the sum.
//! So telling it twice does no harm.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::world::{Refusal, World};

/// Whose clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// The node's: that of its master.
    Node(usize),
    /// The worker's.
    Worker(usize),
}

/// All clocks that are off: by how many nanoseconds each fault has shifted each of them.
#[derive(Debug, Default)]
pub struct Clocks {
    shifts: RefCell<BTreeMap<Whose, BTreeMap<u32, i64>>>,
}

impl Clocks {
    /// A fault shifts a clock.
    ///
    /// # Errors
    /// Where the world cannot do it; the clock is what it was, then.
    pub async fn shift<W: World>(
        &self,
        world: &W,
        whose: Whose,
        fault: u32,
        by_ns: i64,
    ) -> Result<(), Refusal> {
        self.shifts
            .borrow_mut()
            .entry(whose)
            .or_default()
            .insert(fault, by_ns);
        let set = self.set(world, whose).await;
        if set.is_err() {
            self.put_right(world, whose, fault).await;
        }
        set
    }

    /// A fault's shift of a clock is over.
    pub async fn put_right<W: World>(&self, world: &W, whose: Whose, fault: u32) {
        if let Some(shifts) = self.shifts.borrow_mut().get_mut(&whose) {
            shifts.remove(&fault);
        }
        // A dead one has the right offset when it comes back, and cannot be asked before.
        self.set(world, whose).await.ok();
    }

    /// The node has another master now, whose clock is right.
    pub fn replaced(&self, node: usize) {
        self.shifts.borrow_mut().remove(&Whose::Node(node));
    }

    async fn set<W: World>(&self, world: &W, whose: Whose) -> Result<(), Refusal> {
        let off_ns = {
            let shifts = self.shifts.borrow();
            let of_it = shifts.get(&whose).into_iter().flat_map(BTreeMap::values);
            of_it.fold(0i64, |sum, by_ns| sum.saturating_add(*by_ns))
        };
        match whose {
            Whose::Node(node) => world.set_node_clock(node, off_ns).await,
            Whose::Worker(worker) => world.set_worker_clock(worker, off_ns).await,
        }
    }
}
