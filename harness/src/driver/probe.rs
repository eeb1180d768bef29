//! After the buyers are done: can a client still take the lock?
//!
//! A lock may leave a key without expiry behind, so that no client can ever get it again. If the
//! stock is sold out, no buyer is left to notice. So an additional client tries.

use std::rc::Rc;

use picklock_scenarios::{Action, DataAction, FaultPlan, Lasts, NodeAction, Phase, Resource};
use tokio::time::timeout;

use super::requests::note_silence;
use super::work::cannot_be_extended;
use super::worker_client::{Silence, WorkerClient};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::clock::millis;
use crate::context::RunContext;
use crate::entropy;
use crate::history::{EndReason, EventKind};
use crate::nemesis::tell_unasked_failovers;

/// A lease that no lock refuses for being short.
const LONG_LEASE_MS: u64 = 30_000;

/// Lets an additional client take each lock once, and then examines the keys that are left in
/// Redis. Where that cannot come to anything, nobody tries.
pub async fn probe<W: Backend>(context: &Rc<RunContext<W>>, end: EndReason) {
    if cannot_be_extended(context) {
        return;
    }
    let prober = context.spec.scenario.workload.workers;
    let is_hopeless = matches!(
        end,
        EndReason::NodeLost | EndReason::BudgetSpent | EndReason::ClientsRefused
    );
    if is_hopeless || nobody_answers(context) {
        return look_at_nodes(context).await;
    }
    match start(context, prober).await {
        Ok(mut talk) => match refused_lease(context, prober, &mut talk).await {
            Some(refused) => {
                context.recorder.write(refused);
            }
            None => {
                for key in (0..).take(context.spec.scenario.workload.keys) {
                    take_once(context, prober, &mut talk, key).await;
                }
            }
        },
        Err(reason) => failed(context, reason),
    }
    context.backend.kill_worker(prober).await.ok();
    look_at_nodes(context).await;
}

async fn look_at_nodes<W: Backend>(context: &Rc<RunContext<W>>) {
    look_for_leftovers(context).await;
    look_for_lost_nodes(context).await;
    tell_unasked_failovers(context).await;
}

/// True if every worker was ended because it broke the protocol or hung. One more of the same kind
/// would tell nothing, and take as long.
fn nobody_answers<W>(context: &RunContext<W>) -> bool {
    let mut workers = 0..context.spec.scenario.workload.workers;
    workers.all(|worker| {
        context.live_workers.is_down(worker) && context.recorder.has_misbehaved(worker)
    })
}

/// Without this inspection it is not known what was left behind.
fn failed<W>(context: &RunContext<W>, reason: String) {
    context
        .recorder
        .write(EventKind::FinalInspectionFailed { reason });
}

async fn start<W: Backend>(
    context: &Rc<RunContext<W>>,
    prober: usize,
) -> Result<WorkerClient, String> {
    let spec = &context.spec;
    let started = context.backend.start_worker(prober, 0).await;
    let (session, nodes) = started.map_err(|refusal| refusal.to_string())?;
    let mut talk = WorkerClient::begin(context, prober, session);
    let seed = entropy::derive(spec.seed, "probe", 0);
    let init = super::start::init(spec, prober, nodes, seed);
    match talk.ask(context, 0, init, super::start::START).await {
        Ok(Answer::Ready { .. }) => Ok(talk),
        Ok(Answer::Error { message, .. }) => Err(format!("a client refused to begin: {message}")),
        Ok(other) => Err(talk.broken_by(context, "init", &other).to_string()),
        Err(silence) => Err(format!("a client did not get ready: {silence}")),
    }
}

/// What tells that the lock refuses the run's lease and no other: nobody got anything but definite errors, this client
/// gets one too, and then the lock with another lease.
async fn refused_lease<W: Backend>(
    context: &Rc<RunContext<W>>,
    prober: usize,
    talk: &mut WorkerClient,
) -> Option<EventKind> {
    let message = context.applicability.in_vain()?;
    let ttl_ms = context.spec.ttl_ms();
    match acquire_once(context, prober, talk, ttl_ms).await? {
        Answer::Error { definite: true, .. } => {}
        Answer::Granted { token, .. } => {
            release(context, talk, &context.key(0), token).await;
            return None;
        }
        _ => return None,
    }
    let whole_ms = ttl_ms.div_ceil(1000) * 1000;
    for other_ms in [whole_ms, LONG_LEASE_MS] {
        if other_ms == ttl_ms {
            continue;
        }
        if let Answer::Granted { token, .. } = acquire_once(context, prober, talk, other_ms).await?
        {
            release(context, talk, &context.key(0), token).await;
            return Some(EventKind::LeaseRefused {
                ttl_ms,
                granted_ms: other_ms,
                message,
            });
        }
    }
    None
}

