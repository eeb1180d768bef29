//! The key history of the keys on real servers: one observer for each node. It also answers the proxy's
//! questions what a command did to the locks' keys.

use std::rc::Rc;

use tokio::sync::mpsc;

use super::ServerBackend;
use super::key_observer::ObservedNode;
use crate::backend::{KeyHistory, Probe, Refusal};
use crate::clock::Clock;
use crate::history::{Event, KeyHistoryCheck};
use crate::key_history::ended_values;
use crate::model::ServerVersion;
use crate::monitor_replay::MonitorReplay;
use crate::proxy::EffectQuery;
use crate::servers::{BackendError, KeyReport, ServerAddress};

/// So many keys of a node are looked for that may have been left on a server of somebody else.
const MAX_STRAY: usize = 16;

impl KeyHistory for ServerBackend {
    async fn key_changes(&self) -> Result<Vec<Event>, String> {
        let observed = self.observed.borrow().clone();
        if observed.is_empty() {
            let unobserved = self.unobserved.borrow().clone();
            return Err(unobserved.unwrap_or_else(|| "the servers are not observed".into()));
        }
        let mut events = Vec::new();
        let mut look = KeyHistoryCheck::default();
        for (number, node) in observed.iter().enumerate() {
            let is_confirmed = node.compare().await;
            let (records, gap) = node.take();
            if let Some(gap) = gap {
                return Err(format!("node {number}: {gap}"));
            }
            let first = events.len();
            events.extend(records.into_iter().map(|record| {
                let at_ns = record.at_ns;
                record.into_event(number, at_ns)
            }));
            let ends = ended_values(&events[first..]);
            events.extend(node.take_undeclared());
            look.ends += ends;
            look.confirmed += if is_confirmed { ends } else { 0 };
        }
        // Stable: what happens to one node at one time stays in its order.
        events.sort_by_key(|event| event.at_ns);
        self.look.set(Some(look));
        Ok(events)
    }

    async fn key_history_check(&self) -> Option<KeyHistoryCheck> {
        self.look.get()
    }

    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>> {
        let Some(observer) = self.observer(node) else {
            return Vec::new();
        };
        observer.settle().await;
        locks.iter().map(|lock| observer.keys_of(lock)).collect()
    }
}

impl ServerBackend {
    /// Listens to the nodes' servers from now on. Call it before the first worker starts.
    ///
    /// # Errors
    /// A server does not answer, or does not report what it executes.
    pub async fn observe(
        &self,
        replicas: usize,
        locks: &[String],
        clock: &Clock,
    ) -> Result<(), BackendError> {
        let Ok(servers) = self.servers() else {
            return Ok(());
        };
        if !self.cluster().unwrap_or_default().is_empty() {
            let reason = "the servers of a Redis Cluster are not observed";
            *self.unobserved.borrow_mut() = Some(reason.into());
            return Ok(());
        }
        for node in 0..self.parts.nodes {
            if let KeyReport::Nothing(why) = servers.report(node) {
                let reason = format!("the server of node {node} does not allow MONITOR: {why}");
                *self.unobserved.borrow_mut() = Some(reason);
                return Ok(());
            }
        }
        let shared = &self.parts.shared;
        let token = shared.as_ref().map_or("", |shared| &shared.token);
        self.parts.proxy.track_requests(token);
        let locks: Rc<[String]> = Rc::from(locks);
        let told = servers.server();
        let version = ServerVersion::nearest(&told.server, &told.version);
        let mut observed = Vec::new();
        for node in 0..self.parts.nodes {
            let master = servers.address(node);
            let all = (0..replicas).map(|replica| servers.replica_address(node, replica));
            let (locks, proxy) = (Rc::clone(&locks), self.parts.proxy.clone());
            let mut replay = MonitorReplay::new(version, 1 + replicas, locks);
            if servers.report(node) == KeyReport::Commands {
                replay.expire_by_clock();
            }
            let all = std::iter::once(master).chain(all).collect();
            let (shared, clock) = (shared.clone(), clock.clone());
            let begun = ObservedNode::begin(node, all, shared, replay, proxy, clock).await;
            match begun {
                Ok(begun) => observed.push(begun),
                Err(source) => {
                    return Err(BackendError::NotReporting {
                        address: master,
                        source,
                        condition: servers.condition(node).await,
                    });
                }
            }
        }
        let questions = self.parts.proxy.effect_queries();
        tokio::task::spawn_local(answer(questions, observed.clone()));
        *self.observed.borrow_mut() = observed;
        Ok(())
    }

    /// The observer of a node, if it has one.
    pub(super) fn observer(&self, node: usize) -> Option<Rc<ObservedNode>> {
        self.observed.borrow().get(node).cloned()
    }

    /// Keys that the lock has changed, that have other names than those of the run, and that are still there: on
    /// servers that somebody else has started nobody removes them. Not all where there are many.
    pub async fn stray_keys(&self) -> Vec<String> {
        let Some(shared) = &self.parts.shared else {
            return Vec::new();
        };
        let mut stray = Vec::new();
        let observed = self.observed.borrow().clone();
        for (node, observer) in observed.iter().enumerate() {
            let names = observer.names_without(&shared.prefix).into_iter();
            for name in names.take(MAX_STRAY) {
                if self.key_ttl_ms(node, &name).await.is_some() {
                    stray.push(name);
                }
            }
        }
        stray
    }

    /// A node's first server has started again.
    /// `Err`: it does not answer.
    pub(super) async fn observe_again(
        &self,
        node: usize,
        address: ServerAddress,
    ) -> Result<(), Refusal> {
        let Some(observer) = self.observer(node) else {
            return Ok(());
        };
        let listening = observer.restarted(0, address).await;
        listening.map_err(|error| {
            Refusal::Failed(format!("the restarted server of node {node}: {error}"))
        })
    }
}

/// Answers until the proxy is gone. Questions of several connections do not wait for each other.
async fn answer(
    mut questions: mpsc::UnboundedReceiver<EffectQuery>,
    observed: Vec<Rc<ObservedNode>>,
) {
    while let Some(asked) = questions.recv().await {
        let Some(node) = observed.get(asked.node).cloned() else {
            continue;
        };
        tokio::task::spawn_local(async move {
            // Who has asked may have stopped waiting.
            if let Some(effect) = node.effect_of(asked.conn, asked.number).await {
                asked.reply.send(effect).unwrap_or_default();
            }
        });
    }
}
