//! Incidents of the proxy: resources that this process ran out of, and clients that the proxy did not serve.
//!
//! If the proxy cannot accept a connection, the client waits, and the node seems to be slow or dead. The harness causes
//! these errors, so no lock may be blamed for them.

use std::collections::BTreeSet;
use std::io;
use std::sync::Mutex;

use rustix::io::Errno;

use super::lock;

/// A failure of the proxy to do a part of its work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ProxyIncident {
    /// This process or its machine ran out of a resource, or the user of a client is unknown. Contains a
    /// description.
    #[error("{0}")]
    Exhausted(String),
    /// A client closed its connection before the proxy had looked up its user.
    #[error(
        "a program on the link of client {worker} sent {sent} and disconnected before the proxy could identify its user"
    )]
    ClientGone {
        /// Worker whose link the client used.
        worker: usize,
        /// The command that the client sent.
        sent: String,
    },
    /// A client of another user was refused.
    #[error(
        "a program of user {user} was refused on the link of client {worker}: the proxy serves its own user, {served}"
    )]
    ClientRefused {
        /// Worker whose link the client used.
        worker: usize,
        /// User ID of the client.
        user: u32,
        /// User ID that the proxy serves.
        served: u32,
    },
    /// A server redirected a client to an address that is not one of the run's servers, or named one as a master.
    #[error(
        "a server sent client {worker} the address {address:?}, which is not one of the servers of the run: it was withheld"
    )]
    AddressWithheld {
        /// Worker whose link the client used.
        worker: usize,
        /// The address.
        address: String,
    },
    /// A server that was running before answered a command late, or not until the client closed the connection.
    #[error("node {node} did not answer a command for {} ms", (.until_ns - .since_ns) / 1_000_000)]
    SlowAnswer {
        /// The node.
        node: usize,
        /// When the command was sent, in nanoseconds since the run began.
        since_ns: u64,
        /// When the answer arrived, or the client closed the connection.
        until_ns: u64,
    },
}

/// The incidents so far, each of them once.
#[derive(Debug, Default)]
pub(crate) struct ProxyIncidents {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: BTreeSet<ProxyIncident>,
    new: Vec<ProxyIncident>,
}

/// Returns `true` if an error means that this process or its machine has run out of a resource: file descriptors,
/// processes, memory, or ports.
pub(crate) fn is_resource_exhaustion(error: &io::Error) -> bool {
    const EXHAUSTED: [Errno; 6] = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOBUFS,
        Errno::AGAIN,
        Errno::ADDRNOTAVAIL,
    ];
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    errno.is_some_and(|errno| EXHAUSTED.contains(&errno))
}

impl ProxyIncidents {
    /// Records the failed operation if the error means that a resource is exhausted.
    pub(crate) fn record_exhaustion(&self, failure: &str, error: &io::Error) {
        if is_resource_exhaustion(error) {
            self.add(ProxyIncident::Exhausted(format!("{failure}: {error}")));
        }
    }

    /// Records an incident, unless the same incident is already recorded.
    pub(crate) fn add(&self, incident: ProxyIncident) {
        let mut state = lock(&self.state);
        if state.known.insert(incident.clone()) {
            state.new.push(incident);
        }
    }

    /// Returns the incidents that were added since the last call.
    pub(crate) fn take(&self) -> Vec<ProxyIncident> {
        std::mem::take(&mut lock(&self.state).new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_is_recorded_once_and_refused_connection_never() {
        let incidents = ProxyIncidents::default();
        let full = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        for _ in 0..2 {
            incidents.record_exhaustion("cannot accept", &full);
            incidents.record_exhaustion("cannot connect", &io::ErrorKind::ConnectionRefused.into());
        }
        let taken = incidents.take();
        assert!(
            matches!(&taken[..], [ProxyIncident::Exhausted(one)] if one.starts_with("cannot accept: Too many open files"))
        );
        assert_eq!(incidents.take(), []);
    }
}
