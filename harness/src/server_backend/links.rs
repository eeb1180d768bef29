//! Links: the proxy. Where the clients of a process share its connections, all that they send is on the link of the
//! first of them.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::ServerBackend;
use crate::backend::Links;
use crate::proxy::{CommandsSent, FreezeBreach, IdleWait, ImposedId, LinkFault};

impl ServerBackend {
    /// The worker on whose link this one's commands are.
    fn on_link_of(&self, worker: usize) -> usize {
        let number = self.process_of(worker);
        match number == worker || !self.shares_link(number) {
            true => worker,
            false => number,
        }
    }

    /// True if this process has one link for all of its clients.
    fn shares_link(&self, number: usize) -> bool {
        let processes = self.shared_processes.borrow();
        let process = processes.get(&number);
        process.is_some_and(|process| process.shares_connections())
    }

    fn on_links_of(&self, workers: &[usize]) -> Vec<usize> {
        let links: BTreeSet<usize> = workers.iter().map(|one| self.on_link_of(*one)).collect();
        links.into_iter().collect()
    }

    /// What is asked of a process with one link: of what its clients were asked for, that which matters most. Whose
    /// command it is says the key history.
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
        let asked = clients.values();
        let asked = asked.max_by_key(|(op, phase)| (rank(phase), *op));
        asked.copied().unwrap_or((op, phase))
    }
}

impl Links for ServerBackend {
    fn impose(&self, mut fault: LinkFault) -> ImposedId {
        fault.workers = fault.workers.map(|workers| self.on_links_of(&workers));
        self.parts.proxy.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.parts.proxy.lift(id);
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.parts.proxy.affected_frames(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let workers = workers.map(|workers| self.on_links_of(workers));
        self.parts.proxy.cut(workers.as_deref(), nodes)
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        let number = self.process_of(worker);
        let (worker, (op, phase)) = match self.shares_link(number) {
            true => (number, self.phase_of_process(worker, op, phase)),
            false => (worker, (op, phase)),
        };
        self.parts.proxy.set_phase(worker, op, phase);
    }

    fn begin_attempt(&self, op: u64, key: u32) {
        for node in self.observed.borrow().iter() {
            node.begin_attempt(op, key);
        }
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        // On a link of several the log does not know whose command it was.
        if self.shares_link(self.process_of(worker)) {
            return None;
        }
        let log = self.parts.proxy.log();
        log.last_request_naming(worker, op, phase, key)
    }

    fn silence(&self, worker: usize) -> Option<IdleWait> {
        match self.shares_link(self.process_of(worker)) {
            true => None,
            false => self.parts.proxy.idle_wait(worker),
        }
    }

    fn first_silence(&self, worker: usize) -> Option<(u64, u64)> {
        match self.shares_link(self.process_of(worker)) {
            true => None,
            false => self.parts.proxy.first_idle_wait(worker),
        }
    }

    fn commands_sent(&self) -> CommandsSent {
        self.parts.proxy.commands_sent()
    }

    fn begin(&self) {
        self.parts.proxy.log().begin();
    }

    fn has_sent_data(&self, worker: usize) -> bool {
        let worker = self.on_link_of(worker);
        self.parts.proxy.freeze_monitor().has_sent_data(worker)
    }

    async fn expect_no_traffic(&self, worker: usize) {
        if self.on_link_of(worker) != worker {
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
                "it is not known whether a fault of worker {worker} has struck, because the kernel's table of connections cannot be read: {error}"
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
