//! Nodes as processes or containers.

use picklock_scenarios::Direction;

use super::liveness_monitor::Watched;
use super::{ServerBackend, failed};
use crate::backend::{Nodes, Refusal};
use crate::proxy::{Effect, LinkFault};
use crate::servers::BackendError;

impl Nodes for ServerBackend {
    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        let is_first = self.life.stop(Watched::Node(node));
        let paused = self.servers()?.pause(node).await;
        // One that is down stays so.
        if paused.is_err() && is_first {
            self.life.go_on(Watched::Node(node));
        }
        paused.map_err(failed)
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        match self.servers()?.resume(node).await {
            Err(BackendError::Down(_)) => return Ok(()),
            resumed => resumed.map_err(failed)?,
        }
        self.life.go_on(Watched::Node(node));
        Ok(())
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.kill_master(node).await?;
        // Nobody reaches it before its observer does.
        self.parts.proxy.close_node(node);
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        let address = self.servers()?.restart(node).await.map_err(failed)?;
        self.observe_again(node, address).await?;
        let redirected = self.parts.proxy.redirect(node, address.socket());
        redirected.map_err(failed)?;
        self.life.go_on(Watched::Node(node));
        Ok(())
    }
}

impl ServerBackend {
    /// Kills the node's master, after it has told everything that it has executed. Requests wait meanwhile,
    /// and are lost with it: one that it carried out after its last words would be in no key history.
    /// `Err`: it cannot be killed.
    pub(super) async fn kill_master(&self, node: usize) -> Result<(), Refusal> {
        let servers = self.servers()?;
        self.life.stop(Watched::Node(node));
        let Some(observer) = self.observer(node) else {
            return servers.crash(node).await.map_err(failed);
        };
        let held = self.parts.proxy.impose(LinkFault {
            nodes: Some(vec![node]),
            direction: Some(Direction::Request),
            ..LinkFault::everywhere(Effect::Hold)
        });
        observer.master_dies().await;
        let killed = servers.crash(node).await.map_err(failed);
        self.parts.proxy.lift(held);
        killed
    }
}
