//! Starts a client: starts its worker and sends it `init`.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{LockFeature, LockKind, Seeds};

use super::client_driver::{ClientDriver, GRACE};
use super::worker_client::{WorkerClient, WorkerFailure};
use crate::adapter::message::{
    Answer, Init, Offers, PROTOCOL, PROTOCOLS, RequestKind, SHARED_PROTOCOL,
};
use crate::backend::{Backend, Refusal};
use crate::clock::millis;
use crate::context::{LockIdentity, RunContext};
use crate::history::{Declarations, EventKind};
use crate::rng;
use crate::spec::RunSpec;

/// How long a worker may take to start. The time is long because it is not part of the test, and a container or a
/// language runtime needs seconds to start on a busy machine.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Extension of the time limit per worker, because workers start together and share the CPUs.
const START_TIMEOUT_PER_WORKER: Duration = Duration::from_millis(200);

/// Minimum node timeout. A busy machine may take this long to answer.
const MIN_NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// Creates the first request to a worker.
pub(super) fn init(spec: &RunSpec, worker: usize, nodes: Vec<String>, seed: u64) -> Init {
    let workload = &spec.scenario.workload;
    Init {
        protocol: PROTOCOL,
        protocols: PROTOCOLS.to_vec(),
        worker,
        nodes,
        timeout_ms: millis(node_timeout(spec)),
        seed,
        options: spec.lock.options_by_name(),
        warm_up: None,
        ttl_ms: None,
        capacity: workload.needs_permits().then_some(workload.capacity),
    }
}

/// Requests a worker to warm up before the run begins. A restarted worker does not warm up, because faults that are
/// meant for the run would affect the warm-up.
fn with_warm_up(spec: &RunSpec, incarnation: u32, init: Init) -> Init {
    let is_first = incarnation == 0;
    Init {
        warm_up: is_first.then(|| format!("{}{:04}", spec.warm_up_prefix(), init.worker)),
        ttl_ms: is_first.then(|| spec.ttl_ms()),
        ..init
    }
}

/// Returns how long a program's command waits for the answer of a node. A lock on several nodes must be able to query
/// all of them within its lease, even if some are dead. Locks whose code is in this process handle that themselves.
fn node_timeout(spec: &RunSpec) -> Duration {
    let timeout = spec.command_timeout();
    let waits_for_several = spec.nodes() > 1 && spec.lock.command.is_some();
    if waits_for_several {
        timeout.min((spec.ttl() / 10).max(MIN_NODE_TIMEOUT))
    } else {
        timeout
    }
}

/// Records the features that the scenario requires but the lock does not offer. Such features make the scenario not
/// applicable. Records the lock's name, its declarations and the features that it offers.
fn record_ready<B>(context: &RunContext<B>, ready: Answer) {
    let Answer::Ready {
        name,
        version,
        extends,
        min_hold_ms,
        lease_margin_ms,
        offers,
    } = ready
    else {
        return;
    };
    let declares = Declarations {
        min_hold_ms: min_hold_ms.unwrap_or(0),
        lease_margin_ms: lease_margin_ms.unwrap_or(0),
    };
    context.declared.set(context.declared.get().or(declares));
    let identity = LockIdentity::new(name, version);
    context.identity.set(Some(identity));
    record_offers(context, extends, offers);
}

fn record_offers<B>(context: &RunContext<B>, extends: Option<bool>, offers: Offers) {
    let (spec, applicability) = (&context.spec, &context.applicability);
    let extends = extends != Some(false) || spec.lock.renews;
    if !extends && spec.scenario.workload.extend.is_some() {
        applicability.cannot_extend("`ready` contains `extends: false`");
    }
    if offers.protocol == Some(SHARED_PROTOCOL) && offers.is(LockKind::Leader) {
        applicability.record_answers_act();
    }
    let lacks = |feature: &LockFeature| !offers.has(*feature);
    if let Some(feature) = spec.scenario.required_features().into_iter().find(lacks) {
        applicability.does_not_offer(feature);
    }
}

