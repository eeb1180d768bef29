//! The judge's own key history: which value was in which key of which node, who wrote it, and how it went away. Read
//! from the `key-changed` lines alone.

use std::collections::{BTreeMap, BTreeSet};

use super::attempt::Attempt;
use super::line::{File, Line, MS};

/// A worker's command, as observed on the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub worker: u64,
    pub op: u64,
    pub phase: String,
    pub command: String,
}

/// How a value went away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Stays,
    RanOut,
    Evicted,
    Flushed,
    Restarted,
    FailedOver,
    Unseen,
    Removed(Author),
    Overwritten(Author),
}

/// An expiry of a value: when it was set, the lifetime in nanoseconds (`None` for no expiry), and by which command.
#[derive(Debug, Clone)]
pub struct Expiry {
    pub at: u64,
    pub ttl: Option<u64>,
    pub by: Option<Author>,
}

/// A value, from its first writing to its end.
#[derive(Debug, Clone)]
pub struct Value {
    pub node: u64,
    pub key: String,
    pub text: String,
    pub from: u64,
    pub until: u64,
    /// The command that wrote it first, or `None` if no command did.
    pub author: Option<Author>,
    /// The worker whose acquisition wrote it, or wrote the value of the same attempt that it replaced.
    pub acquirer: Option<u64>,
    /// The attempt that owns the value: the one whose acquisition wrote this text, if one did.
    pub owner: Option<(u64, u64)>,
    pub expiries: Vec<Expiry>,
    pub end: End,
    pub line: usize,
}

impl Value {
    /// Returns when the value expires according to the expiry that was written last by `at`.
    pub fn runs_out(&self, at: u64) -> u64 {
        let mut before = self.expiries.iter().filter(|one| one.at <= at);
        let last = before.next_back();
        last.map_or(0, |one| {
            one.ttl.map_or(u64::MAX, |ttl| one.at.saturating_add(ttl))
        })
    }

    /// Returns `true` if the value existed at this time.
    pub fn exists_at(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }
}

/// The key history of a run.
pub struct KeyHistory {
    pub values: Vec<Value>,
    /// The keys that each lock uses.
    pub keys: Vec<BTreeSet<String>>,
}

fn author(line: &Line) -> Option<Author> {
    (line.text("why") == "command").then(|| Author {
        worker: line.num("worker").unwrap_or(u64::MAX),
        op: line.num("op").unwrap_or(u64::MAX),
        phase: line.text("phase").to_owned(),
        command: line.text("command").to_owned(),
    })
}

/// Returns the name of the key that a line is about.
fn key(file: &File, line: &Line) -> String {
    match line.raw("key").as_u64() {
        Some(lock) => file.locks[lock as usize].clone(),
        None => line.text("key").to_owned(),
    }
}

fn end(line: &Line) -> End {
    match (line.text("why"), author(line)) {
        (_, Some(author)) if line.has("value") => End::Overwritten(author),
        (_, Some(author)) => End::Removed(author),
        ("expired", _) => End::RanOut,
        ("evicted", _) => End::Evicted,
        ("flushed", _) => End::Flushed,
        ("restarted", _) => End::Restarted,
        ("failed-over", _) => End::FailedOver,
        _ => End::Unseen,
    }
}

