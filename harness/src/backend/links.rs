//! The links between workers and nodes.

use picklock_scenarios::Phase;

use crate::proxy::{CommandsSent, FreezeBreach, IdleWait, ImposedId, LinkFault};

/// Faults of links, and what links have seen.
pub trait Links {
    /// Puts a fault on links.
    fn impose(&self, fault: LinkFault) -> ImposedId;
    /// Takes it off again.
    fn lift(&self, id: ImposedId);
    /// How many frames it has struck so far.
    fn struck(&self, id: ImposedId) -> u64;
    /// Resets the open connections of links, and returns how many there were.
    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize;

    /// Tells the links which operation the worker carries out.
    fn set_phase(&self, worker: usize, op: u64, phase: Phase);
    /// An attempt to take the lock with this key begins: what it writes shows the lock's keys, whatever
    /// their names.
    fn begin_attempt(&self, op: u64, key: u32);
    /// When the worker's last command of this operation that names the lock's key was forwarded to
    /// a node; `None`: none was. With several nodes, the node whose last command was the earliest
    /// counts: a quorum may have let the lock go while the command to another node still waited.
    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64>;
    /// The longest time in which the worker, which is asked to acquire, has sent nothing that could take a
    /// lock; `None`: it is not asked to.
    fn silence(&self, worker: usize) -> Option<IdleWait>;
    /// From when until when the worker was asked for a lock for the first time and had sent nothing; `None`: it was not
    /// asked.
    fn first_silence(&self, worker: usize) -> Option<(u64, u64)>;
    /// How many commands all workers have sent.
    fn commands_sent(&self) -> CommandsSent;
    /// The buyers begin, and the clock was set to zero: so are the times of what was sent before.
    fn begin(&self) {}
    /// True when anything has come from the worker on a link to a node.
    fn has_sent_data(&self, worker: usize) -> bool;

    /// From now on nothing may come from this worker: it was frozen or killed. A backend in which a
    /// worker is frozen and killed by definition need not look.
    async fn expect_no_traffic(&self, _worker: usize) {}
    /// What has come from the worker since its silence began; `None`: nothing.
    fn freeze_breach(&self, _worker: usize) -> Option<FreezeBreach> {
        None
    }
    /// The worker may speak again.
    fn allow_traffic(&self, _worker: usize) {}
}
