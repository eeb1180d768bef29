//! The account of the keys, from the nodes themselves.

use std::rc::Rc;

use super::SimWorld;
use crate::history::Event;
use crate::world::Custody;

impl Custody for Rc<SimWorld> {
    async fn key_changes(&self) -> Result<Vec<Event>, String> {
        Ok(self.network.take_key_changes())
    }
}