/// One attempt at the first lock. `None`: the client is gone, or hangs.
async fn acquire_once<W: Backend>(
    context: &Rc<RunContext<W>>,
    prober: usize,
    talk: &mut WorkerClient,
    ttl_ms: u64,
) -> Option<Answer> {
    let ask = RequestKind::Acquire {
        key: context.key(0),
        ttl_ms,
        wait_ms: 0,
    };
    context.backend.set_phase(prober, 0, Phase::Acquire);
    let patience = context.spec.command_timeout() * 2 + super::buyer::GRACE;
    talk.ask(context, 0, ask, patience).await.ok()
}

async fn take_once<W: Backend>(
    context: &Rc<RunContext<W>>,
    prober: usize,
    talk: &mut WorkerClient,
    key: u32,
) {
    let spec = &context.spec;
    // Outstanding leases must expire first.
    let bound = spec.ttl() + spec.scenario.judge.progress_within.resolve(spec.ttl());
    let begun = context.clock.elapsed();
    let name = context.key(key);
    let mut granted = None;
    while granted.is_none() {
        let left = bound.saturating_sub(context.clock.elapsed().saturating_sub(begun));
        if left.is_zero() {
            break;
        }
        let ask = RequestKind::Acquire {
            key: name.clone(),
            ttl_ms: spec.ttl_ms(),
            wait_ms: millis(left),
        };
        context.backend.set_phase(prober, 0, Phase::Acquire);
        let patience = left + spec.command_timeout() * 2 + super::buyer::GRACE;
        match talk.ask(context, 0, ask, patience).await {
            Ok(Answer::Granted { token, .. }) => granted = Some(token),
            // A lock that refuses at once must not make the probe spin.
            Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            Err(Silence::Gone(reason)) => {
                return failed(context, format!("the client is gone: {reason}"));
            }
            // What it did is written down.
            Err(Silence::BrokeProtocol(_) | Silence::Hung { .. }) => return,
        }
    }
    note_silence(context, prober);
    context.backend.set_phase(prober, 0, Phase::Idle);
    let waited = context.clock.elapsed().saturating_sub(begun);
    context.recorder.write(EventKind::Probe {
        key,
        granted: granted.is_some(),
        waited_ms: millis(waited),
    });
    if let Some(token) = granted {
        release(context, talk, &name, token).await;
    }
}

/// The result of the release does not matter.
async fn release<W: Backend>(
    context: &Rc<RunContext<W>>,
    talk: &mut WorkerClient,
    key: &str,
    token: String,
) {
    let ask = RequestKind::Release {
        key: key.to_owned(),
        token,
    };
    let patience = context.spec.command_timeout() * 2 + super::buyer::GRACE;
    talk.ask(context, 0, ask, patience).await.ok();
}

/// A lock may have written its key under another name than its own: that is looked at, too.
async fn look_for_leftovers<W: Backend>(context: &Rc<RunContext<W>>) {
    let locks = &context.spec.keys();
    for node in 0..context.spec.nodes() {
        for (key, name) in (0..).zip(locks) {
            look_at_key(context, node, key, name).await;
        }
        let written = context.backend.keys_of(node, locks);
        let written = timeout(super::buyer::GRACE, written).await;
        for (key, names) in (0..).zip(written.unwrap_or_default()) {
            for name in names.iter().filter(|name| !locks.contains(name)) {
                look_at_key(context, node, key, name).await;
            }
        }
    }
}

/// Writes down that a key is still there, by the number of its lock.
async fn look_at_key<W: Backend>(context: &RunContext<W>, node: usize, key: u32, name: &str) {
    let look = context.backend.key_ttl_ms(node, name);
    let ttl_ms = timeout(super::buyer::GRACE, look).await.ok().flatten();
    if let Some(ttl_ms) = ttl_ms {
        context
            .recorder
            .write(EventKind::KeyLeft { node, key, ttl_ms });
    }
}

/// All faults that end have ended by now. So each node must answer, unless a fault of the plan
/// silences some of them for good.
async fn look_for_lost_nodes<W: Backend>(context: &Rc<RunContext<W>>) {
    let mut faults = context.spec.scenario.faults.iter();
    if faults.any(silences_nodes_for_good) {
        return;
    }
    let is_told = |node: &usize| context.recorder.has_lost(*node);
    for node in (0..context.spec.nodes()).filter(|node| !is_told(node)) {
        let look = context.backend.why_lost(node);
        let answered = timeout(super::buyer::GRACE, look).await;
        if let Some(reason) = answered.unwrap_or_else(|_| Some("it does not answer".into())) {
            context.recorder.write(EventKind::NodeLost { node, reason });
        }
    }
}

fn silences_nodes_for_good(fault: &FaultPlan) -> bool {
    let silences = |action: &Action| {
        let exhausts = Action::Data(DataAction::Exhaust(Resource::Connections));
        *action == Action::Node(NodeAction::Crash) || *action == exhausts
    };
    let actions = fault.actions().unwrap_or_default();
    fault.lasts() == Lasts::Forever && actions.iter().any(silences)
}
