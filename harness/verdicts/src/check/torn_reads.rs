//! Torn reads, in which a reader reads one half of a value before a change and the other half after it.
//!
//! Halves that differ are a violation only if a writer was in the middle of a change while the reader was reading. The
//! change of a writer that died remains half done until another writer repairs it, and no lock can prevent that.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Observation;
use crate::history::{Event, EventKind};

/// A client that holds the lock.
#[derive(Debug, Clone, Default)]
struct Inside {
    /// Number of grants before the client's own grant.
    order: u64,
    lock: u32,
    /// Whether the client has changed only one half so far.
    is_changing: bool,
    /// Whether the client has read only one half so far.
    is_reading: bool,
    /// The writers that were changing the value while this client was reading it.
    writers: BTreeSet<u64>,
}

/// Finds torn reads.
#[derive(Debug, Default)]
pub(super) struct TornReads {
    granted: u64,
    inside: BTreeMap<u64, Inside>,
}

impl TornReads {
    /// Handles the beginning of a hold.
    pub(super) fn begun(&mut self, op: u64, lock: u32) {
        self.granted += 1;
        let inside = Inside {
            order: self.granted,
            lock,
            ..Inside::default()
        };
        self.inside.insert(op, inside);
    }

    /// Handles the end of a hold.
    pub(super) fn ended(&mut self, op: u64) {
        self.inside.remove(&op);
    }

    /// Handles an event. Returns a torn read if the event completes one.
    pub(super) fn event(&mut self, event: &Event) -> Option<Observation> {
        match event.what {
            EventKind::StockRead { op, key, .. } => self.begin_reading(op, key),
            EventKind::StockChanged { op, key, .. } => {
                if let Some(writer) = self.inside.get_mut(&op) {
                    writer.is_changing = true;
                }
                self.meet(op, key);
            }
            EventKind::ValueWritten { op, key, .. } => {
                self.meet(op, key);
                if let Some(writer) = self.inside.get_mut(&op) {
                    writer.is_changing = false;
                }
            }
            EventKind::ValueRead {
                op, first, second, ..
            } if first != second => return self.torn(op),
            _ => {}
        }
        None
    }

    fn begin_reading(&mut self, op: u64, lock: u32) {
        let changing = self
            .inside
            .iter()
            .filter(|(other, it)| **other != op && it.lock == lock && it.is_changing);
        let writers = changing.map(|(other, _)| *other).collect();
        if let Some(reader) = self.inside.get_mut(&op) {
            (reader.is_reading, reader.writers) = (true, writers);
        }
    }

    /// Records that a writer changes the value while others are reading it.
    fn meet(&mut self, writer: u64, lock: u32) {
        let readers = self
            .inside
            .iter_mut()
            .filter(|(op, it)| **op != writer && it.lock == lock && it.is_reading);
        for (_, reader) in readers {
            reader.writers.insert(writer);
        }
    }

    /// Returns the finding about a reader that read two different halves, or `None` if no concurrent change of a writer
    /// explains them.
    fn torn(&self, op: u64) -> Option<Observation> {
        let reader = self.inside.get(&op)?;
        let order = |op: &u64| self.inside.get(op).map_or(0, |reader| reader.order);
        let writer = *reader.writers.first()?;
        let (holder, later) = if order(&writer) <= reader.order {
            (writer, op)
        } else {
            (op, writer)
        };
        let holders = vec![holder];
        Some(Observation::Overlap { holders, later })
    }
}
