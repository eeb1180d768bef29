//! The stay of one value on one key of one node: whose it was, until when, and why it went away.

use std::collections::BTreeMap;
use std::sync::Arc;

use picklock_scenarios::Phase;
use serde::Serialize;

use crate::history::{KeyChange, KeyCommand, KeyName};
use crate::timeline::ms;

use super::expiry::Expiry;
use super::key_table::KeyUpdate;
use super::lock_keys::may_be_lock_value;
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
    /// The life that it was given last. `None`: it never expires.
    pub expiry: Option<Expiry>,
    /// How its expiry was set anew after it had been written, in the order of time.
    pub renewals: Vec<Renewal>,
    /// Until when it was there. An expiry is over when the node's clock says so, whether or not the
    /// server has removed the key by then.
    pub until_ns: u64,
    /// Why it went away.
    pub end: SpanEnd,
}

impl ValueSpan {
    /// True if a lock may rest on the value.
    pub fn may_be_lock_value(&self) -> bool {
        may_be_lock_value(&self.key, self.expiry.is_some())
    }

    /// True if this worker wrote it in this attempt.
    pub fn is_of(&self, worker: usize, op: u64) -> bool {
        let author = self.author.as_ref();
        author.is_some_and(|author| author.is_of(worker, op))
    }

    /// What its writer had been asked for; `None`: nobody is known to have written it.
    pub fn phase(&self) -> Option<Phase> {
        self.author.as_ref().map(|author| author.phase)
    }

    /// True if its expiry was set again after it had been written.
    pub fn is_renewed(&self) -> bool {
        self.expiry
            .is_some_and(|expiry| expiry.set_ns > self.from_ns)
    }

    /// How commands of other clients than its writer's have set its expiry anew.
    pub fn foreign_renewals(&self) -> impl Iterator<Item = &Renewal> {
        let owner = self.author.as_ref().map(|author| author.worker);
        let renewals = self.renewals.iter();
        renewals.filter(move |renewal| owner.is_some_and(|owner| owner != renewal.by.worker))
    }

    /// True if it was there at a time.
    pub fn stands_at(&self, at_ns: u64) -> bool {
        let stays = self.end == SpanEnd::Stays;
        self.from_ns <= at_ns && (at_ns < self.until_ns || stays)
    }

    /// When it was to run out, by what had been written until a time, if nobody sets the node's clock.
    pub fn due_ns(&self, at_ns: u64) -> u64 {
        let later = self.renewals.iter().find(|renewal| renewal.at_ns > at_ns);
        let last_ns = || self.expiry.map_or(u64::MAX, Expiry::ended_at_ns);
        later.map_or_else(last_ns, |renewal| renewal.due_ns)
    }

    /// How its end concerns the client that wrote it.
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

/// An expiry that was set anew for a value that was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renewal {
    /// When, nanoseconds since the run began.
    pub at_ns: u64,
    /// The life that the value got, milliseconds by the node's clock; `None`: it never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// Until when it would have lived otherwise, if nobody sets the node's clock.
    #[serde(skip)]
    pub due_ns: u64,
    /// Whose command did that.
    pub by: KeyCommand,
}

impl Renewal {
    /// Until when the value lives from then on, if nobody sets the node's clock.
    pub fn until_ns(&self) -> u64 {
        let life_ns = |ttl_ms: i64| ms(u64::try_from(ttl_ms).unwrap_or(0));
        let life_ns = self.ttl_ms.map_or(u64::MAX, life_ns);
        self.at_ns.saturating_add(life_ns)
    }

    /// True if it lives longer than before. Lives are told in whole milliseconds.
    pub fn prolongs(&self) -> bool {
        self.until_ns() > self.due_ns.saturating_add(ms(1))
    }
}

/// How the end of a value concerns the client that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was still there when the history ended.
    Stays,
    /// Its own attempt removed it, or its expiry was over.
    Ended,
    /// Another attempt removed or replaced it.
    Taken,
    /// The server lost it, or its end was not seen.
    Lost,
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
    /// The worker's command that took the value away; `None` if none did.
    pub fn by(&self) -> Option<&KeyCommand> {
        match self {
            SpanEnd::Removed(by) | SpanEnd::Overwritten(by) => Some(by),
            _ => None,
        }
    }

    /// True for an end that no client brought about, and no expiry.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            SpanEnd::Evicted | SpanEnd::Flushed | SpanEnd::LostInRestart | SpanEnd::LostInFailover
        )
    }

    /// The word for it in files and reports.
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

/// Reads the values of all keys.
#[derive(Default)]
pub(super) struct SpanReader {
    pub clocks: NodeClocks,
    spans: Vec<ValueSpan>,
    /// Where in `spans` the value is that each key holds, by the key's place.
    open: BTreeMap<usize, usize>,
}

