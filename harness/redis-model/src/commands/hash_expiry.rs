//! Hashes: fields that expire.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::values::Hash;
use super::super::{Reply, ServerVersion};
use super::expiry::Conditions;
use super::hash_fields::{Asking, read_conditions, read_fields};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("hexpire", -6, |context, args| {
        expire(context, args, 1000, true)
    })
    .on(HAS),
    Spec::grow("hpexpire", -6, |context, args| {
        expire(context, args, 1, true)
    })
    .on(HAS),
    Spec::grow("hexpireat", -6, |context, args| {
        expire(context, args, 1000, false)
    })
    .on(HAS),
    Spec::grow("hpexpireat", -6, |context, args| {
        expire(context, args, 1, false)
    })
    .on(HAS),
    Spec::read("httl", -5, |context, args| {
        let version = context.state.version;
        tell(context, args, |at_ms, now_ms| {
            seconds(version, remaining(at_ms, now_ms))
        })
    })
    .on(HAS),
    Spec::read("hpttl", -5, |context, args| tell(context, args, remaining)).on(HAS),
    Spec::read("hexpiretime", -5, |context, args| {
        let version = context.state.version;
        tell(context, args, |at_ms, _| seconds(version, at_ms))
    })
    .on(HAS),
    Spec::read("hpexpiretime", -5, |context, args| {
        tell(context, args, |at_ms, _| at_ms)
    })
    .on(HAS),
    Spec::write("hpersist", -5, persist).on(HAS),
    Spec::write("hgetdel", -5, get_and_delete).on(HAS),
];

const HAS: fn(ServerVersion) -> bool = ServerVersion::has_field_expiry;

/// On Redis no field expires later.
const LATEST_MS: i64 = (1 << 46) - 1;

/// What the commands say of a field that does not exist.
const NO_FIELD: i64 = -2;

fn expire(context: &mut Context<'_>, args: Args<'_>, unit_ms: i64, relative: bool) -> Outcome {
    let (key, version) = (args[1], context.state.version);
    let valkey = version.is_valkey();
    if !valkey {
        context.hash(key)?;
    }
    let (conditions, at_ms, names);
    if valkey {
        let (read, rest) = read_conditions(version, &args[3..])?;
        names = read_fields(version, rest, Asking::Expire)?;
        at_ms = deadline(context, args[2], unit_ms, relative)?;
        conditions = read;
    } else {
        at_ms = deadline(context, args[2], unit_ms, relative)?;
        let (read, rest) = read_conditions(version, &args[3..])?;
        names = read_fields(version, rest, Asking::Expire)?;
        conditions = read;
    }
    let delete = at_ms <= context.now.ms() && !context.state.applying;
    let Some(hash) = context.hash(key)? else {
        return Ok(all(names, NO_FIELD));
    };
    let mut changed: Vec<&[u8]> = Vec::new();
    let answers = names.iter().map(|name| {
        let answer = expire_one(hash, name, &conditions, at_ms, delete);
        if answer > 0 {
            changed.push(name);
        }
        Reply::Int(answer)
    });
    let answers = Reply::Array(answers.collect());
    finish(context, key, &changed, (!delete).then_some(at_ms));
    Ok(answers)
}

/// Reads the time, in milliseconds since the Unix epoch.
pub(super) fn deadline(
    context: &Context<'_>,
    time: &[u8],
    unit_ms: i64,
    relative: bool,
) -> Result<i64, Refusal> {
    let version = context.state.version;
    let amount = integer_argument(time)?;
    if amount < 0 && !version.is_valkey() {
        return Err(Refusal::fixed("ERR invalid expire time, must be >= 0"));
    }
    let origin_ms = if relative { context.now.ms() } else { 0 };
    let latest_ms = if version.is_valkey() {
        i64::MAX
    } else {
        LATEST_MS
    };
    let at_ms = amount
        .checked_mul(unit_ms)
        .and_then(|ms| ms.checked_add(origin_ms));
    at_ms
        .filter(|at_ms| amount >= 0 && *at_ms <= latest_ms)
        .ok_or_else(|| Refusal::invalid_expiry(version, context.name))
}

