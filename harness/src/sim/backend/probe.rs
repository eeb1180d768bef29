//! The server that keeps the stock, the key history of the keys, and what is found on the nodes after the run.

use std::rc::Rc;
use std::time::Duration;

use super::SimBackend;
use crate::backend::{KeyHistory, Probe, Refusal, StockServer};
use crate::history::{Event, KeyHistoryCheck};
use crate::model::Reply;
use crate::sim::network::LATENCY;

/// How far away the stock server is, one way.
const STOCK_SERVER_AWAY: Duration = Duration::from_micros(100);

impl StockServer for Rc<SimBackend> {
    async fn ask_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let args: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        // There and back on a network without faults.
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
                .map_err(|_| Refusal::Failed(format!("{text:?} is no number"))),
            Reply::Nil => Ok(None),
            other => Err(Refusal::Failed(format!("the store answered {other:?}"))),
        }
    }
}

impl Probe for Rc<SimBackend> {
    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        // As through a connection of our own: not before what is still on its way.
        let slowest = Duration::from_nanos(LATENCY.end);
        tokio::time::sleep(slowest + Duration::from_millis(1)).await;
        self.network.with_node(node, |node, now_ns| {
            let answers = node.up && !node.paused;
            answers.then(|| node.key_ttl_ms(key, now_ns)).flatten()
        })
    }
}

impl KeyHistory for Rc<SimBackend> {
    async fn key_changes(&self) -> Result<Vec<Event>, String> {
        Ok(self.network.take_key_changes())
    }

    async fn key_history_check(&self) -> Option<KeyHistoryCheck> {
        None
    }

    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>> {
        let keys = locks.iter();
        let keys = keys.map(|lock| self.network.with_node(node, |it, _| it.watch.keys_of(lock)));
        keys.collect()
    }
}
