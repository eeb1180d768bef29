//! Worker processes.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use picklock_scenarios::TaskScope;
use tokio::process::Command;

use super::liveness_monitor::Watched;
use super::{RunningWorker, ServerBackend, failed};
use crate::adapter::local_channel::Closed;
use crate::adapter::message::Request;
use crate::adapter::process::{ProcessError, WorkerOutput, WorkerProcess};
use crate::adapter::shared_process::{ClientLine, SharedProcess};
use crate::backend::{Refusal, Session, Workers};
use crate::clock::millis;
use crate::proxy::is_resource_exhaustion;
use crate::servers::parent_death_signal;

/// The driver's connection to a worker process, or to one client of a process that several clients share.
pub enum ProcessSession {
    /// The worker has its own process.
    Alone(Box<WorkerProcess>),
    /// The worker shares the protocol stream of its process.
    Shared(ClientLine),
}

impl Session for ProcessSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        match self {
            ProcessSession::Alone(process) => process.stdin.send(&request).await.map_err(failed),
            ProcessSession::Shared(line) => {
                let gone = |Closed| Refusal::Failed("the worker is gone".into());
                line.send(request).map_err(gone)
            }
        }
    }

    async fn next(&mut self) -> WorkerOutput {
        match self {
            ProcessSession::Alone(process) => process.stdout.next().await,
            ProcessSession::Shared(line) => line.next().await,
        }
    }

    fn stop_listening(&mut self) {
        // The pipe of a worker with its own process fills up, and the worker then blocks.
        if let ProcessSession::Shared(line) = self {
            line.stop_listening();
        }
    }
}

impl Workers for ServerBackend {
    type Session = ProcessSession;

    async fn start_worker(
        &self,
        worker: usize,
        _incarnation: u32,
    ) -> Result<(ProcessSession, Vec<String>), Refusal> {
        if !self.has_shared_line(worker) {
            let urls = self.urls_of(worker).await?;
            let process = self.start_process(worker).await?;
            return Ok((ProcessSession::Alone(Box::new(process)), urls));
        }
        let number = self.process_of(worker);
        let starting = Rc::clone(self.starting.borrow_mut().entry(number).or_default());
        // The first client starts the process.
        let _turn = starting.lock().await;
        let urls = self.urls_of(worker).await?;
        let running = self.shared_processes.borrow().get(&number).cloned();
        let process = match running.filter(|process| process.accepts(worker)) {
            Some(process) => process,
            None => self.start_shared(number).await?,
        };
        Ok((ProcessSession::Shared(process.connect(worker)), urls))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        let worker = self.process_of(worker);
        let is_first = self.liveness.stop(Watched::Worker(worker));
        let frozen = match self.running(worker)? {
            (_, Some(container)) => container.freeze().await.map_err(failed),
            (control, None) => control.freeze().await.map_err(failed),
        };
        if frozen.is_err() && is_first {
            self.liveness.resume(Watched::Worker(worker));
        }
        frozen
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        let worker = self.process_of(worker);
        let thawed = match self.running(worker) {
            Err(_) => return Ok(()),
            Ok((_, Some(container))) => container.thaw().await.map_err(failed),
            Ok((control, None)) => match control.thaw().await {
                Err(ProcessError::Gone(_)) => Ok(()),
                thawed => thawed.map_err(failed),
            },
        };
        self.liveness.resume(Watched::Worker(worker));
        thawed
    }

    async fn terminate_worker(&self, worker: usize) -> Result<(), Refusal> {
        let worker = self.process_of(worker);
        let (control, container) = self.running(worker)?;
        // From now on, the end of the process is expected.
        self.liveness.stop(Watched::Worker(worker));
        match container {
            Some(container) => container.terminate().await.map_err(failed),
            None => control.terminate().await.map_err(failed),
        }
    }

    async fn until_worker_ended(&self, worker: usize) {
        let Ok((control, container)) = self.running(self.process_of(worker)) else {
            return;
        };
        if container.is_some() {
            // The process that carries the container's streams ends with it.
            control.exited().await;
        } else {
            control.all_ended().await;
        }
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        let worker = self.process_of(worker);
        let (control, container) = self.running(worker)?;
        // Mark the worker as stopped before it is killed, so that its death is not reported.
        self.liveness.stop(Watched::Worker(worker));
        if let Some(container) = container {
            container.remove().await.map_err(failed)?;
        }
        control.kill().await;
        self.check_has_ended(worker, &control);
        self.workers.borrow_mut().remove(&worker);
        Ok(())
    }

    async fn block_worker(
        &self,
        worker: usize,
        scope: TaskScope,
        lasts: Duration,
    ) -> Result<(), Refusal> {
        let number = self.process_of(worker);
        let process = self.shared_processes.borrow().get(&number).cloned();
        let gone = || Refusal::Failed(format!("client {worker} is not running"));
        let process = process.ok_or_else(gone)?;
        let unblocked = process.block(worker, scope, millis(lasts));
        self.blocked.borrow_mut().insert((worker, scope), unblocked);
        Ok(())
    }

