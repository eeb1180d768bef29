//! What the driver and the nemesis ask of a real world.

use std::time::Duration;

use picklock_scenarios::{Phase, WorldName};
use tokio::process::Command;

use super::{RealWorld, Running, failed};
use crate::adapter::message::Request;
use crate::adapter::process::{Heard, WorkerProcess};
use crate::real::{Servers, WorldError, guard};
use crate::replication;
use crate::wire::{ImposedId, LinkFault};
use crate::world::{Refusal, Session, Tampering, World};

/// Our own questions to a node are answered within this time, or not at all.
const ANSWER: Duration = Duration::from_secs(1);

/// How often a stale master is asked whether it follows another.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// The driver's line to a worker process.
pub struct ProcessSession(WorkerProcess);

impl Session for ProcessSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        self.0.send(&request).await.map_err(failed)
    }

    async fn next(&mut self) -> Heard {
        self.0.next().await
    }
}

impl World for RealWorld {
    type Session = ProcessSession;

    fn name(&self) -> WorldName {
        self.name
    }

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
        let log = self.logs.join(format!("worker-{worker}.log"));
        let wall = self.wall(worker)?;
        let prepare = |command: &mut Command| {
            guard::prepare(command);
            if let Some(wall) = &wall {
                command.envs(wall.environment());
            }
        };
        let process = WorkerProcess::spawn(&self.argv, &log, prepare)
            .map_err(|error| Refusal::Failed(format!("worker {worker}: {error}")))?;
        let control = process.control();
        let registration = self.reaper.group(control.pid()).map_err(failed)?;
        self.workers.borrow_mut().insert(
            worker,
            Running {
                control,
                _registration: registration,
            },
        );
        Ok((ProcessSession(process), urls))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.control(worker)?.freeze().await.map_err(failed)
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.control(worker)?.thaw().await.map_err(failed)
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        let control = self.control(worker)?;
        control.kill().await;
        self.workers.borrow_mut().remove(&worker);
        Ok(())
    }

    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        self.servers()?.pause(node).await.map_err(failed)
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        self.servers()?.resume(node).await.map_err(failed)
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.servers()?.crash(node).await.map_err(failed)
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        let address = self.servers()?.restart(node).await.map_err(failed)?;
        self.wire.redirect(node, address).map_err(failed)
    }

    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        let replica = self.servers()?.replica_address(node, 0);
        self.unreplicated.borrow_mut().insert(node);
        replication::cut(replica).await
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        let servers = self.servers()?;
        let replica = servers.replica_address(node, 0);
        let is_cut = self.unreplicated.borrow().contains(&node);
        if !is_cut {
            replication::caught_up(servers.address(node), replica).await?;
        }
        servers.crash(node).await.map_err(failed)?;
        replication::promote(replica).await?;
        self.promoted.borrow_mut().insert(node, replica);
        self.wire.redirect(node, replica).map_err(failed)
    }

    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal> {
        // Only the first replica is ever promoted.
        let replica = self.promoted.borrow().contains_key(&node).then_some(0);
        let servers = self.servers()?;
        let set = servers.set_clock_off(node, replica, off_ns).await;
        set.map_err(|error| match error {
            WorldError::FixedClock(_) | WorldError::ClockNotShifted(_) => {
                self.unable(error.to_string())
            }
            other => failed(other),
        })
    }

    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal> {
        let Some(wall) = self.wall(worker)? else {
            let whose = format!("worker {worker}");
            return Err(self.unable(WorldError::FixedClock(whose).to_string()));
        };
        wall.set_off(off_ns).map_err(failed)?;
        let running = self
            .workers
            .borrow()
            .get(&worker)
            .map(|it| it.control.pid());
        match running {
            Some(leader) if !wall.is_loaded_by(leader) => Err(self.unable(format!(
                "the wall clock of worker {worker} cannot be shifted: its program has not loaded the library that would do it, as static programs do not"
            ))),
            _ => Ok(()),
        }
    }

    async fn promoted_by_sentinels(&self, node: usize) -> Result<String, Refusal> {
        let servers = self.servers()?;
        let Some(watch) = servers.watch() else {
            return Err(Refusal::Unable {
                world: self.name,
                what: "the scenario has no Sentinels".into(),
            });
        };
        let server = watch.promoted(node).await.map_err(failed)?;
        let address = servers.replica_address(node, server - 1);
        self.promoted.borrow_mut().insert(node, address);
        let [old, new] = [0, server].map(|server| watch.servers(node)[server]);
        Ok(format!(
            "the Sentinels made {new} its master, and {old} was"
        ))
    }

    async fn demoted_by_sentinels(&self, node: usize) {
        let Ok(servers) = self.servers() else { return };
        // A server that does not answer is no replica yet.
        while !replication::follows(servers.address(node)).await {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn tamper(&self, node: usize, tampering: &Tampering) -> Result<u64, Refusal> {
        let server = self.address(node)?;
        self.tamperer.tamper(server, tampering).await
    }

    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.wire.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.wire.lift(id);
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.wire.struck(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        self.wire.cut(workers, nodes);
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.wire.set_phase(worker, op, phase);
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.wire.log().last_request_naming(worker, op, phase, key)
    }

    async fn why_lost(&self, node: usize) -> Option<String> {
        let address = self.address(node).ok()?;
        let ask = async {
            let client = redis::Client::open(format!("redis://{address}"))?;
            let mut connection = client.get_multiplexed_async_connection().await?;
            redis::cmd("PING").query_async::<()>(&mut connection).await
        };
        let error = ask.await.err()?;
        Some(format!("it does not answer any more: {error}"))
    }

    async fn ask_store(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let open = self.store.borrow().clone();
        let mut store = match open {
            Some(store) => store,
            None => {
                // The server after the last node; the wire has no link to it.
                let address = self.servers()?.address(self.nodes);
                let client = redis::Client::open(format!("redis://{address}")).map_err(failed)?;
                let opened = client.get_multiplexed_async_connection().await;
                let opened = opened.map_err(failed)?;
                self.store.borrow_mut().get_or_insert(opened).clone()
            }
        };
        let mut words = redis::Cmd::new();
        words.arg(command);
        let asked = words.query_async(&mut store);
        match tokio::time::timeout(ANSWER, asked).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(Refusal::Failed("no answer in time".into())),
        }
    }

    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        let address = self.address(node).ok()?;
        let look = async {
            let client = redis::Client::open(format!("redis://{address}")).ok()?;
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            let left: i64 = redis::cmd("PTTL")
                .arg(key)
                .query_async(&mut connection)
                .await
                .ok()?;
            // −2: there is no such key.
            (left != -2).then_some(left)
        };
        tokio::time::timeout(ANSWER, look).await.ok().flatten()
    }
}
