//! The span of one value in one key of one node: its owner, its end, and the reason of its end.

use std::sync::Arc;

use picklock_scenarios::Phase;
use serde::Serialize;

use crate::history::{KeyChange, KeyCommand, KeyName};
use crate::timeline::ns_from_ms;

use super::expiry::Expiry;
use super::key_table::KeyUpdate;
use super::lock_keys::may_be_lock_value;
use super::node_clocks::NodeClocks;

/// The span of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSpan {
    /// The node of the key.
    pub node: usize,
    /// The key that held the value.
    pub key: KeyName,
    /// The value at the end of the span.
    pub value: Arc<str>,
    /// The command that wrote the value, or `None` if it was found or loaded from disk.
    pub author: Option<KeyCommand>,
    /// When the value was written, in nanoseconds since the run began.
    pub from_ns: u64,
    /// The lifetime with which it was written, in milliseconds on the node's clock, or `None` if it was written without
    /// an expiry. Negative if the expiry had already passed.
    pub first_ttl_ms: Option<i64>,
    /// The latest lifetime that it was given, or `None` if it never expires.
    pub expiry: Option<Expiry>,
    /// The later settings of its expiry, in chronological order.
    pub renewals: Vec<Renewal>,
    /// When it ended, in nanoseconds since the run began. The node's clock decides when the value expires, even if the
    /// server removes the key later.
    pub until_ns: u64,
    /// How it ended.
    pub end: SpanEnd,
}

impl ValueSpan {
    /// Returns `true` if a lock may rest on the value.
    pub fn may_be_lock_value(&self) -> bool {
        may_be_lock_value(&self.key, self.expiry.is_some())
    }

    /// Returns `true` if the value is an element with a score or a value that may be the end of its lease: a number of
    /// at least a billion, so a Unix time.
    pub fn has_time(&self) -> bool {
        let number = self.value.rsplit_once(": ").map(|(_, number)| number);
        let time = number.and_then(|number| number.parse::<f64>().ok());
        matches!(self.key, KeyName::Permit { .. }) && time.is_some_and(|time| time >= 1e9)
    }

    /// Returns `true` if this worker wrote the value in this attempt.
    pub fn is_of(&self, worker: usize, op: u64) -> bool {
        let author = self.author.as_ref();
        author.is_some_and(|author| author.is_of(worker, op))
    }

    /// Returns the kind of request that the value's writer was handling, or `None` if the writer is unknown.
    pub fn phase(&self) -> Option<Phase> {
        self.author.as_ref().map(|author| author.phase)
    }

    /// Returns `true` if the value's expiry was set again after it had been written.
    pub fn is_renewed(&self) -> bool {
        self.expiry
            .is_some_and(|expiry| expiry.set_ns > self.from_ns)
    }

    /// Returns the renewals of the value by clients other than its writer.
    pub fn foreign_renewals(&self) -> impl Iterator<Item = &Renewal> {
        let owner = self.author.as_ref().map(|author| author.worker);
        let renewals = self.renewals.iter();
        renewals.filter(move |renewal| owner.is_some_and(|owner| owner != renewal.by.worker))
    }

    /// Returns `true` if the value existed at this time.
    pub fn exists_at(&self, at_ns: u64) -> bool {
        let stays = self.end == SpanEnd::Stays;
        self.from_ns <= at_ns && (at_ns < self.until_ns || stays)
    }

    /// Returns when the value was due to expire according to the writes up to `at_ns`, provided that the node's clock
    /// is not set.
    pub fn due_ns(&self, at_ns: u64) -> u64 {
        let later = self.renewals.iter().find(|renewal| renewal.at_ns > at_ns);
        let last_ns = || self.expiry.map_or(u64::MAX, Expiry::expires_at_ns);
        later.map_or_else(last_ns, |renewal| renewal.due_ns)
    }

    /// Returns what the value's end means for the client that wrote it.
    pub fn fate(&self) -> Fate {
        match &self.end {
            SpanEnd::Stays => Fate::Stays,
            SpanEnd::RanOut => Fate::Ended,
            SpanEnd::Removed(by) if self.is_of(by.worker, by.op) => Fate::Ended,
            SpanEnd::Removed(_) | SpanEnd::Overwritten(_) => Fate::Taken,
            SpanEnd::ClockLeapt
            | SpanEnd::Evicted
            | SpanEnd::Flushed
            | SpanEnd::LostInRestart
            | SpanEnd::LostInFailover
            | SpanEnd::Unseen => Fate::Lost,
        }
    }
}

/// A new expiry for an existing value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renewal {
    /// When the expiry was set, in nanoseconds since the run began.
    pub at_ns: u64,
    /// The new lifetime in milliseconds on the node's clock, or `None` if the value no longer expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// When the value would have expired otherwise, if the node's clock is not set.
    #[serde(skip)]
    pub due_ns: u64,
    /// The command that set the expiry.
    pub by: KeyCommand,
}

