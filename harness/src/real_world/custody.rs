//! The account of the keys on real servers.

use super::RealWorld;
use crate::history::Event;
use crate::world::Custody;

impl Custody for RealWorld {
    async fn key_changes(&self) -> Option<Vec<Event>> {
        None
    }
}
