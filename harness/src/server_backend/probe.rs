//! Access to the stock server, and checks of the nodes.

use std::time::Duration;

use super::{ServerBackend, failed};
use crate::backend::{Probe, Refusal, StockServer};

/// How long to wait for a server's answer.
const ANSWER: Duration = Duration::from_secs(1);

impl StockServer for ServerBackend {
    async fn query_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let open = self.store.borrow().clone();
        let mut store = match open {
            Some(store) => store,
            None => {
                // The stock server comes after the last node. The proxy has no link to it.
                let address = self.servers()?.address(self.parts.nodes);
                let opened = address.connection(ANSWER).await.map_err(|error| {
                    self.record_exhaustion("the stock server cannot be reached", &error);
                    failed(error)
                })?;
                self.store.borrow_mut().get_or_insert(opened).clone()
            }
        };
        let mut cmd = redis::Cmd::new();
        cmd.arg(command);
        match tokio::time::timeout(ANSWER, cmd.query_async(&mut store)).await {
            Ok(reply) => reply.map_err(failed),
            Err(_) => Err(Refusal::Failed(format!(
                "the stock server did not answer within {ANSWER:?}"
            ))),
        }
    }
}

impl Probe for ServerBackend {
    async fn why_lost(&self, node: usize) -> Option<String> {
        let address = self.address(node).ok()?;
        let error = address.query::<()>(&["PING"], ANSWER).await.err()?;
        self.record_exhaustion(&format!("node {node} cannot be reached"), &error);
        let mut reason = format!("it no longer answers: {error}");
        // The condition of the first server does not explain why a promoted replica does not answer.
        let is_first = !self.promoted.borrow().contains_key(&node);
        if let Some(servers) = self.servers().ok().filter(|_| is_first) {
            let condition = servers.condition(node).await;
            let is_there = condition.split(';').next().unwrap_or_default();
            reason = format!("{reason}; {is_there}");
        }
        Some(reason)
    }

    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        // In a Cluster, only one server has the key, and the others refuse the command.
        let end = match self.parts.nodes {
            1 => self.watched_servers(),
            _ => node + 1,
        };
        for server in node..end {
            let left = self.ttl_ms_at(server, key).await;
            if left.is_some() {
                return left;
            }
        }
        None
    }
}

impl ServerBackend {
    async fn ttl_ms_at(&self, server: usize, key: &str) -> Option<i64> {
        let address = self.address(server).ok()?;
        let words = ["PTTL", key];
        let query = address.query::<i64>(&words, ANSWER);
        match tokio::time::timeout(ANSWER, query).await.ok()? {
            // −2 means that the key does not exist.
            Ok(left) => (left != -2).then_some(left),
            Err(error) => {
                let message = format!("the keys of node {server} cannot be read");
                self.record_exhaustion(&message, &error);
                None
            }
        }
    }
}
