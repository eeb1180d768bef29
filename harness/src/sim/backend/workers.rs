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
use crate::adapter::termination::Termination;
use crate::backend::{Refusal, Session, Workers};
use crate::sim::host::{First, Host, HostContext};

/// The driver's connection to a simulated worker.
pub struct SimSession {
    requests: Sender<Request>,
    output: Receiver<WorkerOutput>,
}

impl Session for SimSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        let sent = self.requests.send(request);
        sent.map_err(|_| Refusal::Failed("the worker is gone".into()))
    }

    async fn next(&mut self) -> WorkerOutput {
        let killed = || WorkerOutput::Exited("killed".into());
        self.output.next().await.unwrap_or_else(killed)
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
        let (output_sender, output) = local_channel();
        let backend = Rc::clone(self);
        let build =
            move |init: Init, canceller| async move { backend.client(worker, &init, canceller) };
        let work = |messages: Sender<WorkerOutput>, termination: Termination| async move {
            answer_messages(inbox, build, termination, |one| {
                messages.send(WorkerOutput::Message(one)).is_ok()
            })
            .await;
            "ended with its driver".to_owned()
        };
        let host_context = HostContext {
            clock: self.clock.clone(),
            watchdog: self.watchdog.clone(),
            endpoint: self.network.endpoint,
            budget: Rc::clone(&self.budget),
        };
        let host = Host::start(worker, host_context, output_sender, work);
        self.hosts.borrow_mut().insert(worker, host);
        let urls = (0..self.nodes).map(|node| format!("sim://node-{node}"));
        Ok((SimSession { requests, output }, urls.collect()))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.each_host(worker, Host::freeze)
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        let runs_work_first = self.wakings.borrow_mut().random();
        let first = if runs_work_first {
            First::Work
        } else {
            First::Background
        };
        // It is not an error if the worker was killed during the freeze.
        self.each_host(worker, |host| host.thaw(first)).or(Ok(()))
    }

    async fn terminate_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.each_host(worker, |host| host.termination().request())
    }

    async fn until_worker_ended(&self, worker: usize) {
        let terminations: Vec<Termination> = {
            let hosts = self.hosts.borrow();
            let peers = self.workload.process_peers(worker);
            let running = peers.filter_map(|mate| hosts.get(&mate));
            running.map(Host::termination).collect()
        };
        for termination in terminations {
            termination.finished().await;
        }
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        for mate in self.workload.process_peers(worker) {
            // Dropping the host closes its connections.
            let host = self.hosts.borrow_mut().remove(&mate);
            drop(host);
        }
        Ok(())
    }

    /// Stops polling the worker's loop. The worker's process and connections stay alive.
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
