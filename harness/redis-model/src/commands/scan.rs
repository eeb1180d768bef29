//! `SCAN` and its relatives.
//!
//! A server promises that an iteration returns what is there from its beginning to its end; it promises
//! no order. The model visits large collections in the order of a hash of the names: a cursor is the
//! hash to go on with, so it stays valid whatever is added and removed in between. Small collections
//! are returned whole, as a server does.

use std::collections::BTreeMap;

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::double_text;
use super::super::reply::{Outcome, Refusal};
use super::super::values::Value;
use super::scan_cursor::{Page, read_cursor};
use super::scan_options::{Options, Scanned};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("scan", -2, scan),
    Spec::read("hscan", -3, |context, args| {
        scan_key(context, args, Scanned::Hash)
    }),
    Spec::read("sscan", -3, |context, args| {
        scan_key(context, args, Scanned::Set)
    }),
    Spec::read("zscan", -3, |context, args| {
        scan_key(context, args, Scanned::SortedSet)
    }),
];

/// No member of a small collection is longer.
const LONGEST_SMALL: usize = 64;
/// The most fields of a small hash, and the most members of a small set of integers.
const MOST_SMALL: usize = 512;
/// The most members of another small set or sorted set.
const MOST_SMALL_MEMBERS: usize = 128;

fn scan(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let cursor = read_cursor(context.state.version, args[1])?;
    let options = Options::read(context.state.version, &args[2..], Scanned::Keys)?;
    context.state.expire_all_fields(context.now);
    let now_ms = context.now.ms();
    let keys = &context.state.keyspace.databases[context.database];
    let page = Page::after(cursor, options.count, keys.keys().map(Vec::as_slice));
    let chosen = page.names.iter().filter(|name| {
        keys.get(**name).is_some_and(|entry| {
            !entry.is_expired(now_ms)
                && options.allow_type(entry.value.type_name())
                && options.allow_name(name)
        })
    });
    Ok(answer(page.next, chosen.map(Reply::bulk).collect()))
}

fn answer(next: u64, items: Vec<Reply>) -> Reply {
    Reply::Array(vec![Reply::bulk(next.to_string()), Reply::Array(items)])
}

fn scan_key(context: &mut Context<'_>, args: Args<'_>, what: Scanned) -> Outcome {
    let version = context.state.version;
    let cursor = read_cursor(version, args[2])?;
    let Some(entry) = context.entry(args[1]) else {
        return Ok(answer(0, Vec::new()));
    };
    if entry.value.type_name() != what.type_name() {
        return Err(Refusal::WRONG_TYPE);
    }
    let options = Options::read(version, &args[3..], what)?;
    let items = items(&entry.value, version.since_72());
    let page = if is_small(&entry.value, version.since_72()) {
        Page::whole(items.iter().map(|(name, _)| *name))
    } else {
        Page::after(cursor, options.count, items.iter().map(|(name, _)| *name))
    };
    let mut replies = Vec::new();
    // The names of a page are those of the items, in another order.
    let beside: BTreeMap<&[u8], &Option<Vec<u8>>> = match options.names_only {
        true => BTreeMap::new(),
        false => items.iter().map(|(name, beside)| (*name, beside)).collect(),
    };
    for name in page.names.iter().filter(|name| options.allow_name(name)) {
        replies.push(Reply::bulk(name));
        if let Some(Some(text)) = beside.get(name) {
            replies.push(Reply::bulk(text));
        }
    }
    Ok(answer(page.next, replies))
}

/// Names, and what stands beside each: a value or a score.
fn items(value: &Value, short_scores: bool) -> Vec<(&[u8], Option<Vec<u8>>)> {
    match value {
        Value::Hash(hash) => {
            let pairs = hash.iter();
            pairs
                .map(|(name, value)| (name.as_slice(), Some(value.clone())))
                .collect()
        }
        Value::Set(set) => set.iter().map(|member| (member.as_slice(), None)).collect(),
        Value::SortedSet(set) => {
            let text = |score| Some(double_text(score, short_scores).into_bytes());
            set.iter()
                .map(|(member, score)| (member, text(score)))
                .collect()
        }
        Value::String(_) | Value::List(_) => Vec::new(),
    }
}

/// True if a server keeps the collection in one piece, so that one step returns all of it. What has
/// been large before counts as small here.
fn is_small(value: &Value, small_sets_of_words: bool) -> bool {
    let short = |member: &[u8]| member.len() <= LONGEST_SMALL;
    match value {
        Value::Hash(hash) => {
            hash.len() <= MOST_SMALL && hash.iter().all(|(name, value)| short(name) && short(value))
        }
        Value::Set(set) if set.is_of_integers() => set.len() <= MOST_SMALL,
        Value::Set(set) => {
            small_sets_of_words
                && set.len() <= MOST_SMALL_MEMBERS
                && set.iter().all(|member| short(member))
        }
        Value::SortedSet(set) => {
            set.len() <= MOST_SMALL_MEMBERS && set.iter().all(|(member, _)| short(member))
        }
        Value::String(_) | Value::List(_) => true,
    }
}
