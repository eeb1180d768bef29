//! Simulated workers.

use std::rc::Rc;

use super::SimWorld;
use crate::adapter::mailbox::{Reader, Writer, mailbox};
use crate::adapter::message::Request;
use crate::adapter::process::Heard;
use crate::adapter::serve::{Init, answer_messages};
use crate::sim::host::{Host, HostContext};
use crate::world::{Refusal, Session, Workers};

/// The driver's connection to a simulated worker.
pub struct SimSession {
    requests: Writer<Request>,
    heard: Reader<Heard>,
}

impl Session for SimSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        let sent = self.requests.send(request);
        sent.map_err(|_| Refusal::Failed("the worker is gone".into()))
    }

    async fn next(&mut self) -> Heard {
        match self.heard.next().await {
            Some(heard) => heard,
            None => Heard::Exited("killed".into()),
        }
    }
}

impl Workers for Rc<SimWorld> {
    type Session = SimSession;

    async fn start_worker(
        &self,
        worker: usize,
        _incarnation: u32,
    ) -> Result<(SimSession, Vec<String>), Refusal> {
        let (requests, inbox) = mailbox();
        let (outbox, heard) = mailbox();
        let world = Rc::clone(self);
        let build = move |init: Init| async move { world.client(worker, &init) };
        let work = |said: Writer<Heard>| async move {
            answer_messages(inbox, build, |one| said.send(Heard::Said(one)).is_ok()).await;
            "ended with its driver".to_owned()
        };
        let around = HostContext {
            clock: self.clock.clone(),
            monitor: self.monitor.clone(),
            endpoint: self.network.endpoint,
        };
        let host = Host::start(worker, around, outbox, work);
        self.hosts.borrow_mut().insert(worker, host);
        let urls = (0..self.nodes).map(|node| format!("sim://node-{node}"));
        Ok((SimSession { requests, heard }, urls.collect()))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.host(worker, Host::freeze)
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.host(worker, Host::thaw)
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        // Its connections are closed by being dropped with it.
        self.hosts.borrow_mut().remove(&worker);
        Ok(())
    }
}
