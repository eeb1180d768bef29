//! What this process itself runs out of, and what that spoils.
//!
//! If the proxy cannot accept a connection, its client waits, and it looks as if its node were slow
//! or dead. That is the harness's fault, and no lock may be blamed for it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Mutex;

use rustix::io::Errno;

use super::lock;

/// What the proxy could not do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ProxyIncident {
    /// This process, or its machine, ran out of something; or nobody could say whose a client was. In words.
    #[error("{0}")]
    Exhausted(String),
    /// A client had closed its connection before the kernel was asked whose it was.
    #[error(
        "a client on a link of worker {worker} sent {sent} and was gone before it was known whose it was"
    )]
    ClientGone {
        /// On whose link.
        worker: usize,
        /// The command that it had sent.
        sent: String,
    },
    /// A client of another user was refused.
    #[error(
        "a client of user {user} was refused on a link of worker {worker}: the proxy serves its own user, {served}"
    )]
    ClientRefused {
        /// On whose link.
        worker: usize,
        /// Whose client it was.
        user: u32,
        /// Who is served.
        served: u32,
    },
}

/// Shortages that this process has met.
#[derive(Debug, Default)]
pub(crate) struct ProxyIncidents {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: BTreeSet<ProxyIncident>,
    new: Vec<ProxyIncident>,
}

/// True where an error means that this process, or its machine, has run out of something: file
/// descriptors, processes, memory, or ports.
pub(crate) fn is_resource_exhaustion(error: &io::Error) -> bool {
    const SHORT: [Errno; 6] = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOBUFS,
        Errno::AGAIN,
        Errno::ADDRNOTAVAIL,
    ];
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    errno.is_some_and(|errno| SHORT.contains(&errno))
}

impl ProxyIncidents {
    /// Notes what could not be done, if the reason is a shortage.
    pub(crate) fn note(&self, what: &str, error: &io::Error) {
        if is_resource_exhaustion(error) {
            self.add(ProxyIncident::Exhausted(format!("{what}: {error}")));
        }
    }

    /// Adds one, unless it is known.
    pub(crate) fn add(&self, shortage: ProxyIncident) {
        let mut state = lock(&self.state);
        if state.known.insert(shortage.clone()) {
            state.new.push(shortage);
        }
    }

    /// What was added since this was last called.
    pub(crate) fn take(&self) -> Vec<ProxyIncident> {
        std::mem::take(&mut lock(&self.state).new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortage_is_told_once_and_a_refused_connection_is_none() {
        let shortages = ProxyIncidents::default();
        let full = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        for _ in 0..2 {
            shortages.note("cannot accept", &full);
            shortages.note("cannot connect", &io::ErrorKind::ConnectionRefused.into());
        }
        let told = shortages.take();
        assert!(
            matches!(&told[..], [ProxyIncident::Exhausted(one)] if one.starts_with("cannot accept: Too many open files"))
        );
        assert_eq!(shortages.take(), []);
    }
}
