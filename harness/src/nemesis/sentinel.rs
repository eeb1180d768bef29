//! A failover that the Sentinels decide: all that is done to them is that their master is frozen.
//!
//! The history tells it in two faults that overlap: the master is frozen until the Sentinels have
//! promoted a replica (and longer, as the plan says); and from the promotion until the old master
//! has been made a replica the failover is going on: as long as that, two servers hold themselves
//! for the master.

use futures_util::future::join_all;

use super::strike::{Nemesis, Undo, numbers};
use crate::history::What;
use crate::world::World;

impl<W: World> Nemesis<W> {
    /// Whoever stands at the gate waits until the Sentinels have promoted, and where the old
    /// master is to be thawed at once, until it is.
    pub(super) async fn sentinel_failover(
        &self,
        index: usize,
        nodes: Vec<usize>,
        struck: impl FnOnce(),
    ) {
        let thawed_after = self.plans()[index].duration;
        let thawed_after = thawed_after.map(|span| span.resolve(self.stage.plan.ttl));
        let frozen = self.begun("pause-node", &nodes, "until the Sentinels have failed over");
        self.lasts(frozen, Undo::Resume(nodes.clone()));
        let mut failovers = Vec::new();
        for node in &nodes {
            if let Err(refusal) = self.stage.world.pause_node(*node).await {
                return self
                    .failed(index, frozen, &refusal.to_string(), struck)
                    .await;
            }
        }
        for node in &nodes {
            match self.stage.world.promoted_by_sentinels(*node).await {
                Ok(words) => {
                    let detail = format!("decided by the Sentinels: {words}");
                    let id = self.begun("failover", &[*node], &detail);
                    self.lasts(id, Undo::Nothing);
                    failovers.push(id);
                }
                Err(refusal) => {
                    return self
                        .failed(index, frozen, &refusal.to_string(), struck)
                        .await;
                }
            }
        }
        let Some(thawed_after) = thawed_after else {
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
        for id in failovers {
            self.end(id).await;
        }
    }

    async fn failed(&self, index: usize, frozen: u32, reason: &str, struck: impl FnOnce()) {
        self.end(frozen).await;
        self.missed(index, reason);
        struck();
    }

    fn begun(&self, fault: &str, nodes: &[usize], detail: &str) -> u32 {
        let id = self.fresh_id();
        self.stage.recorder.write(What::FaultBegan {
            id,
            fault: fault.to_owned(),
            detail: format!("{fault} of node{}, {detail}", numbers(nodes)),
            workers: Vec::new(),
            nodes: nodes.to_vec(),
        });
        id
    }
}
