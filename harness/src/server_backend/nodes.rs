//! Faults of nodes, which are processes or containers.

use picklock_scenarios::Direction;

use super::liveness_monitor::Watched;
use super::{ServerBackend, failed};
use crate::backend::{Nodes, Refusal};
use crate::proxy::{Effect, LinkFault};
use crate::servers::BackendError;

impl Nodes for ServerBackend {
    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        let is_first = self.liveness.stop(Watched::Node(node));
        let paused = self.servers()?.pause(node).await;
        // If the pause failed, the node is running, unless another fault has stopped it.
        if paused.is_err() && is_first {
            self.liveness.resume(Watched::Node(node));
        }
        paused.map_err(failed)
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        match self.servers()?.resume(node).await {
            Err(BackendError::Down(_)) => return Ok(()),
            resumed => resumed.map_err(failed)?,
        }
        self.liveness.resume(Watched::Node(node));
        Ok(())
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.kill_master(node).await?;
        // After a restart, no client may reach the node before its observer does.
        self.parts.proxy.close_node(node);
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        let address = self.servers()?.restart(node).await.map_err(failed)?;
        self.observe_again(node, address).await?;
        let redirected = self.parts.proxy.redirect(node, address.socket());
        redirected.map_err(failed)?;
        self.liveness.resume(Watched::Node(node));
        Ok(())
    }
}

impl ServerBackend {
    /// Kills the node's master after it has reported all commands that it has executed. In the meantime, the proxy
    /// holds back requests, which are lost with the master. Otherwise the master could execute a command after its last
    /// report, and the key history would lack it.
    ///
    /// # Errors
    /// Returns an error if the master cannot be killed.
    pub(super) async fn kill_master(&self, node: usize) -> Result<(), Refusal> {
        let servers = self.servers()?;
        self.liveness.stop(Watched::Node(node));
        let Some(observer) = self.observer(node) else {
            return servers.crash(node).await.map_err(failed);
        };
        let held = self.parts.proxy.impose(LinkFault {
            nodes: Some(vec![node]),
            direction: Some(Direction::Request),
            ..LinkFault::everywhere(Effect::Hold)
        });
        observer.drain_master().await;
        let killed = servers.crash(node).await.map_err(failed);
        self.parts.proxy.lift(held);
        killed
    }
}
