//! The server that stores the stock, the key history, and the inspection of the nodes after a run.

use std::rc::Rc;
use std::time::Duration;

use super::SimBackend;
use crate::backend::{KeyObservation, MissingKeyHistory, Probe, Refusal, StockServer};
use crate::history::{Event, KeyHistoryCheck};
use crate::model::Reply;
use crate::sim::network::LATENCY;

/// One-way latency of the stock server.
const STOCK_SERVER_AWAY: Duration = Duration::from_micros(100);

impl StockServer for Rc<SimBackend> {
    async fn query_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let args: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        // The command and its reply travel on a network without faults.
        tokio::time::sleep(STOCK_SERVER_AWAY).await;
        let reply = self
            .network
            .with_node(self.nodes, |store, now_ns| store.answer_once(&args, now_ns));
        tokio::time::sleep(STOCK_SERVER_AWAY).await;
        match reply {
            Reply::Int(number) => Ok(Some(number)),
            Reply::Bulk(text) => String::from_utf8_lossy(&text)
                .parse()
                .map(Some)
                .map_err(|_| Refusal::Failed(format!("{text:?} is not a number"))),
            Reply::Nil => Ok(None),
            other => Err(Refusal::Failed(format!(
                "the stock server replied {other:?}"
            ))),
        }
    }
}

impl Probe for Rc<SimBackend> {
    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        // Like a command on a separate connection, PTTL is executed after all commands still in flight.
        let slowest = Duration::from_nanos(LATENCY.end);
        tokio::time::sleep(slowest + Duration::from_millis(1)).await;
        self.network.with_node(node, |node, now_ns| {
            let answers = node.up && !node.paused;
            answers.then(|| node.key_ttl_ms(key, now_ns)).flatten()
        })
    }
}

impl KeyObservation for Rc<SimBackend> {
    async fn key_changes(&self) -> Result<Vec<Event>, MissingKeyHistory> {
        Ok(self.network.take_key_changes())
    }

    async fn key_history_check(&self) -> Option<KeyHistoryCheck> {
        None
    }

    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>> {
        let keys = locks.iter();
        let keys = keys.map(|lock| {
            self.network
                .with_node(node, |target, _| target.watch.keys_of(lock))
        });
        keys.collect()
    }
}