fn broke_protocol(worker: usize, fault: &WorkerFailure) -> Refusal {
    Refusal::Failed(format!(
        "client {worker} broke the adapter protocol: {fault}\n  = help: `picklock adapter check COMMAND` lists all errors; `picklock docs protocol` describes the protocol"
    ))
}

impl<B: Backend> ClientDriver<B> {
    /// Starts a worker and sends it `init`.
    ///
    /// # Errors
    /// Returns an error if the worker could not be started or did not answer `ready`.
    pub async fn start(
        context: &Rc<RunContext<B>>,
        worker: usize,
        incarnation: u32,
    ) -> Result<Self, Refusal> {
        let spec = &context.spec;
        let (session, nodes) = context.backend.start_worker(worker, incarnation).await?;
        let mut client = WorkerClient::begin(context, worker, session);
        let seed = match spec.scenario.workload.seeds {
            Seeds::Same => rng::derive(spec.seed, "workers", 0),
            Seeds::Different => {
                let purpose = format!("worker {worker}");
                rng::derive(spec.seed, &purpose, u64::from(incarnation))
            }
        };
        let init = init(spec, worker, nodes.clone(), seed);
        let init = RequestKind::Init(with_warm_up(spec, incarnation, init));
        let workers = u32::try_from(spec.scenario.workload.workers).unwrap_or(u32::MAX);
        let patience = START_TIMEOUT + START_TIMEOUT_PER_WORKER * workers + spec.longest_fault();
        let failed = |reason| Err(Refusal::Failed(reason));
        match client.request(context, 0, init, patience, None).await {
            Ok(ready @ Answer::Ready { .. }) => record_ready(context, ready),
            Ok(Answer::Error { message, .. }) if spec.scenario.topology.sentinels > 0 => {
                return Err(Refusal::NoSentinels(message));
            }
            Ok(Answer::Error { message, .. }) => {
                return failed(format!("client {worker} refused to start: {message}"));
            }
            Ok(other) => {
                let fault = client.wrong_answer(context, "init", &other);
                return Err(broke_protocol(worker, &fault));
            }
            Err(fault @ WorkerFailure::BrokeProtocol(_)) => {
                return Err(broke_protocol(worker, &fault));
            }
            Err(WorkerFailure::Gone(why)) => {
                return failed(format!("client {worker} exited before it was ready: {why}"));
            }
            Err(hung @ WorkerFailure::Hung { .. }) => {
                return failed(format!("client {worker}: {hung}"));
            }
        }
        context.recorder.write(EventKind::WorkerUp {
            worker,
            incarnation,
        });
        Ok(ClientDriver {
            context: Rc::clone(context),
            worker,
            incarnation,
            client,
            patience: spec.command_timeout() * 2 + spec.longest_fault() + GRACE,
            rng: rng::stream(
                spec.seed,
                &format!("buyer {worker}"),
                u64::from(incarnation),
            ),
            unsold_keys: (0..).take(spec.scenario.workload.keys).collect(),
            nodes,
            uses_nodes: false,
            latest_op: 0,
            also_held: None,
            bought: 0,
            failed: 0,
            tick: 0,
        })
    }
}

#[cfg(test)]
mod tests {

    use picklock_scenarios::catalog;

    use super::*;
    use crate::lock_factory::LockFactory;

    #[test]
    fn worker_warms_up_with_its_own_key_on_first_start_only() {
        let lock = LockFactory::built_in(picklock_impls::find("set-nx-px").unwrap());
        let lock = lock.spec().clone();
        let spec = RunSpec::simulated(lock, catalog::named("calm").unwrap(), 1);
        let warm_up = |incarnation| {
            let init = init(&spec, 7, Vec::new(), 1);
            let init = with_warm_up(&spec, incarnation, init);
            (init.warm_up, init.ttl_ms)
        };
        let key = format!("{}warm-up:0007", spec.key_prefix());
        assert_eq!(warm_up(0), (Some(key), Some(spec.ttl_ms())));
        assert_eq!(warm_up(1), (None, None));
    }
}
