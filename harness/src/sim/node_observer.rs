//! Observers that are called at each step of a simulated node.

use std::rc::Rc;

use crate::history::Event;
use crate::key_history::KeyRecord;
use crate::model::{ClientId, Now, Server, ServerVersion};
use crate::proxy::SentRequests;

/// Creates the observer of each node that has lock keys, on the simulation's thread.
pub type NodeObservers = Box<dyn Fn(ObservedNode) -> Box<dyn NodeObserver> + Send>;

/// A node that is about to be observed.
#[derive(Debug, Clone)]
pub struct ObservedNode {
    /// The node's number.
    pub number: usize,
    /// Number of servers: two if the node has a replica, otherwise one.
    pub servers: usize,
    /// The server version that the model imitates.
    pub version: ServerVersion,
    /// The names of the locks.
    pub locks: Rc<[String]>,
    /// The commands that the simulated network has forwarded to all nodes.
    pub sent: Rc<SentRequests>,
}

/// The servers of a node at the time of a step.
pub struct ObservedServers<'a> {
    /// The server that clients reach.
    pub master: &'a mut Server,
    /// The replica, or `None` if it was promoted or never existed.
    pub replica: Option<&'a mut Server>,
    /// The reading of the master's clock.
    pub now: Now,
    /// The time on the simulation's clock, in nanoseconds.
    pub at_ns: u64,
}

/// A step of a node.
#[derive(Clone, Copy)]
pub enum NodeStep<'a> {
    /// The observation begins.
    Began,
    /// A connection's command is about to be executed.
    Executing {
        /// The connection's number.
        conn: u64,
        /// The server's identifier of the connection.
        client: ClientId,
    },
    /// An operation has ended: a command, an eviction or an inspection of a key.
    Operated,
    /// The server is about to restart, or its replica is about to replace it.
    Replacing,
    /// The server has restarted with the data from its disk.
    Restarted,
    /// The replica has become the master.
    Promoted,
    /// The run's key history is being collected.
    HistoryTaken {
        /// Converts a change of a key to an event of the history.
        event: &'a dyn Fn(KeyRecord) -> Event,
    },
}

/// An observer of one node. It may query the servers, but any change that it makes becomes part of the run.
pub trait NodeObserver {
    /// Called when a step is about to happen or has just happened.
    fn at(&mut self, step: NodeStep<'_>, servers: ObservedServers<'_>);
}