impl KeyHistory {
    /// Reads the key history of a file. The attempts contain the tokens, which identify the keys of locks.
    pub fn read(file: &File, attempts: &[Attempt]) -> KeyHistory {
        let mut values: Vec<Value> = Vec::new();
        let mut current: BTreeMap<(u64, String), usize> = BTreeMap::new();
        let mut first_owner: BTreeMap<(u64, String, String), (u64, u64)> = BTreeMap::new();
        for line in file.events("key-changed") {
            let key = key(file, line);
            let place = (line.num("node").unwrap_or_default(), key.clone());
            let author = author(line);
            let expiry = Expiry {
                at: line.at,
                ttl: line.signed("ttl_ms").map(|ms| ms.max(0) as u64 * MS),
                by: author.clone(),
            };
            let acquires = author.as_ref().filter(|by| by.phase == "acquire");
            let mut acquirer = acquires.map(|by| by.worker);
            if let Some(index) = current.get(&place) {
                let old = &mut values[*index];
                let attempt = |by: &Author| (by.worker, by.op);
                if old.author.as_ref().map(attempt) == author.as_ref().map(attempt) {
                    acquirer = acquirer.or(old.acquirer);
                }
                // The same value with another expiry.
                if line.has("value") && old.text == line.text("value") {
                    old.expiries.push(expiry);
                    continue;
                }
                old.until = line.at;
                old.end = end(line);
                current.remove(&place);
            }
            if !line.has("value") {
                continue;
            }
            let text = line.text("value").to_owned();
            let owner = author.as_ref().map(|by| {
                let mine = (by.worker, by.op);
                let known = (by.worker, key.clone(), text.clone());
                match by.phase.as_str() {
                    "acquire" => *first_owner
                        .entry(known)
                        .and_modify(|o| *o = mine)
                        .or_insert(mine),
                    _ => *first_owner.get(&known).unwrap_or(&mine),
                }
            });
            current.insert(place, values.len());
            values.push(Value {
                node: line.num("node").unwrap_or_default(),
                key,
                text,
                from: line.at,
                until: u64::MAX,
                author,
                acquirer,
                owner,
                expiries: vec![expiry],
                end: End::Stays,
                line: line.number,
            });
        }
        apply_expiries(file, &mut values);
        let locks = (0..).zip(&file.locks);
        let keys = locks
            .map(|(lock, name)| keys_of(lock, name, &values, attempts))
            .collect();
        KeyHistory { keys, values }
    }

    /// Returns the values of a lock on all nodes, in the order in which they were written.
    pub fn values_of_lock(&self, lock: u64) -> impl Iterator<Item = &Value> {
        let keys = &self.keys[lock as usize];
        self.values
            .iter()
            .filter(move |value| keys.contains(&value.key))
    }

    /// Returns the values of an attempt in the keys of its lock.
    pub fn values_of_attempt<'a>(
        &'a self,
        attempt: &'a Attempt,
    ) -> impl Iterator<Item = &'a Value> {
        // The owner first: a lock may use a key of its own for each attempt, and a long run has thousands of them.
        let mine = Some((attempt.worker, attempt.op));
        let keys = &self.keys[attempt.key as usize];
        let own = self.values.iter().filter(move |value| value.owner == mine);
        own.filter(move |value| keys.contains(&value.key))
    }
}

/// Ends each value when its expiry is over by the node's clock. The server notices this later, or never, if it is
/// down. It counts in whole milliseconds, so a value may exist for up to one more.
fn apply_expiries(file: &File, values: &mut [Value]) {
    for value in values {
        let clock = file.events("fault-began").any(|line| {
            let is_affected =
                line.list("nodes").contains(&(value.node as i64)) && !file.missed(line);
            let mut ends = file.events("fault-ended");
            let end = ends.find(|end| end.num("id") == line.num("id"));
            let is_for_good = line.raw("clock")["for_good"].as_bool() == Some(true);
            let is_over = !is_for_good && end.is_some_and(|end| end.at < value.from);
            line.text("fault") == "clock-jump" && is_affected && !is_over && line.at <= value.until
        });
        let over = value.runs_out(value.until).max(value.from);
        if !clock && over.saturating_add(MS) < value.until {
            value.until = over;
            value.end = End::RanOut;
        }
    }
}

/// Returns the lock's own name, and every key into which an attempt for the lock wrote its token.
fn keys_of(lock: u64, name: &str, values: &[Value], attempts: &[Attempt]) -> BTreeSet<String> {
    let mut keys = BTreeSet::from([name.to_owned()]);
    for attempt in attempts
        .iter()
        .filter(|one| one.key == lock && one.granted())
    {
        let mine = values
            .iter()
            .filter(|value| value.owner == Some((attempt.worker, attempt.op)));
        for value in mine.filter(|value| value.text == attempt.token) {
            keys.insert(value.key.clone());
        }
    }
    keys
}

/// Returns the elements of a collection without their contents; those of any other value are the value itself.
pub fn elements(text: &str) -> BTreeSet<&str> {
    let Some(inside) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
        return [text].into();
    };
    let names = inside.split(", ").map(|element| {
        let name = element.split_once(": ");
        name.map_or(element, |(name, _)| name)
    });
    names.collect()
}

/// Returns `true` if the value is a collection that contains the token of this attempt.
pub fn has_element_of(value: &Value, attempt: &Attempt) -> bool {
    value.text.starts_with('{') && elements(&value.text).contains(attempt.token.as_str())
}
