//! Simulated wall clocks.

use std::rc::Rc;

use super::{SimBackend, must_be_up};
use crate::backend::{Clocks, Refusal};

impl Clocks for Rc<SimBackend> {
    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| {
            it.set_clock_off(off_ns);
            must_be_up(it, node)?;
            match it.paused {
                true => Err(Refusal::Failed(format!("node {node} is paused"))),
                false => Ok(()),
            }
        })?;
        // Clients that have waited long enough by this clock get their answer.
        self.network.check_timeouts(node);
        Ok(())
    }

    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal> {
        self.wall(worker).set_off(off_ns);
        Ok(())
    }
}
