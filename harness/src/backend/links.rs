//! The links between workers and nodes.

use picklock_scenarios::Phase;

use crate::proxy::{CommandsSent, FreezeBreach, IdleWait, ImposedId, LinkFault};

/// Faults on links, and observations of the traffic on links.
pub trait Links {
    /// Imposes a fault on links.
    fn impose(&self, fault: LinkFault) -> ImposedId;
    /// Lifts an imposed fault.
    fn lift(&self, id: ImposedId);
    /// Returns the number of frames that the fault has affected so far.
    fn frames_affected(&self, id: ImposedId) -> u64;
    /// Resets the open connections of links. Returns their number.
    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize;

    /// Sets the operation that the worker carries out, for all of its links.
    fn set_phase(&self, worker: usize, op: u64, phase: Phase);
    /// Announces an attempt to take the lock with this key. The keys that the attempt writes are then known as the
    /// lock's keys, whatever their names are.
    fn begin_attempt(&self, op: u64, key: u32);
    /// Returns when the worker's last command of this operation that names the lock's key was forwarded to a node, in
    /// nanoseconds, or `None` if there was no such command. With several nodes, returns the earliest of the nodes'
    /// times, because a quorum may have released the lock while the command to another node was still waiting.
    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64>;
    /// Returns the longest period in which the worker sent no command that could take a lock during its current acquire
    /// request, or `None` if it has no acquire request.
    fn idle_wait(&self, worker: usize) -> Option<IdleWait>;
    /// Returns the start and the end, in nanoseconds, of the period before the worker's first command of its first
    /// acquire request, or `None` if it had no acquire request.
    fn first_idle_wait(&self, worker: usize) -> Option<(u64, u64)>;
    /// Returns the number of commands that all workers have sent.
    fn commands_sent(&self) -> CommandsSent;
    /// Sets the times of earlier commands to zero. Called when the clients start and the clock has been set to zero.
    fn begin(&self) {}
    /// Returns `true` if the worker has sent any data on a link to a node.
    fn has_sent_data(&self, worker: usize) -> bool;

    /// Starts to watch a worker that was frozen or killed, and must not send data from now on. The default is for
    /// backends in which a frozen or dead worker cannot send.
    async fn expect_no_traffic(&self, _worker: usize) {}
    /// Returns the data that the worker has sent since [`Links::expect_no_traffic`], or `None` if it sent nothing.
    fn freeze_breach(&self, _worker: usize) -> Option<FreezeBreach> {
        None
    }
    /// Ends the watch that [`Links::expect_no_traffic`] started.
    fn allow_traffic(&self, _worker: usize) {}
}
