//! What can be imposed on links.

use std::time::Duration;

use picklock_scenarios::Direction;

use super::LinkId;

/// What a fault does to the frames that it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// They come later. Frames of one direction of a connection keep their order, and each is
    /// late on its own: delays do not add up from frame to frame. Late by at least `by`; tokio's
    /// timers round up to a millisecond. More than a megabyte that waits on one connection slows
    /// its sender down.
    Delay {
        /// So much later.
        by: Duration,
        /// Up to this much more, drawn evenly.
        jitter: Duration,
    },
    /// They are swallowed; the connection stays open.
    Drop,
    /// They are kept back, and let go in order when the fault is lifted.
    Hold,
    /// Not one byte passes until the fault is lifted; then everything does, as TCP would
    /// retransmit it. New connections are accepted and hang.
    Partition,
}

/// A fault on links. What is left out matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFault {
    /// On the links of these workers.
    pub workers: Option<Vec<usize>>,
    /// On the links to these nodes.
    pub nodes: Option<Vec<usize>>,
    /// On this connection only: what a strike needs that must hit exactly the frame at its gate.
    pub conn: Option<u64>,
    /// Which way.
    pub direction: Option<Direction>,
    /// What happens.
    pub effect: Effect,
    /// Only so many frames, all links together. Not for partitions, which know no frames.
    pub frames: Option<u32>,
}

impl LinkFault {
    /// The effect on every frame of every link.
    pub fn everywhere(effect: Effect) -> Self {
        LinkFault {
            workers: None,
            nodes: None,
            conn: None,
            direction: None,
            effect,
            frames: None,
        }
    }

    pub(super) fn reaches(&self, link: LinkId) -> bool {
        let lists = |list: &Option<Vec<usize>>, number| {
            list.as_ref().is_none_or(|list| list.contains(&number))
        };
        lists(&self.workers, link.worker) && lists(&self.nodes, link.node)
    }
}

/// Names an imposed fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImposedId(pub(super) u64);
