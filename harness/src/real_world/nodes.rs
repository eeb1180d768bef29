//! Nodes as processes or containers.

use super::{RealWorld, failed};
use crate::real::Servers;
use crate::world::{Nodes, Refusal};

impl Nodes for RealWorld {
    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        self.servers()?.pause(node).await.map_err(failed)
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        self.servers()?.resume(node).await.map_err(failed)
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        if let Some(observer) = self.observer(node) {
            observer.master_dies().await;
        }
        self.servers()?.crash(node).await.map_err(failed)?;
        // Nobody reaches it before its observer does.
        self.wire.close_node(node);
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        let address = self.servers()?.restart(node).await.map_err(failed)?;
        self.observe_again(node, address).await?;
        self.wire.redirect(node, address.socket()).map_err(failed)
    }
}
