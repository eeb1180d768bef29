//! The key history on real servers, with one observer for each node. The observers also answer the proxy's queries
//! about the effect of commands on the locks' keys.

use std::rc::Rc;

use tokio::sync::mpsc;

use super::ServerBackend;
use super::key_observer::ObservedNode;
use crate::backend::{KeyObservation, MissingKeyHistory, Probe, Refusal};
use crate::clock::Clock;
use crate::history::{Event, KeyHistoryCheck};
use crate::key_history::ended_values;
use crate::model::ServerVersion;
use crate::monitor_replay::MonitorReplay;
use crate::proxy::EffectQuery;
use crate::servers::{BackendError, KeyReport, ServerAddress};

/// Maximum number of keys per node to check for leftovers on an external server.
const MAX_STRAY: usize = 16;

impl KeyObservation for ServerBackend {
    async fn key_changes(&self) -> Result<Vec<Event>, MissingKeyHistory> {
        let observers = self.observers.borrow().clone();
        if observers.is_empty() {
            let reason = self.unobserved_reason.borrow().clone();
            let reason = reason.unwrap_or_else(|| "the servers are not observed".into());
            return Err(reason.into());
        }
        let mut events = Vec::new();
        let mut check = KeyHistoryCheck::default();
        for (number, node) in observers.iter().enumerate() {
            let is_confirmed = node.compare().await;
            let (records, gap) = node.take();
            if let Some(gap) = gap {
                return Err(MissingKeyHistory {
                    reason: format!("node {number}: {}", gap.reason),
                    ..gap
                });
            }
            let first = events.len();
            events.extend(records.into_iter().map(|record| {
                let at_ns = record.at_ns;
                record.into_event(number, at_ns)
            }));
            let ends = ended_values(&events[first..]);
            events.extend(node.take_undeclared());
            check.ends += ends;
            check.confirmed += if is_confirmed { ends } else { 0 };
        }
        // The sort is stable, so simultaneous events of one node keep their order.
        events.sort_by_key(|event| event.at_ns);
        self.key_history_check.set(Some(check));
        Ok(events)
    }

    async fn key_history_check(&self) -> Option<KeyHistoryCheck> {
        self.key_history_check.get()
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
    /// Starts to observe the nodes' servers. Must be called before the first worker starts.
    ///
    /// # Errors
    /// Returns an error if a server does not answer, or does not report the commands that it executes.
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
            *self.unobserved_reason.borrow_mut() = Some(reason.into());
            return Ok(());
        }
        for node in 0..self.parts.nodes {
            if let KeyReport::Nothing(why) = servers.report(node) {
                let reason = format!("the server of node {node} does not allow MONITOR: {why}");
                *self.unobserved_reason.borrow_mut() = Some(reason);
                return Ok(());
            }
        }
        let shared = &self.parts.shared;
        let token = shared.as_ref().map_or("", |shared| &shared.token);
        self.parts.proxy.track_requests(token);
        let locks: Rc<[String]> = Rc::from(locks);
        let redis = servers.server();
        let version = ServerVersion::nearest(&redis.server, &redis.version);
        let mut observers = Vec::new();
        for node in 0..self.parts.nodes {
            let master = servers.address(node);
            let replicas_of_node =
                (0..replicas).map(|replica| servers.replica_address(node, replica));
            let (locks, proxy) = (Rc::clone(&locks), self.parts.proxy.clone());
            let mut replay = MonitorReplay::new(version, 1 + replicas, locks);
            if servers.report(node) == KeyReport::Commands {
                replay.expire_by_clock();
            }
            let addresses = std::iter::once(master).chain(replicas_of_node).collect();
            let (shared, clock) = (shared.clone(), clock.clone());
            match ObservedNode::begin(node, addresses, shared, replay, proxy, clock).await {
                Ok(observer) => observers.push(observer),
                Err(source) => {
                    return Err(BackendError::NotReporting {
                        address: master,
                        source,
                        condition: servers.condition(node).await,
                    });
                }
            }
        }
        let queries = self.parts.proxy.effect_queries();
        tokio::task::spawn_local(answer(queries, observers.clone()));
        *self.observers.borrow_mut() = observers;
        Ok(())
    }

    /// Returns the observer of a node, or `None` if the node is not observed.
    pub(super) fn observer(&self, node: usize) -> Option<Rc<ObservedNode>> {
        self.observers.borrow().get(node).cloned()
    }

    /// Returns keys that the lock has changed, that still exist, and whose names do not contain the run's prefix.
    /// Picklock does not remove such keys from external servers. Returns at most [`MAX_STRAY`] keys per node.
    pub async fn stray_keys(&self) -> Vec<String> {
        let Some(shared) = &self.parts.shared else {
            return Vec::new();
        };
        let mut stray = Vec::new();
        let observers = self.observers.borrow().clone();
        for (node, observer) in observers.iter().enumerate() {
            let names = observer.names_without(&shared.prefix).into_iter();
            for name in names.take(MAX_STRAY) {
                if self.key_ttl_ms(node, &name).await.is_some() {
                    stray.push(name);
                }
            }
        }
        stray
    }

    /// Resumes the observation of a node's first server after a restart.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub(super) async fn observe_again(
        &self,
        node: usize,
        address: ServerAddress,
    ) -> Result<(), Refusal> {
        let Some(observer) = self.observer(node) else {
            return Ok(());
        };
        let result = observer.restarted(0, address).await;
        result.map_err(|error| {
            Refusal::Failed(format!("the restarted server of node {node}: {error}"))
        })
    }
}

/// Answers queries until the proxy is closed. Queries about different connections do not wait for each other.
async fn answer(
    mut queries: mpsc::UnboundedReceiver<EffectQuery>,
    observers: Vec<Rc<ObservedNode>>,
) {
    while let Some(query) = queries.recv().await {
        let Some(node) = observers.get(query.node).cloned() else {
            continue;
        };
        tokio::task::spawn_local(async move {
            // The proxy may have stopped waiting for the answer.
            if let Some(effect) = node.effect_of(query.conn, query.number).await {
                query.reply.send(effect).unwrap_or_default();
            }
        });
    }
}
