//! How a buyer starts: its worker is started and receives `init`.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{LockFeature, Seeds};

use super::client_driver::{ClientDriver, GRACE};
use super::worker_client::{Silence, WorkerClient};
use crate::adapter::message::{Answer, Init, Offers, PROTOCOL, PROTOCOLS, RequestKind};
use crate::backend::{Backend, Refusal};
use crate::clock::millis;
use crate::context::{LockIdentity, RunContext};
use crate::history::EventKind;
use crate::rng;
use crate::spec::RunSpec;

/// How long a worker may take to start. Nothing is tested by then, and a container or a virtual machine of a
/// language needs seconds where the machine is busy.
pub(super) const START: Duration = Duration::from_secs(30);

/// Workers start together and share the processors. The time limit grows by this much for each of
/// them.
const START_EACH: Duration = Duration::from_millis(200);

/// A busy machine may take as long to answer.
const SHORTEST_NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// The first request to a worker.
pub(super) fn init(spec: &RunSpec, worker: usize, nodes: Vec<String>, seed: u64) -> Init {
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
    }
}

/// Before the run begins a worker warms up. One that starts again would meet the faults that are meant for the run.
fn warming_up(spec: &RunSpec, incarnation: u32, init: Init) -> Init {
    let is_first = incarnation == 0;
    Init {
        warm_up: is_first.then(|| format!("{}{:04}", spec.warm_up_prefix(), init.worker)),
        ttl_ms: is_first.then(|| spec.ttl_ms()),
        ..init
    }
}

/// How long a program's command waits for the answer of a node. A lock on several nodes must be able to ask all of
/// them within its lease, though some are dead. Locks whose code is here know that by themselves.
fn node_timeout(spec: &RunSpec) -> Duration {
    let timeout = spec.command_timeout();
    match spec.nodes() > 1 && spec.lock.command.is_some() {
        true => timeout.min(spec.shortest_delay().max(SHORTEST_NODE_TIMEOUT)),
        false => timeout,
    }
}

/// What the scenario asks for, and the lock does not offer, makes it not applicable.
fn record_offers<B>(context: &RunContext<B>, extends: Option<bool>, offers: Offers) {
    let (spec, applicability) = (&context.spec, &context.applicability);
    let extends = extends != Some(false) || spec.lock.renews;
    if !extends && spec.scenario.workload.extend.is_some() {
        applicability.cannot_extend("it says so in `ready`");
    }
    let lacks = |feature: &LockFeature| !offers.has(*feature);
    if let Some(feature) = spec.scenario.asks_for().into_iter().find(lacks) {
        applicability.does_not_offer(feature);
    }
}

fn broke(worker: usize, fault: &Silence) -> Refusal {
    Refusal::Failed(format!(
        "worker {worker} broke the adapter protocol: {fault}\n  = help: `picklock adapter check COMMAND` says what else is wrong; `picklock docs protocol` has the rules"
    ))
}

impl<B: Backend> ClientDriver<B> {
    /// Starts a worker and sends it `init`.
    ///
    /// # Errors
    /// It could not be started, or did not answer `ready`.
    pub async fn start(
        context: &Rc<RunContext<B>>,
        worker: usize,
        incarnation: u32,
    ) -> Result<Self, Refusal> {
        let spec = &context.spec;
        let (session, nodes) = context.backend.start_worker(worker, incarnation).await?;
        let mut talk = WorkerClient::begin(context, worker, session);
        let seed = match spec.scenario.workload.seeds {
            Seeds::Same => rng::derive(spec.seed, "workers", 0),
            Seeds::Different => {
                let purpose = format!("worker {worker}");
                rng::derive(spec.seed, &purpose, u64::from(incarnation))
            }
        };
        let init = init(spec, worker, nodes.clone(), seed);
        let init = RequestKind::Init(warming_up(spec, incarnation, init));
        let workers = u32::try_from(spec.scenario.workload.workers).unwrap_or(u32::MAX);
        let patience = START + START_EACH * workers + spec.longest_fault();
        let failed = |reason| Err(Refusal::Failed(reason));
        match talk.ask(context, 0, init, patience, None).await {
            Ok(Answer::Ready {
                name,
                version,
                extends,
                offers,
            }) => {
                let identity = LockIdentity::new(name, version);
                context.identity.set(Some(identity));
                record_offers(context, extends, offers);
            }
            Ok(Answer::Error { message, .. }) if spec.scenario.topology.sentinels > 0 => {
                return Err(Refusal::NoSentinels(message));
            }
            Ok(Answer::Error { message, .. }) => {
                return failed(format!("worker {worker} refused to begin: {message}"));
            }
            Ok(other) => {
                return Err(broke(worker, &talk.broken_by(context, "init", &other)));
            }
            Err(fault @ Silence::BrokeProtocol(_)) => return Err(broke(worker, &fault)),
            Err(Silence::Gone(reason)) => {
                let text = format!("worker {worker} ended before it was ready: {reason}");
                return failed(text);
            }
            Err(hung @ Silence::Hung { .. }) => return failed(format!("worker {worker}: {hung}")),
        }
        context.recorder.write(EventKind::WorkerUp {
            worker,
            incarnation,
        });
        Ok(ClientDriver {
            context: Rc::clone(context),
            worker,
            incarnation,
            talk,
            patience: spec.command_timeout() * 2 + spec.longest_fault() + GRACE,
            rng: rng::stream(
                spec.seed,
                &format!("buyer {worker}"),
                u64::from(incarnation),
            ),
            open_keys: (0..).take(spec.scenario.workload.keys).collect(),
            nodes,
            uses_nodes: false,
            bought: 0,
            failed: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use picklock_scenarios::catalog;

    use super::*;
    use crate::lock_factory::LockFactory;

    #[test]
    fn worker_warms_up_with_a_key_of_its_own_unless_it_starts_again() {
        let lock = LockFactory::built_in(picklock_impls::find("set-nx-px").unwrap());
        let lock = lock.spec(&BTreeMap::new());
        let spec = RunSpec::simulated(lock, catalog::named("calm").unwrap(), 1);
        let of = |incarnation| {
            let init = init(&spec, 7, Vec::new(), 1);
            let init = warming_up(&spec, incarnation, init);
            (init.warm_up, init.ttl_ms)
        };
        let key = format!("{}warm-up:0007", spec.key_prefix());
        assert_eq!(of(0), (Some(key), Some(spec.ttl_ms())));
        assert_eq!(of(1), (None, None));
    }
}
