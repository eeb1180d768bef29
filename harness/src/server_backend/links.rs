//! Links, which the proxy implements. If the clients of a process share its connections, all their traffic is on the
//! link of the first client.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::ServerBackend;
use crate::backend::Links;
use crate::proxy::{CommandsSent, FreezeBreach, IdleWait, ImposedId, LinkFault};

impl ServerBackend {
    /// Returns the worker whose link carries the commands of this worker.
    fn link_owner(&self, worker: usize) -> usize {
        let number = self.process_of(worker);
        if self.shares_link(number) {
            number
        } else {
            worker
        }
    }

    /// Returns `true` if this process has a single link for all of its clients.
    fn shares_link(&self, number: usize) -> bool {
        let processes = self.shared_processes.borrow();
        let process = processes.get(&number);
        process.is_some_and(|process| process.shares_connections())
    }

    fn link_owners(&self, workers: &[usize]) -> Vec<usize> {
        let owners = workers.iter().map(|worker| self.link_owner(*worker));
        owners.collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// Returns the phase of a process with a single link: the most significant phase among its clients. The key history
    /// identifies the client behind each command.
    fn phase_of_process(&self, worker: usize, op: u64, phase: Phase) -> (u64, Phase) {
        let mut phases = self.phases.borrow_mut();
        let clients = phases.entry(self.process_of(worker)).or_default();
        clients.insert(worker, (op, phase));
        let rank = |phase: &Phase| match phase {
            Phase::Idle => 0,
            Phase::Release => 1,
            Phase::Extend => 2,
            Phase::Acquire => 3,
        };
        let most_significant = clients.values().max_by_key(|(op, it)| (rank(it), *op));
        most_significant.copied().unwrap_or((op, phase))
    }
}

impl Links for ServerBackend {
    fn impose(&self, mut fault: LinkFault) -> ImposedId {
        fault.workers = fault.workers.map(|workers| self.link_owners(&workers));
        self.parts.proxy.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.parts.proxy.lift(id);
    }

    fn frames_affected(&self, id: ImposedId) -> u64 {
        self.parts.proxy.affected_frames(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let workers = workers.map(|workers| self.link_owners(workers));
        self.parts.proxy.cut(workers.as_deref(), nodes)
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        let number = self.process_of(worker);
        if self.shares_link(number) {
            let (op, phase) = self.phase_of_process(worker, op, phase);
            self.parts.proxy.set_phase(number, op, phase);
        } else {
            self.parts.proxy.set_phase(worker, op, phase);
        }
    }

    fn begin_attempt(&self, op: u64, key: u32) {
        for node in self.observers.borrow().iter() {
            node.begin_attempt(op, key);
        }
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        // The log of a shared link does not record which client sent a command.
        if self.shares_link(self.process_of(worker)) {
            return None;
        }
        let log = self.parts.proxy.log();
        log.last_request_naming(worker, op, phase, key)
    }

    fn idle_wait(&self, worker: usize) -> Option<IdleWait> {
        if self.shares_link(self.process_of(worker)) {
            return None;
        }
        self.parts.proxy.idle_wait(worker)
    }

    fn first_idle_wait(&self, worker: usize) -> Option<(u64, u64)> {
        if self.shares_link(self.process_of(worker)) {
            return None;
        }
        self.parts.proxy.first_idle_wait(worker)
    }

    fn commands_sent(&self) -> CommandsSent {
        self.parts.proxy.commands_sent()
    }

    fn begin(&self) {
        self.parts.proxy.log().begin();
    }

    fn has_sent_data(&self, worker: usize) -> bool {
        let worker = self.link_owner(worker);
        self.parts.proxy.freeze_monitor().has_sent_data(worker)
    }

    async fn expect_no_traffic(&self, worker: usize) {
        if self.link_owner(worker) != worker {
            return;
        }
        if let Err(error) = self
            .parts
            .proxy
            .freeze_monitor()
            .expect_no_traffic(worker)
            .await
        {
            self.parts.proxy.record_incident(format!(
                "cannot check that a fault stopped client {worker}, because the kernel's table of connections cannot be \
                 read: {error}"
            ));
        }
    }

    fn freeze_breach(&self, worker: usize) -> Option<FreezeBreach> {
        self.parts.proxy.freeze_monitor().freeze_breach(worker)
    }

    fn allow_traffic(&self, worker: usize) {
        self.parts.proxy.freeze_monitor().allow_traffic(worker);
    }
}
