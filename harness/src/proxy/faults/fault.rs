use std::time::Duration;

use picklock_scenarios::{Direction, ServerError};

use crate::proxy::LinkId;

/// What a fault does to the frames that it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// They arrive later. Frames of one direction of a connection keep their order, and each
    /// delay counts from when its frame came: delays do not add up from frame to frame. tokio's
    /// timers round up to a millisecond. More than a megabyte that waits on one connection slows
    /// its sender down.
    Delay {
        /// At least this much later.
        by: Duration,
        /// Up to this much more, drawn uniformly.
        jitter: Duration,
    },
    /// They never arrive. A byte stream never has a hole: as long as the fault is in force whatever comes
    /// next in that direction of the connection is dropped too, if it may strike it. What it may not
    /// strike any more resets the connection, and so does the fault's end, unless it was counted.
    Drop,
    /// Commands that the error would refuse are answered with it. In the direction of requests, the server
    /// is sent something that it refuses in their place; in the direction of replies, it has executed them.
    Answer(ServerError),
    /// They wait until the fault is lifted, and then go on in order.
    Hold,
    /// Not one byte passes until the fault is lifted; then everything does, as TCP would
    /// retransmit it. New connections are accepted and hang.
    Partition,
}

/// A fault on links. A field that is `None` matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFault {
    /// On the links of these workers.
    pub workers: Option<Vec<usize>>,
    /// On the links to these nodes.
    pub nodes: Option<Vec<usize>>,
    /// On this connection only. A fault that must strike exactly the frame at its gate needs it.
    pub conn: Option<u64>,
    /// In this direction.
    pub direction: Option<Direction>,
    /// What happens.
    pub effect: Effect,
    /// At most this many frames, all links together. Partitions ignore it: they stop bytes.
    pub frames: Option<u32>,
}

impl LinkFault {
    /// A fault that strikes every frame of every link.
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

/// Names an imposed fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImposedId(pub(in crate::proxy) u64);
