//! Tests after the run whether a client can still take the lock.
//!
//! A lock may leave a key without expiry behind, so that no client can ever acquire it again. If the stock is sold out,
//! no client of the run notices. Therefore an additional client tries to take the lock after the run.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{
    Action, DataAction, FaultPlan, Lasts, LockFeature, NodeAction, Phase, Resource,
};
use tokio::time::timeout;

use super::client_driver::GRACE;
use super::requests::record_idle_wait;
use super::start::{START_TIMEOUT, init};
use super::work::extension_unsupported;
use super::worker_client::{WorkerClient, WorkerFailure};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::clock::millis;
use crate::context::RunContext;
use crate::history::{EndReason, EventKind};
use crate::nemesis::record_unrequested_failovers;
use crate::rng;

/// A lease that no lock rejects as too short.
const LONG_LEASE_MS: u64 = 30_000;

/// Lets an additional client take each lock once, and then inspects the keys that are left in
/// Redis. Skips the attempts if they cannot succeed.
pub async fn probe<B: Backend>(context: &Rc<RunContext<B>>, end: EndReason) {
    if extension_unsupported(context) {
        return;
    }
    let not_offered = context.applicability.not_offered();
    let of_kind = LockFeature::of_kind(context.spec.scenario.workload.kind.lock_kind());
    let is_hopeless = (not_offered.is_some() && not_offered == of_kind)
        || matches!(
            end,
            EndReason::NodeLost | EndReason::BudgetSpent | EndReason::ClientsRefused
        );
    if is_hopeless || all_workers_failed(context) {
        return inspect_nodes(context).await;
    }
    let number = context.spec.scenario.workload.workers;
    match Prober::start(context, number).await {
        Ok(mut prober) => match prober.check_refused_lease().await {
            Some(refused) => {
                context.recorder.write(refused);
            }
            None => {
                let workload = &context.spec.scenario.workload;
                for key in (0..).take(workload.keys) {
                    if workload.needs_permits() {
                        prober.take_permits(key).await;
                    } else {
                        prober.take_once(key).await;
                    }
                }
            }
        },
        Err(reason) => failed(context, reason),
    }
    context.backend.kill_worker(number).await.ok();
    inspect_nodes(context).await;
}

async fn inspect_nodes<B: Backend>(context: &Rc<RunContext<B>>) {
    record_leftover_keys(context).await;
    record_lost_nodes(context).await;
    record_unrequested_failovers(context).await;
}

/// Returns `true` if every worker was ended because it broke the protocol or hung. A further worker of the same kind
/// would do the same, and show nothing.
fn all_workers_failed<B>(context: &RunContext<B>) -> bool {
    let mut workers = 0..context.spec.scenario.workload.workers;
    workers.all(|worker| {
        context.live_workers.is_down(worker) && context.recorder.has_misbehaved(worker)
    })
}

/// Records that the final inspection failed, so it is unknown which keys were left.
pub(super) fn failed<B>(context: &RunContext<B>, reason: String) {
    let failed = EventKind::FinalInspectionFailed { reason };
    context.recorder.write(failed);
}

/// The additional client.
pub(super) struct Prober<'a, B> {
    pub(super) context: &'a RunContext<B>,
    pub(super) number: usize,
    client: WorkerClient,
}

impl<'a, B: Backend> Prober<'a, B> {
    async fn start(context: &'a Rc<RunContext<B>>, number: usize) -> Result<Self, String> {
        let spec = &context.spec;
        let started = context.backend.start_worker(number, 0).await;
        let (session, nodes) = started.map_err(|refusal| refusal.to_string())?;
        let mut client = WorkerClient::begin(context, number, session);
        let seed = rng::derive(spec.seed, "probe", 0);
        let init = RequestKind::Init(init(spec, number, nodes, seed));
        match client.request(context, 0, init, START_TIMEOUT, None).await {
            Ok(Answer::Ready { .. }) => Ok(Prober {
                context,
                number,
                client,
            }),
            Ok(Answer::Error { message, .. }) => {
                Err(format!("a client refused to start: {message}"))
            }
            Ok(other) => Err(client.wrong_answer(context, "init", &other).to_string()),
            Err(failure) => Err(format!("a client did not get ready: {failure}")),
        }
    }

    /// Returns an event if the lock rejects the run's lease but no other. In that case all workers and this client got
    /// only definite errors, and this client acquires the lock with another lease.
    async fn check_refused_lease(&mut self) -> Option<EventKind> {
        let message = self.context.applicability.only_definite_errors()?;
        let ttl_ms = self.context.spec.ttl_ms();
        match self.acquire(0, ttl_ms, Duration::ZERO).await.ok()? {
            Answer::Error { definite: true, .. } => {}
            Answer::Granted { token, .. } => {
                self.release(0, token).await;
                return None;
            }
            _ => return None,
        }
        let whole_ms = ttl_ms.div_ceil(1000) * 1000;
        for granted_ms in [whole_ms, LONG_LEASE_MS] {
            if granted_ms == ttl_ms {
                continue;
            }
            let answer = self.acquire(0, granted_ms, Duration::ZERO).await.ok()?;
            if let Answer::Granted { token, .. } = answer {
                self.release(0, token).await;
                return Some(EventKind::LeaseRefused {
                    ttl_ms,
                    granted_ms,
                    message,
                });
            }
        }
        None
    }