/// 2: removed at once, 1: set, 0: not allowed, -2: no such field.
fn expire_one(
    hash: &mut Hash,
    name: &[u8],
    conditions: &Conditions,
    at_ms: i64,
    delete: bool,
) -> i64 {
    if hash.get(name).is_none() {
        return NO_FIELD;
    }
    if !conditions.allow(hash.expiry_ms(name), at_ms) {
        return 0;
    }
    if delete {
        hash.remove(name);
        return 2;
    }
    hash.expire_at(name, at_ms);
    1
}

/// Tells replicas and watchers which fields have an expiry now, or are gone.
pub(super) fn finish(context: &mut Context<'_>, key: &[u8], changed: &[&[u8]], at_ms: Option<i64>) {
    if changed.is_empty() {
        return;
    }
    let empty = matches!(context.hash(key), Ok(Some(hash)) if hash.is_empty());
    context.drop_if(key, empty);
    context.touched(key);
    let (at, count) = (at_ms.unwrap_or(0).to_string(), changed.len().to_string());
    let mut words: Vec<&[u8]> = match at_ms {
        Some(_) => vec![
            b"HPEXPIREAT",
            key,
            at.as_bytes(),
            b"FIELDS",
            count.as_bytes(),
        ],
        None => vec![b"HDEL", key],
    };
    words.extend(changed);
    context.reword(&words);
    context.state.field_expiries |= at_ms.is_some();
}

fn all(names: Args<'_>, answer: i64) -> Reply {
    Reply::Array(names.iter().map(|_| Reply::Int(answer)).collect())
}

/// The hash and the named fields: Redis looks at the key first, Valkey at the words.
fn read<'a>(
    context: &mut Context<'_>,
    args: Args<'a>,
    asking: Asking,
) -> Result<Args<'a>, Refusal> {
    let version = context.state.version;
    if version.is_valkey() {
        let names = read_fields(version, &args[2..], asking)?;
        context.hash(args[1])?;
        return Ok(names);
    }
    context.hash(args[1])?;
    read_fields(version, &args[2..], asking)
}

fn remaining(at_ms: i64, now_ms: i64) -> i64 {
    at_ms.saturating_sub(now_ms).max(0)
}

/// Redis rounds up, Valkey to the nearest. The time may be the latest that there is.
fn seconds(version: ServerVersion, ms: i64) -> i64 {
    let least = if version.is_valkey() { 500 } else { 1 };
    ms / 1000 + i64::from(ms % 1000 >= least)
}

/// What is left of each field, or when it ends.
fn tell(context: &mut Context<'_>, args: Args<'_>, unit: impl Fn(i64, i64) -> i64) -> Outcome {
    let names = read(context, args, Asking::Remaining)?;
    let now_ms = context.now.ms();
    let Some(hash) = context.hash(args[1])? else {
        return Ok(all(names, NO_FIELD));
    };
    let answers = names.iter().map(|name| match hash.get(name) {
        None => NO_FIELD,
        Some(_) => hash.expiry_ms(name).map_or(-1, |at_ms| unit(at_ms, now_ms)),
    });
    Ok(Reply::Array(answers.map(Reply::Int).collect()))
}

fn persist(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let names = read(context, args, Asking::Other)?;
    let Some(hash) = context.hash(args[1])? else {
        return Ok(all(names, NO_FIELD));
    };
    let mut changed = false;
    let answers = names.iter().map(|name| {
        if hash.get(name).is_none() {
            return NO_FIELD;
        }
        let persisted = hash.persist(name);
        changed |= persisted;
        if persisted { 1 } else { -1 }
    });
    let answers = Reply::Array(answers.map(Reply::Int).collect());
    if changed {
        context.touched(args[1]);
    }
    Ok(answers)
}

fn get_and_delete(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let names = read(context, args, Asking::Other)?;
    let Some(hash) = context.hash(args[1])? else {
        return Ok(Reply::Array(names.iter().map(|_| Reply::Nil).collect()));
    };
    let mut changed: Vec<&[u8]> = Vec::new();
    let answers = names.iter().map(|name| {
        let value = hash.get(name).map_or(Reply::Nil, Reply::bulk);
        if hash.remove(name) {
            changed.push(name);
        }
        value
    });
    let answers = Reply::Array(answers.collect());
    finish(context, args[1], &changed, None);
    Ok(answers)
}
