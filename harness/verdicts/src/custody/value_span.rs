//! The stay of one value on one key of one node: who wrote it, until when it was there, and why it
//! went away.

use std::collections::HashMap;
use std::sync::Arc;

use crate::history::{History, KeyChange, KeyCommand, KeyName};
use crate::timeline::ms;

use super::key_table::{Holding, KeyTable, KeyUpdate};
use super::node_clocks::NodeClocks;

/// The stay of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSpan {
    /// On which node.
    pub node: usize,
    /// Of which key.
    pub key: KeyName,
    /// The value, at the end of its stay.
    pub value: Arc<str>,
    /// The command that wrote it; `None`: it was found, or came from a disk.
    pub author: Option<KeyCommand>,
    /// When it was written, nanoseconds since the run began.
    pub from_ns: u64,
    /// The expiry that it had last, and when that was set: nanoseconds since the run began, and
    /// milliseconds by the node's clock. `None`: it never expires.
    pub expiry: Option<(u64, i64)>,
    /// Until when it was there. An expiry is over when the node's clock says so, whether or not the
    /// server has removed the key by then.
    pub until_ns: u64,
    /// Why it went away.
    pub end: SpanEnd,
}

/// Why a value went away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanEnd {
    /// It was still there when the history ended.
    Stays,
    /// Its expiry was over, at the time at which it was to be.
    RanOut,
    /// Its expiry was over early, because the node's clock was set forward meanwhile.
    ClockLeapt,
    /// A worker's command removed it.
    Removed(KeyCommand),
    /// A worker's command wrote another value.
    Overwritten(KeyCommand),
    /// It was evicted.
    Evicted,
    /// All keys were deleted.
    Flushed,
    /// The server restarted without it.
    LostInRestart,
    /// The replica that replaced the server did not have it.
    LostInFailover,
    /// How it went away was not seen.
    Unseen,
}

impl SpanEnd {
    /// The word for it in files and reports.
    pub fn word(&self) -> &'static str {
        match self {
            SpanEnd::Stays => "stays",
            SpanEnd::RanOut => "ran-out",
            SpanEnd::ClockLeapt => "clock-leapt",
            SpanEnd::Removed(_) => "removed",
            SpanEnd::Overwritten(_) => "overwritten",
            SpanEnd::Evicted => "evicted",
            SpanEnd::Flushed => "flushed",
            SpanEnd::LostInRestart => "lost-in-restart",
            SpanEnd::LostInFailover => "lost-in-failover",
            SpanEnd::Unseen => "unseen",
        }
    }
}

/// All values of all keys, in the order in which they were written.
pub fn value_spans(history: &History) -> Vec<ValueSpan> {
    let mut reader = Reader::default();
    let mut table = KeyTable::default();
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        reader.clocks.event(event);
        table.event(event, |update| reader.update(event.at_ns, update));
    }
    reader.close(end_ns);
    reader.spans.sort_by_key(|span| (span.from_ns, span.node));
    reader.spans
}

#[derive(Default)]
struct Reader {
    clocks: NodeClocks,
    spans: Vec<ValueSpan>,
    /// Where in `spans` the value is that each key holds.
    open: HashMap<(usize, KeyName), usize>,
}

impl Reader {
    fn update(&mut self, at_ns: u64, update: KeyUpdate<'_>) {
        let place = (update.node, update.key.clone());
        if update.ends_value()
            && let Some(index) = self.open.remove(&place)
        {
            self.end(index, at_ns, end_of(&update));
        }
        if let Some(now) = update.now {
            match self.open.get(&place) {
                Some(&index) => {
                    let span = &mut self.spans[index];
                    span.value = Arc::clone(&now.value);
                    span.expiry = expiry(now);
                }
                None => {
                    self.open.insert(place, self.spans.len());
                    self.spans.push(begun(&update, now));
                }
            }
        }
    }

    fn close(&mut self, end_ns: u64) {
        for index in std::mem::take(&mut self.open).into_values() {
            self.end(index, end_ns, SpanEnd::Stays);
        }
    }

    /// The value was seen to be gone at `at_ns`; its expiry may have been over before.
    fn end(&mut self, index: usize, at_ns: u64, end: SpanEnd) {
        let span = &mut self.spans[index];
        let (mut until_ns, mut end) = (at_ns, end);
        if let Some((set_ns, ttl_ms)) = span.expiry {
            let ttl_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
            let over_ns = self.clocks.over_ns(span.node, set_ns, ttl_ns);
            // The server said so itself, or nothing has looked at the key since.
            let ran_out = end == SpanEnd::RanOut || end == SpanEnd::Stays && over_ns < at_ns;
            if ran_out {
                until_ns = over_ns.min(at_ns);
                let early = over_ns < set_ns.saturating_add(ttl_ns);
                let leapt = early && self.clocks.leapt(span.node, set_ns, until_ns);
                end = if leapt {
                    SpanEnd::ClockLeapt
                } else {
                    SpanEnd::RanOut
                };
            }
        }
        span.until_ns = until_ns.max(span.from_ns);
        span.end = end;
    }
}

fn begun(update: &KeyUpdate<'_>, now: &Holding) -> ValueSpan {
    ValueSpan {
        node: update.node,
        key: update.key.clone(),
        value: Arc::clone(&now.value),
        author: now.author.clone(),
        from_ns: now.written_ns,
        expiry: expiry(now),
        until_ns: u64::MAX,
        end: SpanEnd::Stays,
    }
}

fn expiry(holding: &Holding) -> Option<(u64, i64)> {
    let ttl_ms = holding.ttl_ms?;
    Some((holding.expiry_set_ns, ttl_ms))
}

fn end_of(update: &KeyUpdate<'_>) -> SpanEnd {
    match update.why {
        KeyChange::Command(command) if update.now.is_some() => {
            SpanEnd::Overwritten(command.clone())
        }
        KeyChange::Command(command) => SpanEnd::Removed(command.clone()),
        KeyChange::Expired => SpanEnd::RanOut,
        KeyChange::Evicted => SpanEnd::Evicted,
        KeyChange::Flushed => SpanEnd::Flushed,
        KeyChange::Restarted => SpanEnd::LostInRestart,
        KeyChange::FailedOver => SpanEnd::LostInFailover,
        KeyChange::Found => SpanEnd::Unseen,
    }
}
