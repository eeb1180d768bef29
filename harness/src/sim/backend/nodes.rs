//! Simulated nodes: their processes, replication, clocks, data and settings.

use std::rc::Rc;

use super::{SimBackend, must_be_up};
use crate::backend::{Clocks, Data, DataChange, Nodes, Refusal, Replication};
use crate::sim::node::Node;

impl Nodes for Rc<SimBackend> {
    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |target, _| {
            must_be_up(target, node)?;
            target.paused = true;
            Ok(())
        })
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        // A node that was killed during the pause stays down.
        if self.network.with_node(node, |target, _| target.up) {
            self.network.resume(node);
        }
        Ok(())
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |target, now_ns| {
            must_be_up(target, node)?;
            target.crash(now_ns);
            Ok(())
        })?;
        self.network.cut(None, Some(&[node]));
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |target, now_ns| {
            if target.up {
                return Err(Refusal::Failed(format!("node {node} is up")));
            }
            target.restart(now_ns);
            Ok(())
        })
    }
}

impl Replication for Rc<SimBackend> {
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        if !self.network.with_node(node, Node::cut_replication) {
            return Err(no_replica(node));
        }
        Ok(())
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        // The old master's clients lose their connections before the new master is available.
        self.network.cut(None, Some(&[node]));
        if !self.network.with_node(node, Node::fail_over) {
            return Err(no_replica(node));
        }
        Ok(())
    }
}

impl Clocks for Rc<SimBackend> {
    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal> {
        self.network.with_node(node, |target, _| {
            target.set_clock_off(off_ns);
            must_be_up(target, node)?;
            if target.paused {
                return Err(Refusal::Failed(format!("node {node} is paused")));
            }
            Ok(())
        })?;
        // Sends the replies to blocked clients whose timeout has elapsed according to the changed clock.
        (self.network).time_out(self.network.clock.now_ns(), node);
        self.network.endpoint.notify();
        Ok(())
    }

    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal> {
        self.wall(worker).set_off(off_ns);
        Ok(())
    }
}

impl Data for Rc<SimBackend> {
    async fn change_data(&self, node: usize, change: &DataChange) -> Result<u64, Refusal> {
        self.network.with_node(node, |target, now_ns| {
            // A resource can be given back to a dead or frozen node, which uses the resource when it runs again.
            if !matches!(change, DataChange::Replenish(_)) {
                must_be_up(target, node)?;
                if target.paused {
                    return Err(Refusal::Failed(format!("node {node} is paused")));
                }
            }
            Ok(target.change_data(change, now_ns))
        })
    }
}

fn no_replica(node: usize) -> Refusal {
    Refusal::Failed(format!("node {node} has no replica"))
}
