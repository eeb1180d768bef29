//! Wall clocks of servers and worker processes.

use super::{ServerBackend, failed};
use crate::backend::{Clocks, Refusal};
use crate::servers::BackendError;

/// Offset of a trial shift, in nanoseconds. It is larger than the delay of a slow answer, and so small that no replica
/// considers its master dead.
const TRIAL_NS: i64 = 10_000_000_000;

impl Clocks for ServerBackend {
    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal> {
        // Only the first replica is ever promoted.
        let replica = self.promoted.borrow().contains_key(&node).then_some(0);
        let servers = self.servers()?;
        let set = servers.set_clock_off(node, replica, off_ns).await;
        set.map_err(failed)
    }

    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal> {
        if let Some(wall_clock) = self.wall_clock(worker)? {
            wall_clock.set_off(off_ns).map_err(failed)?;
        }
        // Check this for each shift, because a restarted worker may run another program.
        self.why_fixed(worker)
            .map_or(Ok(()), |reason| Err(Refusal::Failed(reason)))
    }
}

impl ServerBackend {
    /// Returns why the nodes' clocks cannot be shifted, or `None` if they can. Shifts each clock briefly, unless the
    /// servers were started without support for it.
    pub(super) async fn why_node_clocks_are_fixed(&self) -> Option<String> {
        let servers = self.servers().ok()?;
        for node in 0..self.parts.nodes {
            let shifted = servers.set_clock_off(node, None, TRIAL_NS).await;
            let back = servers.set_clock_off(node, None, 0).await;
            if let Err(error) = shifted.and(back) {
                return Some(error.to_string());
            }
        }
        None
    }

    /// Returns why the workers' clocks cannot be shifted, or `None` if they can.
    pub(super) fn why_worker_clocks_are_fixed(&self) -> Option<String> {
        let all: Vec<usize> = self.workers.borrow().keys().copied().collect();
        all.into_iter().find_map(|worker| self.why_fixed(worker))
    }

    /// Returns why this worker's clock cannot be shifted, or `None` if it can.
    fn why_fixed(&self, worker: usize) -> Option<String> {
        if self.parts.command.image.is_some() {
            return Some(format!(
                "the wall clock of client {worker} cannot be shifted: it runs in a container"
            ));
        }
        let wall_clock = match self.wall_clock(worker) {
            Ok(Some(wall_clock)) => wall_clock,
            Ok(None) => {
                return Some(BackendError::FixedClock(format!("client {worker}")).to_string());
            }
            Err(refusal) => return Some(refusal.to_string()),
        };
        let leader = self.workers.borrow().get(&worker)?.control.pid();
        (!wall_clock.is_loaded_by(leader)).then(|| {
            format!(
                "the wall clock of client {worker} cannot be shifted: its program did not load the library that shifts \
                 it; statically linked programs never do"
            )
        })
    }
}
