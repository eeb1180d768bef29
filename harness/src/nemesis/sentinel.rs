//! A failover that the Sentinels decide: all that is done to them is that their master is frozen.
//!
//! The history tells it in three faults that overlap:
//!
//! - `pause-node`: the master is frozen, until the Sentinels have promoted a replica or longer
//! - `failover`: from the freezing until the old master has been made a replica. It begins so
//!   early because clients may find the new master before we hear of it
//! - `stale-master`: the Sentinels have promoted, all of them say so, and the old master does not
//!   know it

use futures_util::future::join_all;

use super::describe::numbers;
use super::strike::Nemesis;
use super::undo::Undo;
use crate::history::What;
use crate::world::{Refusal, World};

impl<W: World> Nemesis<W> {
    /// Whoever stands at the gate waits until the Sentinels have promoted, and where the old
    /// master is to be thawed at once, until it is.
    pub(super) async fn sentinel_failover(
        &self,
        index: usize,
        nodes: Vec<usize>,
        struck: impl FnOnce(),
    ) {
        let failover = self.begun("failover", &nodes, ", left to the Sentinels");
        self.lasts(failover, Undo::Nothing);
        let frozen = self.begun("pause-node", &nodes, ", until they have promoted a replica");
        self.lasts(frozen, Undo::Resume(nodes.clone()));
        let stale = match self.frozen_and_replaced(&nodes).await {
            Ok(stale) => stale,
            Err(refusal) => {
                self.end(frozen).await;
                self.end(failover).await;
                self.missed(index, &refusal.to_string());
                return struck();
            }
        };
        let thawed_after = self.plans()[index].duration;
        let Some(thawed_after) = thawed_after.map(|span| span.resolve(self.stage.plan.ttl)) else {
            return struck();
        };
        if thawed_after.is_zero() {
            self.end(frozen).await;
            struck();
        } else {
            struck();
            tokio::time::sleep(thawed_after).await;
            self.end(frozen).await;
        }
        let world = &self.stage.world;
        join_all(nodes.iter().map(|node| world.demoted_by_sentinels(*node))).await;
        for id in stale {
            self.end(id).await;
        }
        self.end(failover).await;
    }

    /// Freezes the masters, and waits until the Sentinels have replaced them all. Returns the
    /// numbers of the faults that began with that.
    async fn frozen_and_replaced(&self, nodes: &[usize]) -> Result<Vec<u32>, Refusal> {
        for node in nodes {
            self.stage.world.pause_node(*node).await?;
        }
        let mut stale = Vec::new();
        for node in nodes {
            let words = self.stage.world.promoted_by_sentinels(*node).await?;
            let id = self.begun("stale-master", &[*node], &format!(": {words}"));
            self.lasts(id, Undo::Nothing);
            stale.push(id);
        }
        Ok(stale)
    }

    fn begun(&self, fault: &str, nodes: &[usize], detail: &str) -> u32 {
        let id = self.fresh_id();
        self.stage.recorder.write(What::FaultBegan {
            id,
            fault: fault.to_owned(),
            detail: format!("{fault} of node{}{detail}", numbers(nodes)),
            workers: Vec::new(),
            nodes: nodes.to_vec(),
            clock: None,
        });
        id
    }
}
