//! The data and the settings of simulated nodes.

use std::rc::Rc;

use super::{SimBackend, must_be_up};
use crate::backend::{Data, DataChange, Refusal};

impl Data for Rc<SimBackend> {
    async fn change_data(&self, node: usize, change: &DataChange) -> Result<u64, Refusal> {
        self.network.with_node(node, |it, now_ns| {
            // A dead or frozen node finds what it gets back when it continues.
            let is_relief = matches!(change, DataChange::Replenish(_));
            if !is_relief {
                must_be_up(it, node)?;
            }
            if it.paused && !is_relief {
                return Err(Refusal::Failed(format!("node {node} does not answer")));
            }
            Ok(it.change_data(change, now_ns))
        })
    }
}
