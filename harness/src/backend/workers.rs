//! Workers: the clients of the lock. Each worker has its own process, unless the scenario lets several workers share
//! one. A fault on a worker affects its whole process.

use std::time::Duration;

use picklock_scenarios::TaskScope;

use super::Refusal;
use crate::adapter::message::Request;
use crate::adapter::process::WorkerOutput;

/// The driver's connection to one worker.
pub trait Session {
    /// Sends a request. Returns an error if the worker is gone; `next` then returns the reason.
    async fn send(&mut self, request: Request) -> Result<(), Refusal>;

    /// Returns the worker's next message or the end of its process. Nothing follows [`WorkerOutput::Exited`].
    /// Cancel-safe.
    async fn next(&mut self) -> WorkerOutput;

    /// Declares that [`Session::next`] will not be called again, so that output need not be buffered.
    fn stop_listening(&mut self) {}
}

/// Starts, freezes and kills workers.
pub trait Workers {
    /// The driver's connection to a worker.
    type Session: Session + 'static;

    /// Starts a worker that is not running. Returns the connection to it and the URLs under which it reaches the nodes.
    /// `incarnation` counts the starts of this worker.
    async fn start_worker(
        &self,
        worker: usize,
        incarnation: u32,
    ) -> Result<(Self::Session, Vec<String>), Refusal>;

    /// Freezes the worker's whole process. Returns once it has stopped.
    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Thaws a frozen process. A process that has exited in the meantime is not an error.
    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Requests the worker's process to end (SIGTERM). Returns once the signal was sent, without waiting for the
    /// clean-up.
    async fn terminate_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Waits until the worker's process has ended, with all processes that it has started. Cancel-safe.
    async fn until_worker_ended(&self, worker: usize);
    /// Kills the worker's whole process.
    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal>;
    /// Requests the worker to block its event loop or its thread for `lasts`. Returns once the request was sent.
    async fn block_worker(
        &self,
        worker: usize,
        scope: TaskScope,
        lasts: Duration,
    ) -> Result<(), Refusal>;
    /// Waits until the worker is no longer blocked. Returns the time of the end in nanoseconds since the run began, or
    /// `None` if the worker was not blocked or has died. Cancel-safe.
    async fn unblock_worker(&self, worker: usize, scope: TaskScope)
    -> Result<Option<u64>, Refusal>;
    /// Returns `true` if the clients of a process share its connections, so that a command may belong to any of them.
    fn shares_connections(&self) -> bool {
        false
    }
    /// Kills all running workers.
    async fn kill_all_workers(&self);
}