    async fn unblock_worker(
        &self,
        worker: usize,
        scope: TaskScope,
    ) -> Result<Option<u64>, Refusal> {
        let task = (worker, scope);
        // The entry remains until the worker has answered, so that a cancelled wait can be repeated.
        let answer = poll_fn(|context| match self.blocked.borrow_mut().get_mut(&task) {
            Some(unblocked) => Pin::new(unblocked).poll(context).map(Some),
            None => Poll::Ready(None),
        })
        .await;
        self.blocked.borrow_mut().remove(&task);
        match answer {
            Some(Ok(at_ns)) => at_ns.map(Some).map_err(Refusal::Failed),
            // The worker died, which the history records.
            Some(Err(_)) | None => Ok(None),
        }
    }

    fn shares_connections(&self) -> bool {
        let processes = self.shared_processes.borrow();
        processes
            .values()
            .any(|process| process.shares_connections())
    }

    async fn kill_all_workers(&self) {
        self.end_workers().await;
    }
}

impl ServerBackend {
    /// Returns the number of the worker's process, which is the number of the first worker in that process.
    pub(super) fn process_of(&self, worker: usize) -> usize {
        self.parts.workload.process_of(worker)
    }

    /// Returns `true` if the worker's protocol stream carries more than its own requests.
    fn has_shared_line(&self, worker: usize) -> bool {
        let workload = &self.parts.workload;
        worker < workload.workers
            && (self.parts.blocks_tasks || workload.process_peers(worker).nth(1).is_some())
    }

    /// Returns the URLs of a worker's links, and opens the links if necessary.
    async fn urls_of(&self, worker: usize) -> Result<Vec<String>, Refusal> {
        let known = self.urls.borrow().get(&worker).cloned();
        let urls = match known {
            Some(urls) => urls,
            None => self.open_links(worker).await?,
        };
        self.urls.borrow_mut().insert(worker, urls.clone());
        Ok(urls)
    }

    /// Starts a process whose protocol stream several clients share.
    async fn start_shared(&self, number: usize) -> Result<Rc<SharedProcess>, Refusal> {
        let urls = self.urls_of(number).await?;
        let WorkerProcess { stdin, stdout, .. } = self.start_process(number).await?;
        let is_shared = self.parts.workload.process_peers(number).nth(1).is_some();
        let process =
            SharedProcess::begin(stdin, stdout, is_shared, urls, self.parts.clock.clone());
        let known = Rc::clone(&process);
        self.shared_processes.borrow_mut().insert(number, known);
        Ok(process)
    }

    async fn start_process(&self, worker: usize) -> Result<WorkerProcess, Refusal> {
        let log = self.parts.logs.join(format!("worker-{worker}.log"));
        let wall_clock = self.wall_clock(worker)?;
        let containers = self.containers.borrow().clone();
        let container = match containers {
            Some(containers) => Some(containers.create(worker).await.map_err(failed)?),
            None => None,
        };
        let prepare = |command: &mut Command| {
            for secret in self.parts.shared.iter().flat_map(|shared| &shared.secrets) {
                command.env_remove(secret);
            }
            self.parts.command.prepare(command);
            parent_death_signal::prepare(command);
            if let Some(wall_clock) = wall_clock.as_ref().filter(|_| container.is_none()) {
                command.envs(wall_clock.environment());
            }
        };
        let mut argv = self.parts.command.argv_to_start();
        argv.extend(
            container
                .iter()
                .map(|container| container.name().to_owned()),
        );
        let process = WorkerProcess::spawn(&argv, &log, prepare).map_err(|error| {
            let failure = format!("client {worker}: {error}");
            if error.source_io().is_some_and(is_resource_exhaustion) {
                self.parts.proxy.record_incident(failure.clone());
            }
            Refusal::Failed(failure)
        })?;
        let control = process.control.clone();
        // Register the process immediately, because it may exit and be reaped soon.
        let group = self.parts.reaper.group(control.pid()).map_err(failed)?;
        let marked = self.parts.reaper.marked(&control.mark()).map_err(failed)?;
        if let Some(container) = &container {
            // Wait for the container, because a busy engine may take longer to start it than an adapter may take to
            // answer. If the container has exited, the first read of its output reports that.
            let begun = container.until_begun(control.exited()).await;
            begun.map_err(failed)?;
        }
        self.liveness.resume(Watched::Worker(worker));
        let running = RunningWorker {
            control,
            container,
            _registrations: [group, marked],
        };
        self.workers.borrow_mut().insert(worker, running);
        Ok(process)
    }
}
