//! `semaphore-client-time`: `semaphore` by the clocks of its clients.
//!
//! **Commands.** Those of `semaphore`; the scripts get the time from the client instead of `TIME`.
//!
//! **From.** "Redis in Action" (Carlson 2013), section 6.3.1, "Building a basic counting semaphore", whose author warns
//! of clients with different clocks; redis-semaphore for Node.js passes `Date.now()`.
//!
//! **Promises.** The same as `semaphore`, as long as the clocks of all clients agree.
//!
//! **Does not survive.**
//! - Everything that `semaphore` does not survive, except a jump of the server's clock that is shorter than a lease.
//! - A client whose clock is ahead: it removes permits whose leases are running. A client whose clock is behind writes
//!   permits that others remove too soon (S9).

use crate::semaphores::by_server_time::{Clock, Semaphore};
use crate::{BuiltInLock, Kind, patience};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore-client-time",
    summary: "semaphore: holders in a sorted set by the ends of their leases, by the clients' clocks",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(Semaphore::new(nodes, context, Clock::Client)),
};