    /// Makes one attempt to acquire a lock.
    pub(super) async fn acquire(
        &mut self,
        key: u32,
        ttl_ms: u64,
        wait: Duration,
    ) -> Result<Answer, WorkerFailure> {
        let context = self.context;
        let request = RequestKind::Acquire {
            key: context.key(key),
            ttl_ms,
            wait_ms: millis(wait),
            mode: context.spec.mode_of(0),
            permits: None,
        };
        context.backend.set_phase(self.number, 0, Phase::Acquire);
        let patience = wait + context.spec.command_timeout() * 2 + GRACE;
        self.client
            .request(context, 0, request, patience, None)
            .await
    }

    async fn take_once(&mut self, key: u32) {
        let context = self.context;
        let spec = &context.spec;
        // The bound includes a lease, because outstanding leases must expire first.
        let bound = spec.ttl() + spec.scenario.judge.progress_within.resolve(spec.ttl());
        let begun = context.clock.elapsed();
        let mut granted = None;
        while granted.is_none() {
            let left = bound.saturating_sub(context.clock.elapsed().saturating_sub(begun));
            if left.is_zero() {
                break;
            }
            match self.acquire(key, spec.ttl_ms(), left).await {
                Ok(Answer::Granted { token, .. }) => granted = Some(token),
                // A lock that refuses immediately must not make the probe spin.
                Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(WorkerFailure::Gone(reason)) => {
                    return failed(context, format!("the client is gone: {reason}"));
                }
                // Already recorded.
                Err(WorkerFailure::BrokeProtocol(_) | WorkerFailure::Hung { .. }) => return,
            }
        }
        record_idle_wait(context, self.number, false);
        context.backend.set_phase(self.number, 0, Phase::Idle);
        let waited = context.clock.elapsed().saturating_sub(begun);
        context.recorder.write(EventKind::Probe {
            key,
            granted: granted.is_some(),
            waited_ms: millis(waited),
            permits: None,
        });
        if let Some(token) = granted {
            self.release(key, token).await;
        }
    }

    /// Releases the lock. The result does not matter.
    pub(super) async fn release(&mut self, key: u32, token: String) {
        let key = self.context.key(key);
        let request = RequestKind::Release { key, token };
        let patience = self.context.spec.command_timeout() * 2 + GRACE;
        let client = &mut self.client;
        client
            .request(self.context, 0, request, patience, None)
            .await
            .ok();
    }
}

/// Records the keys that are left on the nodes, including those that the lock has written under a name other than its
/// own.
async fn record_leftover_keys<B: Backend>(context: &Rc<RunContext<B>>) {
    let locks = &context.spec.keys();
    for node in 0..context.spec.nodes() {
        for (key, name) in (0..).zip(locks) {
            inspect_key(context, node, key, name).await;
        }
        let written = context.backend.keys_of(node, locks);
        let written = timeout(GRACE, written).await;
        for (key, names) in (0..).zip(written.unwrap_or_default()) {
            for name in names.iter().filter(|name| !locks.contains(name)) {
                inspect_key(context, node, key, name).await;
            }
        }
    }
}

/// Records the key `name` if it is still on the node. `key` is the number of its lock.
async fn inspect_key<B: Backend>(context: &RunContext<B>, node: usize, key: u32, name: &str) {
    let query = context.backend.key_ttl_ms(node, name);
    let ttl_ms = timeout(GRACE, query).await.ok().flatten();
    if let Some(ttl_ms) = ttl_ms {
        let left = EventKind::KeyLeft { node, key, ttl_ms };
        context.recorder.write(left);
    }
}

/// Records the nodes that do not answer. All temporary faults have ended by now, so each node must answer, unless a
/// fault of the plan disables nodes permanently.
async fn record_lost_nodes<B: Backend>(context: &Rc<RunContext<B>>) {
    let mut faults = context.spec.scenario.faults.iter();
    if faults.any(disables_nodes_for_good) {
        return;
    }
    let is_recorded = |node: &usize| context.recorder.has_lost(*node);
    for node in (0..context.spec.nodes()).filter(|node| !is_recorded(node)) {
        let query = context.backend.why_lost(node);
        let answered = timeout(GRACE, query).await;
        if let Some(reason) = answered.unwrap_or_else(|_| Some("no answer".into())) {
            context.recorder.write(EventKind::NodeLost { node, reason });
        }
    }
}

fn disables_nodes_for_good(fault: &FaultPlan) -> bool {
    let disables_node = |action: Action| {
        let exhausts = Action::Data(DataAction::Exhaust(Resource::Connections));
        action == Action::Node(NodeAction::Crash) || action == exhausts
    };
    let mut actions = fault.actions().into_iter().flatten();
    fault.lasts() == Lasts::Forever && actions.any(disables_node)
}