impl SpanReader {
    /// A key was changed.
    pub fn update(&mut self, at_ns: u64, update: KeyUpdate<'_>) {
        if update.ends_value()
            && let Some(index) = self.open.remove(&update.place)
        {
            self.end(index, at_ns, end_of(&update));
        }
        if let Some(now) = update.now {
            match self.open.get(&update.place) {
                Some(&index) => {
                    let span = &mut self.spans[index];
                    let due_ns = span.expiry.map_or(u64::MAX, Expiry::ended_at_ns);
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
                    self.open.insert(update.place, self.spans.len());
                    self.spans.push(ValueSpan {
                        node: update.node,
                        key: update.key.clone(),
                        value: Arc::clone(now.value),
                        author: now.author.cloned(),
                        from_ns: now.written_ns,
                        expiry: now.expiry,
                        renewals: Vec::new(),
                        until_ns: u64::MAX,
                        end: SpanEnd::Stays,
                    });
                }
            }
        }
    }

    /// All values, in the order in which they were written. The history ended at `end_ns`.
    pub fn close(mut self, end_ns: u64) -> Vec<ValueSpan> {
        for index in std::mem::take(&mut self.open).into_values() {
            self.end(index, end_ns, SpanEnd::Stays);
        }
        self.spans.sort_by_key(|span| (span.from_ns, span.node));
        self.spans
    }

    /// The value was seen to be gone at `at_ns`; its expiry may have been over before.
    fn end(&mut self, index: usize, at_ns: u64, mut end: SpanEnd) {
        let span = &mut self.spans[index];
        let mut until_ns = at_ns;
        if let Some(expiry) = span.expiry {
            let ended_at_ns = self.clocks.ended_at_ns(span.node, expiry);
            // The server said so itself, or something else befell a value that was over. A command
            // that found it there proves that it was not.
            let found_there = matches!(end, SpanEnd::Removed(_) | SpanEnd::Overwritten(_));
            if end == SpanEnd::RanOut || !found_there && ended_at_ns < at_ns {
                until_ns = ended_at_ns.min(at_ns);
                let early = ended_at_ns < expiry.ended_at_ns();
                end = match early && self.clocks.leapt(span.node, expiry.set_ns, until_ns) {
                    true => SpanEnd::ClockLeapt,
                    false => SpanEnd::RanOut,
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

    /// A value with a life of 5 ms on one key, which went away `at_ms`.
    fn end(at_ms: u64, why: KeyChange) -> (u64, SpanEnd) {
        let change = |at_ms: u64, value: Option<&str>, why: KeyChange| Event {
            at_ns: ms(at_ms),
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
    fn each_command_that_sets_an_expiry_is_a_renewal_of_its_sender() {
        let change = |at_ms: u64, worker: usize, command: &str, ttl_ms| Event {
            at_ns: ms(at_ms),
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
                }),
            },
        };
        let events = [
            change(0, 0, "SET", Some(50)),
            // No longer than before.
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
        let told = |it: &Renewal| (it.by.worker, it.at_ns, it.due_ns, it.prolongs());
        let all: Vec<_> = span.renewals.iter().map(told).collect();
        let expected = [
            (1, ms(10), ms(50), false),
            (1, ms(20), ms(50), true),
            (0, ms(30), ms(70), true),
            (2, ms(40), ms(80), true),
            (2, ms(45), u64::MAX, false),
        ];
        assert_eq!(all, expected);
        let foreign: Vec<_> = span.foreign_renewals().map(|it| it.by.worker).collect();
        assert_eq!(foreign, [1, 1, 2, 2]);
    }

    #[test]
    fn what_was_over_before_its_server_was_lost_had_run_out() {
        assert_eq!(end(9, KeyChange::Restarted), (ms(5), SpanEnd::RanOut));
        assert_eq!(end(9, KeyChange::FailedOver), (ms(5), SpanEnd::RanOut));
        assert_eq!(end(9, KeyChange::Flushed), (ms(5), SpanEnd::RanOut));
    }

    #[test]
    fn what_was_lost_before_it_was_over_was_lost() {
        assert_eq!(
            end(4, KeyChange::Restarted),
            (ms(4), SpanEnd::LostInRestart)
        );
        assert_eq!(
            end(4, KeyChange::FailedOver),
            (ms(4), SpanEnd::LostInFailover)
        );
        assert_eq!(end(4, KeyChange::Flushed), (ms(4), SpanEnd::Flushed));
        assert_eq!(end(4, KeyChange::Evicted), (ms(4), SpanEnd::Evicted));
        assert_eq!(end(4, KeyChange::Found), (ms(4), SpanEnd::Unseen));
    }
}
