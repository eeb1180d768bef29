//! Workers: the clients of the lock. Each is a process of its own, unless the scenario lets several share one: then
//! what is done to one of them is done to the whole process.

use std::time::Duration;

use picklock_scenarios::TaskScope;

use super::Refusal;
use crate::adapter::message::Request;
use crate::adapter::process::WorkerOutput;

/// The driver's connection to one worker.
pub trait Session {
    /// Sends a request. An error means that the worker is gone; `next` says how.
    async fn send(&mut self, request: Request) -> Result<(), Refusal>;

    /// The next thing that the worker says or does. After [`WorkerOutput::Exited`] there is nothing more.
    /// Cancel-safe.
    async fn next(&mut self) -> WorkerOutput;

    /// Nobody will ask for [`Session::next`] any more: what it says need not be kept.
    fn stop_listening(&mut self) {}
}

/// Starting, freezing and killing workers.
pub trait Workers {
    /// The driver's connection to a worker.
    type Session: Session + 'static;

    /// Starts a worker that is not running, and returns the connection to it and the URLs under
    /// which it reaches the nodes. `incarnation` counts its starts.
    async fn start_worker(
        &self,
        worker: usize,
        incarnation: u32,
    ) -> Result<(Self::Session, Vec<String>), Refusal>;

    /// Freezes the worker's whole process; returns when it has stopped.
    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Lets a frozen process continue. One that has ended meanwhile is no error.
    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Kills the worker's whole process.
    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Makes the worker block its event loop, or its thread, for so long; returns when it was told to.
    async fn block_worker(
        &self,
        worker: usize,
        scope: TaskScope,
        lasts: Duration,
    ) -> Result<(), Refusal>;
    /// Waits until it is not blocked any more. Returns when that was, nanoseconds since the run began; `None`: now.
    /// Cancel-safe.
    async fn unblock_worker(&self, worker: usize, scope: TaskScope)
    -> Result<Option<u64>, Refusal>;
    /// True if the clients of a process share its connections, so that a command may be any of theirs.
    fn shares_connections(&self) -> bool {
        false
    }
    /// Kills all workers that still run.
    async fn kill_all_workers(&self);
}
