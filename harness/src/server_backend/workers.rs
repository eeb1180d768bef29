//! Worker processes.

use tokio::process::Command;

use super::life_watch::Watched;
use super::{RunningWorker, ServerBackend, failed};
use crate::adapter::message::Request;
use crate::adapter::process::{WorkerOutput, WorkerProcess};
use crate::backend::{Refusal, Session, Workers};
use crate::servers::parent_death_signal;
use crate::wire::is_shortage;

/// The driver's connection to a worker process.
pub struct ProcessSession(WorkerProcess);

impl Session for ProcessSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        self.0.stdin.send(&request).await.map_err(failed)
    }

    async fn next(&mut self) -> WorkerOutput {
        self.0.stdout.next().await
    }
}

impl Workers for ServerBackend {
    type Session = ProcessSession;

    async fn start_worker(
        &self,
        worker: usize,
        _incarnation: u32,
    ) -> Result<(ProcessSession, Vec<String>), Refusal> {
        let known = self.urls.borrow().get(&worker).cloned();
        let urls = match known {
            Some(urls) => urls,
            None => self.open_links(worker).await?,
        };
        self.urls.borrow_mut().insert(worker, urls.clone());
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
        argv.extend(container.iter().map(|it| it.name().to_owned()));
        let process = WorkerProcess::spawn(&argv, &log, prepare).map_err(|error| {
            let failure = format!("worker {worker}: {error}");
            if error.source_io().is_some_and(is_shortage) {
                self.parts.wire.note_shortage(failure.clone());
            }
            Refusal::Failed(failure)
        })?;
        let control = process.control.clone();
        if let Some(container) = &container {
            // A busy engine takes longer than an adapter may take to answer. If the container has ended, its
            // first answer says so.
            container
                .until_begun(control.exited())
                .await
                .map_err(failed)?;
        }
        let group = self.parts.reaper.group(control.pid()).map_err(failed)?;
        let marked = self.parts.reaper.marked(&control.mark()).map_err(failed)?;
        self.life.go_on(Watched::Worker(worker));
        self.workers.borrow_mut().insert(
            worker,
            RunningWorker {
                control,
                container,
                _registrations: [group, marked],
            },
        );
        Ok((ProcessSession(process), urls))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        let is_first = self.life.stop(Watched::Worker(worker));
        let frozen = match self.running(worker)? {
            (_, Some(container)) => container.freeze().await.map_err(failed),
            (control, None) => control.freeze().await.map_err(failed),
        };
        if frozen.is_err() && is_first {
            self.life.go_on(Watched::Worker(worker));
        }
        frozen
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        let thawed = match self.running(worker)? {
            (_, Some(container)) => container.thaw().await.map_err(failed),
            (control, None) => control.thaw().await.map_err(failed),
        };
        self.life.go_on(Watched::Worker(worker));
        thawed
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        let (control, container) = self.running(worker)?;
        // To be killed, it is stopped.
        self.life.stop(Watched::Worker(worker));
        if let Some(container) = container {
            container.remove().await.map_err(failed)?;
        }
        control.kill().await;
        self.must_have_ended(worker, &control);
        self.workers.borrow_mut().remove(&worker);
        Ok(())
    }

    async fn kill_all_workers(&self) {
        self.end_workers().await;
    }
}
