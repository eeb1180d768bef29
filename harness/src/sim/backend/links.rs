//! Simulated links.

use std::rc::Rc;

use picklock_scenarios::Phase;

use super::SimBackend;
use crate::backend::Links;
use crate::proxy::{AcquireTraffic, CommandsSent, IdleWait, ImposedId, LinkFault};

impl Links for Rc<SimBackend> {
    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.network.faults.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        let holes = self.network.faults.lift(id);
        self.network.reset_holes(&holes);
        self.network.advance_waiting();
    }

    fn frames_affected(&self, id: ImposedId) -> u64 {
        self.network.faults.affected_frames(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        self.network.cut(workers, nodes)
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        let now_ns = self.network.clock.now_ns();
        let mut state = self.network.state.borrow_mut();
        state.set_phase(worker, op, phase, now_ns);
    }

    fn begin_attempt(&self, op: u64, key: u32) {
        for node in &mut self.network.state.borrow_mut().nodes {
            node.watch.begin_attempt(op, key);
        }
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        let state = self.network.state.borrow();
        let at_ns = state.workers.get(worker)?.last.last_ns(op, phase, key)?;
        Some(self.network.now().run_ns(at_ns))
    }

    fn idle_wait(&self, worker: usize) -> Option<IdleWait> {
        let (now, state) = (self.network.now(), self.network.state.borrow());
        let silence = state.workers.get(worker)?.traffic.idle_wait(now.sim_ns)?;
        Some(IdleWait {
            from_ns: now.run_ns(silence.from_ns),
            until_ns: now.run_ns(silence.until_ns),
            ..silence
        })
    }

    fn first_idle_wait(&self, worker: usize) -> Option<(u64, u64)> {
        let (now, state) = (self.network.now(), self.network.state.borrow());
        let traffic = &state.workers.get(worker)?.traffic;
        let (from_ns, until_ns) = traffic.first_idle_wait(now.sim_ns)?;
        Some((now.run_ns(from_ns), now.run_ns(until_ns)))
    }

    fn commands_sent(&self) -> CommandsSent {
        let state = self.network.state.borrow();
        let traffic = state.workers.iter().map(|worker| &worker.traffic);
        traffic.map(AcquireTraffic::commands).sum()
    }

    fn has_sent_data(&self, worker: usize) -> bool {
        let state = self.network.state.borrow();
        let worker = state.workers.get(worker);
        worker.is_some_and(|worker| worker.has_sent_data)
    }
}