impl Renewal {
    /// Returns when the value now expires, if the node's clock is not set.
    pub fn until_ns(&self) -> u64 {
        let life_ns = |ttl_ms: i64| ns_from_ms(u64::try_from(ttl_ms).unwrap_or(0));
        let life_ns = self.ttl_ms.map_or(u64::MAX, life_ns);
        self.at_ns.saturating_add(life_ns)
    }

    /// Returns `true` if the value lives longer than before. A millisecond is tolerated, because lifetimes are in whole
    /// milliseconds.
    pub fn prolongs(&self) -> bool {
        self.until_ns() > self.due_ns.saturating_add(ns_from_ms(1))
    }
}

/// The meaning of a value's end for the client that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The value was still there when the history ended.
    Stays,
    /// The attempt that wrote the value removed it, or it expired.
    Ended,
    /// Another attempt removed or replaced the value.
    Taken,
    /// The server lost it, or its end was not observed.
    Lost,
}

/// The ways in which a value ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanEnd {
    /// The value was still there when the history ended.
    Stays,
    /// The value expired at the time at which it was due.
    RanOut,
    /// The value expired early, because the node's clock was set forward.
    ClockLeapt,
    /// A worker's command removed it.
    Removed(KeyCommand),
    /// A worker's command wrote another value.
    Overwritten(KeyCommand),
    /// The value was evicted.
    Evicted,
    /// All keys were deleted.
    Flushed,
    /// The server restarted without it.
    LostInRestart,
    /// The replica that replaced the server did not have it.
    LostInFailover,
    /// Its end was not observed.
    Unseen,
}

impl SpanEnd {
    /// Returns the worker's command that ended the value, or `None` if no command did.
    pub fn by(&self) -> Option<&KeyCommand> {
        match self {
            SpanEnd::Removed(by) | SpanEnd::Overwritten(by) => Some(by),
            _ => None,
        }
    }

    /// Returns `true` if the server lost the value, as opposed to a client's removal and to its expiry.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            SpanEnd::Evicted | SpanEnd::Flushed | SpanEnd::LostInRestart | SpanEnd::LostInFailover
        )
    }

    /// Returns the name used in files and reports.
    pub fn as_str(&self) -> &'static str {
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

/// Builds the spans of all keys.
#[derive(Default)]
pub(super) struct SpanReader {
    pub clocks: NodeClocks,
    spans: Vec<ValueSpan>,
    /// Index of the current span of each key, by the key's number.
    open: Vec<Option<usize>>,
}

impl SpanReader {
    /// Processes a key change.
    pub fn update(&mut self, at_ns: u64, update: KeyUpdate<'_>) {
        if self.open.len() <= update.key_number {
            self.open.resize(update.key_number + 1, None);
        }
        if update.ends_value()
            && let Some(index) = self.open[update.key_number].take()
        {
            self.end(index, at_ns, end_of(&update));
        }
        if let Some(now) = update.now {
            match self.open[update.key_number] {
                Some(index) => {
                    let span = &mut self.spans[index];
                    let due_ns = span.expiry.map_or(u64::MAX, Expiry::expires_at_ns);
                    span.value = Arc::clone(now.value);
                    span.expiry = now.expiry;
                    let by = update.command().filter(|_| update.sets_expiry());
                    span.renewals.extend(by.map(|by| Renewal {
                        at_ns,
                        ttl_ms: now.expiry.map(|expiry| expiry.ttl_ms),
                        due_ns,
                        by: by.clone(),
                    }));
                }
                None => {
                    self.open[update.key_number] = Some(self.spans.len());
                    self.spans.push(ValueSpan {
                        node: update.node,
                        key: update.key.clone(),
                        value: Arc::clone(now.value),
                        author: now.author.cloned(),
                        from_ns: now.written_ns,
                        first_ttl_ms: now.expiry.map(|expiry| expiry.ttl_ms),
                        expiry: now.expiry,
                        renewals: Vec::new(),
                        until_ns: u64::MAX,
                        end: SpanEnd::Stays,
                    });
                }
            }
        }
    }

    /// Returns all spans in the order in which the values were written. The history ended at `end_ns`.
    pub fn close(mut self, end_ns: u64) -> Vec<ValueSpan> {
        for index in std::mem::take(&mut self.open).into_iter().flatten() {
            self.end(index, end_ns, SpanEnd::Stays);
        }
        self.spans.sort_by_key(|span| (span.from_ns, span.node));
        self.spans
    }

