//! Workers: the clients of the lock, each a process of its own.

use std::future::Future;

use super::Refusal;
use crate::adapter::message::Request;
use crate::adapter::process::WorkerOutput;

/// The driver's connection to one worker.
pub trait Session {
    /// Sends a request. An error means that the worker is gone; `next` says how.
    fn send(&mut self, request: Request) -> impl Future<Output = Result<(), Refusal>>;

    /// The next thing that the worker says or does. After [`WorkerOutput::Exited`] there is nothing more.
    /// Cancel-safe.
    fn next(&mut self) -> impl Future<Output = WorkerOutput>;
}

/// Starting, freezing and killing workers.
pub trait Workers {
    /// The driver's connection to a worker.
    type Session: Session + 'static;

    /// Starts a worker that is not running, and returns the connection to it and the URLs under
    /// which it reaches the nodes. `incarnation` counts its starts.
    fn start_worker(
        &self,
        worker: usize,
        incarnation: u32,
    ) -> impl Future<Output = Result<(Self::Session, Vec<String>), Refusal>>;

    /// Freezes the whole worker; returns when it has stopped.
    fn freeze_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Lets a frozen worker continue.
    fn thaw_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Kills the whole worker.
    fn kill_worker(&self, worker: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Kills all workers that still run.
    fn kill_all_workers(&self) -> impl Future<Output = ()>;
}
