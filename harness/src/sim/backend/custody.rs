//! The custody of the keys, from the nodes themselves.

use std::rc::Rc;

use super::SimBackend;
use crate::backend::Custody;
use crate::history::{CustodyCheck, Event};

impl Custody for Rc<SimBackend> {
    async fn key_changes(&self) -> Result<Vec<Event>, String> {
        Ok(self.network.take_key_changes())
    }

    async fn custody_check(&self) -> Option<CustodyCheck> {
        None
    }

    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>> {
        let keys = locks.iter();
        let keys = keys.map(|lock| self.network.with_node(node, |it, _| it.keys_of(lock)));
        keys.collect()
    }
}
