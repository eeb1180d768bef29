//! A failover that the Sentinels decide. The nemesis only freezes the master.
//!
//! The history records it as three overlapping faults:
//!
//! - `pause-node`: the master is frozen, at least until the Sentinels have promoted a replica
//! - `failover`: lasts from the freeze until the old master has become a replica. It begins with the freeze because
//!   clients may find the new master before the nemesis does
//! - `stale-master`: all Sentinels report that they have promoted a replica, and the old master has not learnt of it

use futures_util::future::join_all;
use picklock_scenarios::{Action, DataAction, FaultKind, FaultPlan, NodeAction, Resource};

use super::active_faults::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, Refusal};
use crate::context::RunContext;
use crate::history::EventKind;

impl<B: Backend> Nemesis<B> {
    /// Runs the failover. Calls `started` when the Sentinels have promoted a replica or, if the old master has to be
    /// resumed immediately, when it is resumed.
    pub(super) async fn sentinel_failover(
        &self,
        index: usize,
        nodes: Vec<usize>,
        started: impl FnOnce(),
    ) {
        let failover = self.begin_one(
            FaultKind::Failover.as_str(),
            &nodes,
            " (left to the Sentinels)",
        );
        let frozen = self.begin_one(
            FaultKind::PauseNode.as_str(),
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
        let pause = self.plans()[index].duration;
        let Some(pause) = pause.map(|span| span.resolve(self.context.spec.ttl())) else {
            for id in [frozen, failover].into_iter().chain(stale) {
                self.never_ends(id);
            }
            return started();
        };
        if pause.is_zero() {
            self.end(frozen).await;
            started();
        } else {
            started();
            tokio::time::sleep(pause).await;
            self.end(frozen).await;
        }
        let backend = &self.context.backend;
        join_all(nodes.iter().map(|node| backend.demoted_by_sentinels(*node))).await;
        for id in stale.into_iter().chain([failover]) {
            self.end(id).await;
        }
    }

    /// Freezes the masters, and waits until the Sentinels have replaced all of them. Appends the
    /// ids of the `stale-master` faults to `stale`.
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

/// Records failovers that no fault caused. On a busy machine, Sentinels may replace a slow master, and the new master
/// may not have its keys. Nothing is recorded if a fault of the plan may cause a failover.
pub async fn record_unrequested_failovers<B: Backend>(context: &RunContext<B>) {
    let scenario = &context.spec.scenario;
    if scenario.topology.sentinels == 0 || scenario.faults.iter().any(may_cause_failover) {
        return;
    }
    for node in 0..context.spec.nodes() {
        if context.backend.failed_over_spontaneously(node).await {
            context
                .recorder
                .write(EventKind::UnrequestedFailover { node });
        }
    }
}

/// Returns `true` if the fault may cause a failover, directly or through the Sentinels.
fn may_cause_failover(fault: &FaultPlan) -> bool {
    let disables_node = |action: &Action| match action {
        Action::Node(NodeAction::Pause | NodeAction::Crash | NodeAction::FailOver) => true,
        Action::Data(DataAction::Exhaust(resource)) => *resource == Resource::Connections,
        _ => false,
    };
    fault
        .actions()
        .unwrap_or_default()
        .iter()
        .any(disables_node)
}
