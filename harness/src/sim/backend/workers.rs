//! Simulated workers.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::TaskScope;
use rand::RngExt;

use super::SimBackend;
use crate::adapter::local_channel::{Receiver, Sender, local_channel};
use crate::adapter::message::{Init, Request};
use crate::adapter::process::WorkerOutput;
use crate::adapter::serve::answer_messages;
use crate::backend::{Refusal, Session, Workers};
use crate::sim::host::{First, Host, HostContext};

/// The driver's connection to a simulated worker.
pub struct SimSession {
    requests: Sender<Request>,
    heard: Receiver<WorkerOutput>,
}

impl Session for SimSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        let sent = self.requests.send(request);
        sent.map_err(|_| Refusal::Failed("the worker is gone".into()))
    }

    async fn next(&mut self) -> WorkerOutput {
        let killed = || WorkerOutput::Exited("killed".into());
        self.heard.next().await.unwrap_or_else(killed)
    }
}

impl Workers for Rc<SimBackend> {
    type Session = SimSession;

    async fn start_worker(
        &self,
        worker: usize,
        _incarnation: u32,
    ) -> Result<(SimSession, Vec<String>), Refusal> {
        let (requests, inbox) = local_channel();
        let (outbox, heard) = local_channel();
        let backend = Rc::clone(self);
        let build =
            move |init: Init, canceller| async move { backend.client(worker, &init, canceller) };
        let work = |said: Sender<WorkerOutput>| async move {
            answer_messages(inbox, build, |one| {
                said.send(WorkerOutput::Message(one)).is_ok()
            })
            .await;
            "ended with its driver".to_owned()
        };
        let around = HostContext {
            clock: self.clock.clone(),
            monitor: self.monitor.clone(),
            endpoint: self.network.endpoint,
            budget: Rc::clone(&self.budget),
        };
        let host = Host::start(worker, around, outbox, work);
        self.hosts.borrow_mut().insert(worker, host);
        let urls = (0..self.nodes).map(|node| format!("sim://node-{node}"));
        Ok((SimSession { requests, heard }, urls.collect()))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.each_host(worker, Host::freeze)
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        let first = match self.wakings.borrow_mut().random() {
            true => First::Work,
            false => First::Background,
        };
        // One that was killed meanwhile need not continue.
        self.each_host(worker, |host| host.thaw(first)).or(Ok(()))
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        for mate in self.workload.process_peers(worker) {
            // Its connections are closed by being dropped with it.
            let host = self.hosts.borrow_mut().remove(&mate);
            drop(host);
        }
        Ok(())
    }

    /// Its loop polls nothing, while its process and its connections stay.
    async fn block_worker(
        &self,
        worker: usize,
        scope: TaskScope,
        _lasts: Duration,
    ) -> Result<(), Refusal> {
        self.block(worker, scope, true)
    }

    async fn unblock_worker(
        &self,
        worker: usize,
        scope: TaskScope,
    ) -> Result<Option<u64>, Refusal> {
        self.block(worker, scope, false).map(|()| None)
    }

    async fn kill_all_workers(&self) {
        while self.hosts.borrow_mut().pop_first().is_some() {}
    }
}
