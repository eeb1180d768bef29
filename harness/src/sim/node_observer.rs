//! A seam for studies of the simulation: who observes the simulated servers of a node, as one can
//! observe real ones.

use std::rc::Rc;

use super::sim_time::SimTime;
use crate::model::{ClientId, Now, Server, ServerVersion};
use crate::wire::SentRequests;

/// What is known of a node before anything happens.
pub(super) struct ObservedNode {
    /// Its number.
    pub(super) number: usize,
    /// Which server it models.
    pub(super) version: ServerVersion,
    /// The names of the locks' keys.
    pub(super) locks: Rc<[String]>,
    /// What the network has forwarded, to all nodes.
    pub(super) sent: Rc<SentRequests>,
}

/// The servers of a node, which report what they execute: see [`Server::take_report`].
pub(super) struct ObservedServers<'a> {
    /// The one that serves the clients.
    pub(super) master: &'a mut Server,
    /// The one that would replace it, if there is one.
    pub(super) replica: Option<&'a mut Server>,
}

/// Observes one node. The times are nanoseconds of the simulation.
pub(super) trait NodeObserver {
    /// The node starts with these servers.
    fn begin(&mut self, servers: ObservedServers<'_>);

    /// The master is about to execute a command of this connection.
    fn before_command(&mut self, conn: u64, client: ClientId, master: &mut Server, now: Now);

    /// An operation of the node is over.
    fn after_operation(&mut self, servers: ObservedServers<'_>, at_ns: u64);

    /// The master is about to restart, or to be replaced.
    fn before_replacement(&mut self, servers: ObservedServers<'_>, at_ns: u64);

    /// The master has started with what its disk had kept.
    fn restarted(&mut self, master: &mut Server, now: Now, at_ns: u64);

    /// The replica, which is the master now, has replaced the one of before.
    fn promoted(&mut self, master: &mut Server, now: Now, at_ns: u64);

    /// The run is over.
    fn end(&mut self, servers: ObservedServers<'_>, time: SimTime);
}

/// Makes the observer of each node.
pub(super) type MakeObserver = Box<dyn FnMut(ObservedNode) -> Box<dyn NodeObserver>>;
