//! Servers and workers that stand still or die although no fault asked for it.

use std::time::Duration;

use futures_util::future::join_all;

use super::heartbeat::Heartbeat;
use super::{ServerBackend, worker_watch};
use crate::backend::Liveness;
use crate::history::EventKind;

impl Liveness for ServerBackend {
    async fn monitor_liveness(&self, shortest: Duration) {
        self.life.describe_from(shortest);
        let clock = &self.parts.clock;
        let nodes = (0..self.watched()).map(|node| async move {
            let address = || self.address(node).ok();
            let process = |address| self.servers().ok()?.process_at(address);
            let heartbeat = Heartbeat {
                node,
                life: &self.life,
                clock,
                address: &address,
                process: &process,
            };
            heartbeat.run().await;
        });
        let leaders = || {
            let workers = self.workers.borrow();
            let leader = |(worker, running): (&usize, &super::RunningWorker)| {
                (*worker, running.control.pid())
            };
            workers.iter().map(leader).collect()
        };
        let workers = worker_watch::watch(&self.life, clock, leaders);
        tokio::join!(join_all(nodes), workers);
    }

    fn take_liveness_events(&self, at_end: bool) -> Vec<EventKind> {
        let signs = self.life.take(at_end).into_iter();
        signs.flat_map(|sign| self.of_each_client(sign)).collect()
    }

    fn was_killed(&self, worker: usize) -> bool {
        let workers = self.workers.borrow();
        let running = workers.get(&self.process_of(worker));
        running.is_some_and(|it| it.control.was_killed())
    }

    fn is_kept_from_answering(&self, worker: usize) -> bool {
        self.life.keeps_from_answering(self.process_of(worker))
    }
}

impl ServerBackend {
    /// What was seen of a process is so of each client in it.
    fn of_each_client(&self, sign: EventKind) -> Vec<EventKind> {
        let EventKind::WorkerStalled {
            worker,
            since_ns,
            stalled_ms,
        } = sign
        else {
            return vec![sign];
        };
        let peers = self.parts.workload.process_peers(worker);
        let each = peers.map(|worker| EventKind::WorkerStalled {
            worker,
            since_ns,
            stalled_ms,
        });
        each.collect()
    }
}
