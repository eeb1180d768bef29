//! Simulated nodes as processes, and the replication between their servers.

use std::rc::Rc;

use super::{SimBackend, must_be_up};
use crate::backend::{Nodes, Refusal, Replication};
use crate::sim::node::Node;

impl Nodes for Rc<SimBackend> {
    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| {
            must_be_up(it, node)?;
            it.paused = true;
            Ok(())
        })
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| must_be_up(it, node))?;
        self.network.resume(node);
        Ok(())
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, now_ns| {
            must_be_up(it, node)?;
            it.crash(now_ns);
            Ok(())
        })?;
        self.network.cut(None, Some(&[node]));
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, now_ns| {
            if it.up {
                return Err(Refusal::Failed(format!("node {node} is up")));
            }
            it.restart(now_ns);
            Ok(())
        })
    }
}

impl Replication for Rc<SimBackend> {
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        match self.network.with_node(node, Node::cut_replication) {
            true => Ok(()),
            false => Err(no_replica(node)),
        }
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        // The clients of the old master are cut off before the new one is there.
        self.network.cut(None, Some(&[node]));
        match self.network.with_node(node, Node::fail_over) {
            true => Ok(()),
            false => Err(no_replica(node)),
        }
    }
}

fn no_replica(node: usize) -> Refusal {
    Refusal::Failed(format!("node {node} has no replica"))
}
