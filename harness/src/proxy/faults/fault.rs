//! Faults of links as data.

use std::time::Duration;

use picklock_scenarios::{Direction, ServerError};

use crate::proxy::LinkId;

/// The effect of a fault on the frames that it affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Frames arrive later. Frames of one direction of a connection keep their order. Each delay counts from the
    /// arrival of its frame, so delays do not add up from frame to frame. Tokio's timers round up to a millisecond. If
    /// more than a mebibyte is waiting on one connection, its sender is slowed down.
    Delay {
        /// Minimum delay.
        by: Duration,
        /// Maximum additional delay, drawn uniformly.
        jitter: Duration,
    },
    /// Frames never arrive. A byte stream must not have a gap. So while the fault is in force, every later frame in
    /// that direction of the connection is also dropped, if the fault may affect it. A later frame that the fault may
    /// not affect resets the connection. The end of the fault also resets it, unless the fault has a frame limit.
    Drop,
    /// Commands that a server in the state of this error would refuse are answered with the error. If the fault affects
    /// requests, the server receives a substitute, which it refuses. If the fault affects replies, the server has
    /// executed the command.
    Answer(ServerError),
    /// Frames wait until the fault is lifted, and are then forwarded in order.
    Hold,
    /// No bytes pass until the fault is lifted. Then all waiting bytes pass, because TCP would retransmit them. New
    /// connections are accepted but hang.
    Partition,
}

/// A fault on links. A field that is `None` matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFault {
    /// Workers whose links are affected.
    pub workers: Option<Vec<usize>>,
    /// Nodes whose links are affected.
    pub nodes: Option<Vec<usize>>,
    /// The only connection that is affected. It must be set if the fault should affect exactly the frame that waits at
    /// a barrier.
    pub conn: Option<u64>,
    /// The direction that is affected.
    pub direction: Option<Direction>,
    /// The effect on these frames.
    pub effect: Effect,
    /// Maximum number of affected frames, over all links. Ignored by partitions, which stop bytes.
    pub frames: Option<u32>,
}

impl LinkFault {
    /// Creates a fault that affects every frame of every link.
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

    pub(in crate::proxy) fn matches_link(&self, link: LinkId) -> bool {
        let lists = |list: &Option<Vec<usize>>, number| {
            list.as_ref().is_none_or(|list| list.contains(&number))
        };
        lists(&self.workers, link.worker) && lists(&self.nodes, link.node)
    }
}

/// Identifier of an imposed fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImposedId(pub(in crate::proxy) u64);
