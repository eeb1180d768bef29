//! A failover that the Sentinels decide. The only thing done to them is that their master is
//! frozen.
//!
//! The history tells it as three faults that overlap:
//!
//! - `pause-node`: the master is frozen, until the Sentinels have promoted a replica or longer
//! - `failover`: from the freezing until the old master has been made a replica. It begins this
//!   early because clients may find the new master before we do
//! - `stale-master`: the Sentinels have promoted a replica, all of them say so, and the old master
//!   does not know it

use futures_util::future::join_all;
use picklock_scenarios::{Action, DataAction, FaultPlan, NodeAction, Resource};

use super::active_faults::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, Refusal};
use crate::context::RunContext;
use crate::history::EventKind;

impl<B: Backend> Nemesis<B> {
    /// `started` is called when the Sentinels have promoted a replica, and if the old master is to
    /// continue at once, when it does.
    pub(super) async fn sentinel_failover(
        &self,
        index: usize,
        nodes: Vec<usize>,
        started: impl FnOnce(),
    ) {
        let failover = self.begin_one("failover", &nodes, " (left to the Sentinels)");
        let frozen = self.begin_one(
            "pause-node",
            &nodes,
            " (until they have promoted a replica)",
        );
        let mut stale = Vec::new();
        if let Err(refusal) = self.freeze_and_replace(&nodes, frozen, &mut stale).await {
            for id in [frozen].into_iter().chain(stale).chain([failover]) {
                self.end(id).await;
            }
            self.refused(index, &refusal);
            return started();
        }
        let thawed_after = self.plans()[index].duration;
        let Some(thawed_after) = thawed_after.map(|span| span.resolve(self.context.spec.ttl()))
        else {
            for id in [frozen, failover].into_iter().chain(stale) {
                self.never_ends(id);
            }
            return started();
        };
        if thawed_after.is_zero() {
            self.end(frozen).await;
            started();
        } else {
            started();
            tokio::time::sleep(thawed_after).await;
            self.end(frozen).await;
        }
        let backend = &self.context.backend;
        join_all(nodes.iter().map(|node| backend.demoted_by_sentinels(*node))).await;
        for id in stale.into_iter().chain([failover]) {
            self.end(id).await;
        }
    }

    /// Freezes the masters, and waits until the Sentinels have replaced them all. `stale` gets the
    /// numbers of the faults that begin with that.
    async fn freeze_and_replace(
        &self,
        nodes: &[usize],
        frozen: u32,
        stale: &mut Vec<u32>,
    ) -> Result<(), Refusal> {
        record_unrequested_failovers(&self.context).await;
        for node in nodes {
            self.context.backend.pause_node(*node).await?;
            self.active_faults.record(frozen, Undo::ResumeNode(*node));
        }
        for node in nodes {
            let words = self.context.backend.promoted_by_sentinels(*node).await?;
            stale.push(self.begin_one("stale-master", &[*node], &format!(" ({words})")));
        }
        Ok(())
    }

    fn begin_one(&self, fault: &str, nodes: &[usize], detail: &str) -> u32 {
        let numbers: Vec<String> = nodes.iter().map(ToString::to_string).collect();
        let plural = if nodes.len() == 1 { "" } else { "s" };
        self.begin(EventKind::FaultBegan {
            id: self.next_id(),
            fault: fault.to_owned(),
            detail: format!("{fault} of node{plural} {}{detail}", numbers.join(", ")),
            workers: Vec::new(),
            nodes: nodes.to_vec(),
            clock: None,
            delay_ms: None,
        })
    }
}

/// Sentinels take a master for dead that a busy machine holds up, and the new one need not have its keys. Where a fault
/// of the plan silences servers, a failover is what it brings about.
pub async fn record_unrequested_failovers<B: Backend>(context: &RunContext<B>) {
    let scenario = &context.spec.scenario;
    if scenario.topology.sentinels == 0 || scenario.faults.iter().any(silences_nodes) {
        return;
    }
    for node in 0..context.spec.nodes() {
        if context.backend.failed_over_unasked(node).await {
            context
                .recorder
                .write(EventKind::UnrequestedFailover { node });
        }
    }
}

/// Whether the Sentinels may have to act, beside a failover that is left to them.
fn silences_nodes(fault: &FaultPlan) -> bool {
    let freeze_monitor = |action: &Action| match action {
        Action::Node(NodeAction::Pause | NodeAction::Crash | NodeAction::FailOver) => true,
        Action::Data(DataAction::Exhaust(resource)) => *resource == Resource::Connections,
        _ => false,
    };
    fault
        .actions()
        .unwrap_or_default()
        .iter()
        .any(freeze_monitor)
}
