//! Detects servers and workers that stall or die although no fault affects them.

use std::time::Duration;

use futures_util::future::join_all;

use super::heartbeat::Heartbeat;
use super::liveness_monitor::Watched;
use super::{ServerBackend, worker_watch};
use crate::adapter::capped_log::last_log_line;
use crate::backend::Liveness;
use crate::history::EventKind;
use crate::process_stat::is_any_stopped;

impl Liveness for ServerBackend {
    async fn monitor_liveness(&self, shortest: Duration) {
        self.liveness.set_shortest(shortest);
        let clock = &self.parts.clock;
        let nodes = (0..self.watched_servers()).map(|node| async move {
            let address = || self.address(node).ok();
            let process = |address| self.servers().ok()?.process_at(address);
            let heartbeat = Heartbeat {
                node,
                liveness: &self.liveness,
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
        let workers = worker_watch::watch(&self.liveness, clock, leaders);
        tokio::join!(join_all(nodes), workers);
    }

    fn take_liveness_events(&self, at_end: bool) -> Vec<EventKind> {
        let events = self.liveness.take(at_end).into_iter();
        events
            .flat_map(|event| self.for_each_client(event))
            .collect()
    }

    fn was_killed(&self, worker: usize) -> bool {
        let workers = self.workers.borrow();
        let running = workers.get(&self.process_of(worker));
        running.is_some_and(|worker| worker.control.was_killed())
    }

    fn last_log_line(&self, worker: usize) -> Option<String> {
        let worker = self.process_of(worker);
        last_log_line(&self.parts.logs.join(format!("worker-{worker}.log")))
    }

    fn may_be_unable_to_answer(&self, worker: usize) -> bool {
        self.liveness.may_block_answer(self.process_of(worker))
    }

    fn is_stopped(&self, worker: usize) -> bool {
        let worker = self.process_of(worker);
        let workers = self.workers.borrow();
        let running = workers.get(&worker);
        !self.liveness.is_stopped(Watched::Worker(worker))
            && running.is_some_and(|worker| is_any_stopped(worker.control.pid()))
    }
}

impl ServerBackend {
    /// Returns the event of a process's stall once for each client in the process. All other events stay as they are.
    fn for_each_client(&self, event: EventKind) -> Vec<EventKind> {
        let EventKind::WorkerStalled {
            worker,
            since_ns,
            stalled_ms,
        } = event
        else {
            return vec![event];
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
