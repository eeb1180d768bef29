//! What a world must be able to do, so that driver and nemesis are the same in all of them.

use std::future::Future;

use picklock_scenarios::{Phase, Resource, WorldName};

use crate::adapter::message::Request;
use crate::adapter::process::Heard;
use crate::wire::{ImposedId, LinkFault};

/// Why a world could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This world has no such thing; the run cannot be judged, unless the fault is optional.
    #[error("the {world} world cannot do this: {what}")]
    Unable {
        /// Name of the world.
        world: WorldName,
        /// What was asked.
        what: String,
    },
    /// It should have worked, and did not.
    #[error("{0}")]
    Failed(String),
}

/// What the nemesis does to a node from within, as its administrator could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tampering {
    /// Deletes these keys, as eviction does.
    Evict(Vec<String>),
    /// Deletes all keys.
    FlushAll,
    /// Makes it forget its scripts.
    FlushScripts,
    /// Leaves it without memory, or without room for new connections. Done twice, it must be
    /// undone twice.
    Exhaust(Resource),
    /// Gives back what `Exhaust` has taken. A node that was started anew since has it already.
    Replenish(Resource),
}

/// The driver's line to one worker.
pub trait Session {
    /// Sends a request. An error means that the worker is gone; `next` will say how.
    fn send(&mut self, request: Request) -> impl Future<Output = Result<(), Refusal>>;

    /// The next thing that the worker says or does. After [`Heard::Exited`] there is nothing more.
    /// Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Heard>;
}

/// One world: workers, nodes, and the links between them.
pub trait World: 'static {
    /// The driver's line to a worker.
    type Session: Session + 'static;

    /// Which world it is.
    fn name(&self) -> WorldName;

    /// Whether the machine may let everybody in this world stand still; virtual time cannot.
    fn can_stall(&self) -> bool {
        true
    }

    /// Starts a worker that does not run yet, and returns the line to it and the URLs under which
    /// it reaches the nodes. `incarnation` counts its starts.
    fn start_worker(
        &self,
        worker: usize,
        incarnation: u32,
    ) -> impl Future<Output = Result<(Self::Session, Vec<String>), Refusal>>;

    /// Freezes the worker whole; returns when it stands still.
    fn freeze_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Lets a frozen worker go on.
    fn thaw_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Kills the worker whole.
    fn kill_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;

    /// Freezes a node; returns when it stands still.
    fn pause_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Lets a paused node go on.
    fn resume_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Kills a node.
    fn crash_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Starts a crashed node again, on what its persistence kept.
    fn restart_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;

    /// Cuts the replication link of a node for good.
    fn cut_replication(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Promotes the node's first replica, does away with the old master, and leads the links to
    /// the new one.
    fn fail_over(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;

    /// From now on the wall clock of the node's master is ahead by so many nanoseconds, or behind;
    /// whatever the node does next, it sees that. On a refusal it may be off all the same: a node
    /// that is down or paused cannot be asked.
    fn set_node_clock(&self, node: usize, off_ns: i64)
    -> impl Future<Output = Result<(), Refusal>>;
    /// The same for the worker's wall clock, and for those of whoever takes its place.
    fn set_worker_clock(
        &self,
        worker: usize,
        off_ns: i64,
    ) -> impl Future<Output = Result<(), Refusal>>;
    /// Waits until the Sentinels have promoted a replica of the node, whose master is frozen, and
    /// says in words who is the master now. Most worlds have no Sentinels.
    fn promoted_by_sentinels(&self, node: usize) -> impl Future<Output = Result<String, Refusal>> {
        let what = format!("there are no Sentinels that could fail over node {node}");
        let world = self.name();
        std::future::ready(Err(Refusal::Unable { world, what }))
    }
    /// Waits until the node's old master, thawed, has been made a replica: it is stale no longer.
    fn demoted_by_sentinels(&self, _node: usize) -> impl Future<Output = ()> {
        std::future::ready(())
    }
    /// Tampers with a node; returns when it is done, with how many keys an eviction removed
    /// (otherwise 0).
    fn tamper(
        &self,
        node: usize,
        tampering: &Tampering,
    ) -> impl Future<Output = Result<u64, Refusal>>;

    /// Puts a fault on links.
    fn impose(&self, fault: LinkFault) -> ImposedId;
    /// Takes it away again.
    fn lift(&self, id: ImposedId);
    /// How many frames it has struck so far.
    fn struck(&self, id: ImposedId) -> u64;
    /// Resets the connections of links.
    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>);

    /// Tells the links what the worker is busy with.
    fn set_phase(&self, worker: usize, op: u64, phase: Phase);
    /// When the worker's last command of this operation that names the lock's key went out to a
    /// node. Of several nodes the one counts that was done with first: a quorum may have let the
    /// lock go while the command to another node still waited. `None`: none did.
    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64>;

    /// Why a node does not answer, though no fault is on; `None`: it does. A world whose nodes
    /// cannot die by themselves need not look.
    fn why_lost(&self, _node: usize) -> impl Future<Output = Option<String>> {
        std::future::ready(None)
    }

    /// Sends a command to the store: a Redis server beside the nodes that no worker reaches and no
    /// fault strikes. Its answer as a number; `None`: nil. There is a store only in runs whose
    /// scenario keeps its stock there.
    fn ask_store(&self, command: &[&str]) -> impl Future<Output = Result<Option<i64>, Refusal>>;

    /// Remaining life of a key on a node, milliseconds; −1 without expiry; `None`: no such key, or
    /// the node does not answer.
    fn key_ttl_ms(&self, node: usize, key: &str) -> impl Future<Output = Option<i64>>;
}