    /// Ends a span whose value was observed to be gone at `at_ns`; it may have expired earlier.
    fn end(&mut self, index: usize, at_ns: u64, mut end: SpanEnd) {
        let span = &mut self.spans[index];
        let mut until_ns = at_ns;
        if let Some(expiry) = span.expiry {
            let expires_at_ns = self.clocks.expires_at_ns(span.node, expiry);
            // The value expired if the server reports that, or if it was due to expire before another event ended it. A
            // command that found the value proves that it had not expired.
            let found_there = matches!(end, SpanEnd::Removed(_) | SpanEnd::Overwritten(_));
            if end == SpanEnd::RanOut || !found_there && expires_at_ns < at_ns {
                until_ns = expires_at_ns.min(at_ns);
                let early = expires_at_ns < expiry.expires_at_ns();
                end = if early && self.clocks.leapt(span.node, expiry.set_ns, until_ns) {
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

fn end_of(update: &KeyUpdate<'_>) -> SpanEnd {
    match update.why {
        KeyChange::Command(by) if update.now.is_some() => SpanEnd::Overwritten(by.clone()),
        KeyChange::Command(by) => SpanEnd::Removed(by.clone()),
        KeyChange::Expired => SpanEnd::RanOut,
        KeyChange::Evicted => SpanEnd::Evicted,
        KeyChange::Flushed => SpanEnd::Flushed,
        KeyChange::Restarted => SpanEnd::LostInRestart,
        KeyChange::FailedOver => SpanEnd::LostInFailover,
        KeyChange::Found => SpanEnd::Unseen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, EventKind};
    use crate::key_history::KeyTable;

    /// Returns when and how a value with a lifetime of 5 ms ended that was gone at `at_ms`.
    fn end(at_ms: u64, why: KeyChange) -> (u64, SpanEnd) {
        let change = |at_ms: u64, value: Option<&str>, why: KeyChange| Event {
            at_ns: ns_from_ms(at_ms),
            what: EventKind::KeyChanged {
                node: 0,
                key: KeyName::Lock(0),
                value: value.map(Arc::from),
                ttl_ms: value.map(|_| 5),
                why,
            },
        };
        let events = [
            change(0, Some("a"), KeyChange::Found),
            change(at_ms, None, why),
        ];
        let (mut reader, mut table) = (SpanReader::default(), KeyTable::default());
        for event in &events {
            table.event(event, |update| reader.update(event.at_ns, update));
        }
        let span = reader.spans.remove(0);
        (span.until_ns, span.end)
    }

    #[test]
    fn command_that_sets_an_expiry_is_a_renewal_of_its_sender() {
        let change = |at_ms: u64, worker: usize, command: &str, ttl_ms| Event {
            at_ns: ns_from_ms(at_ms),
            what: EventKind::KeyChanged {
                node: 0,
                key: KeyName::Lock(0),
                value: Some("a".into()),
                ttl_ms,
                why: KeyChange::Command(KeyCommand {
                    worker,
                    op: worker as u64 + 1,
                    phase: Phase::Acquire,
                    command: command.into(),
                    sent_ns: None,
                    forwarded_at_ns: None,
                    names_unread_value: false,
                }),
            },
        };
        let events = [
            change(0, 0, "SET", Some(50)),
            // This renewal does not prolong the lifetime.
            change(10, 1, "PEXPIRE", Some(40)),
            change(20, 1, "GETEX", Some(50)),
            change(30, 0, "PEXPIRE", Some(50)),
            change(40, 2, "PERSIST", None),
            change(45, 2, "PEXPIRE", Some(50)),
        ];
        let (mut reader, mut table) = (SpanReader::default(), KeyTable::default());
        for event in &events {
            table.event(event, |update| reader.update(event.at_ns, update));
        }
        let span = reader.spans.remove(0);
        let summary = |renewal: &Renewal| {
            (
                renewal.by.worker,
                renewal.at_ns,
                renewal.due_ns,
                renewal.prolongs(),
            )
        };
        let all: Vec<_> = span.renewals.iter().map(summary).collect();
        let expected = [
            (1, ns_from_ms(10), ns_from_ms(50), false),
            (1, ns_from_ms(20), ns_from_ms(50), true),
            (0, ns_from_ms(30), ns_from_ms(70), true),
            (2, ns_from_ms(40), ns_from_ms(80), true),
            (2, ns_from_ms(45), u64::MAX, false),
        ];
        assert_eq!(all, expected);
        let foreign: Vec<_> = span
            .foreign_renewals()
            .map(|renewal| renewal.by.worker)
            .collect();
        assert_eq!(foreign, [1, 1, 2, 2]);
    }

    #[test]
    fn value_that_was_over_before_its_server_was_lost_ran_out() {
        assert_eq!(
            end(9, KeyChange::Restarted),
            (ns_from_ms(5), SpanEnd::RanOut)
        );
        assert_eq!(
            end(9, KeyChange::FailedOver),
            (ns_from_ms(5), SpanEnd::RanOut)
        );
        assert_eq!(end(9, KeyChange::Flushed), (ns_from_ms(5), SpanEnd::RanOut));
    }

    #[test]
    fn value_that_was_lost_before_it_was_over_is_lost() {
        assert_eq!(
            end(4, KeyChange::Restarted),
            (ns_from_ms(4), SpanEnd::LostInRestart)
        );
        assert_eq!(
            end(4, KeyChange::FailedOver),
            (ns_from_ms(4), SpanEnd::LostInFailover)
        );
        assert_eq!(
            end(4, KeyChange::Flushed),
            (ns_from_ms(4), SpanEnd::Flushed)
        );
        assert_eq!(
            end(4, KeyChange::Evicted),
            (ns_from_ms(4), SpanEnd::Evicted)
        );
        assert_eq!(end(4, KeyChange::Found), (ns_from_ms(4), SpanEnd::Unseen));
    }
}
