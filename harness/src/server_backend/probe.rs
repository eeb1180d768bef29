//! The server that keeps the stock, and the examination of the nodes after the run.

use std::time::Duration;

use super::{ServerBackend, failed};
use crate::backend::{Probe, Refusal, StockServer};

/// A server that does not answer within this time counts as silent.
const ANSWER: Duration = Duration::from_secs(1);

impl StockServer for ServerBackend {
    async fn ask_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let open = self.store.borrow().clone();
        let mut store = match open {
            Some(store) => store,
            None => {
                // It is the server after the last node. The proxy has no link to it.
                let address = self.servers()?.address(self.parts.nodes);
                let opened = address.connection(ANSWER).await.map_err(|error| {
                    self.record_if_exhausted("the server of the stock cannot be asked", &error);
                    failed(error)
                })?;
                self.store.borrow_mut().get_or_insert(opened).clone()
            }
        };
        let mut words = redis::Cmd::new();
        words.arg(command);
        let asked = words.query_async(&mut store);
        match tokio::time::timeout(ANSWER, asked).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(Refusal::Failed("no answer in time".into())),
        }
    }
}

impl Probe for ServerBackend {
    async fn why_lost(&self, node: usize) -> Option<String> {
        let address = self.address(node).ok()?;
        let error = address.query::<()>(&["PING"], ANSWER).await.err()?;
        self.record_if_exhausted(&format!("node {node} cannot be asked"), &error);
        let mut reason = format!("it does not answer any more: {error}");
        // A promoted replica has another process.
        let is_first = !self.promoted.borrow().contains_key(&node);
        if let Some(servers) = self.servers().ok().filter(|_| is_first) {
            let condition = servers.condition(node).await;
            let is_there = condition.split(';').next().unwrap_or_default();
            reason = format!("{reason}; {is_there}");
        }
        Some(reason)
    }

    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        // In a Cluster one of the servers has the key, and the others refuse.
        let end = match self.parts.nodes {
            1 => self.watched(),
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
        let look = address.query::<i64>(&words, ANSWER);
        match tokio::time::timeout(ANSWER, look).await.ok()? {
            // −2: there is no such key.
            Ok(left) => (left != -2).then_some(left),
            Err(error) => {
                let what = format!("the keys of node {server} cannot be looked at");
                self.record_if_exhausted(&what, &error);
                None
            }
        }
    }
}
