//! A seam for whoever wants to see what the servers of a simulated node do, and not only what came of it.

use std::rc::Rc;

use crate::history::Event;
use crate::key_history::KeyRecord;
use crate::model::{ClientId, Now, Server, ServerVersion};
use crate::proxy::SentRequests;

/// Makes the observer of each node that has locks, on the thread of the simulation.
pub type NodeObservers = Box<dyn Fn(ObservedNode) -> Box<dyn NodeObserver> + Send>;

/// A node that is about to be observed.
#[derive(Debug, Clone)]
pub struct ObservedNode {
    /// Its number.
    pub number: usize,
    /// How many servers it has: one, and one more with a replica.
    pub servers: usize,
    /// Which server is modelled.
    pub version: ServerVersion,
    /// The names of the locks.
    pub locks: Rc<[String]>,
    /// What the simulated proxy has forwarded, to all nodes.
    pub sent: Rc<SentRequests>,
}

/// The servers of a node at some moment.
pub struct ObservedServers<'a> {
    /// The one that clients reach.
    pub master: &'a mut Server,
    /// Its replica; `None`: there is none any more.
    pub replica: Option<&'a mut Server>,
    /// What the master's clock shows.
    pub now: Now,
    /// The time of the simulation, nanoseconds.
    pub at_ns: u64,
}

/// What happens at a node.
#[derive(Clone, Copy)]
pub enum NodeStep<'a> {
    /// Nothing has happened yet.
    Began,
    /// A connection's command is about to be executed.
    Executing {
        /// The connection's number.
        conn: u64,
        /// The server's name for it.
        client: ClientId,
    },
    /// An operation is over: a command, an eviction, a look at a key.
    Operated,
    /// The server is about to start again, or to be replaced by its replica.
    Replacing,
    /// It has started with what its disk had kept.
    Restarted,
    /// The replica, which is the master now, has replaced it.
    Promoted,
    /// The run's key history of the keys is being taken.
    HistoryTaken {
        /// A change of a key as an event of the history.
        event: &'a dyn Fn(KeyRecord) -> Event,
    },
}

/// Sees what happens at one node. It may ask the servers, but what it changes there is changed in the run.
pub trait NodeObserver {
    /// Something happens, or has just happened.
    fn at(&mut self, moment: NodeStep<'_>, servers: ObservedServers<'_>);
}
