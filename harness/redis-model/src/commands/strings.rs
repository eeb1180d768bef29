//! Strings.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal};
use super::super::values::Value;
use super::index_range::index_range;
use super::set_options::{Condition, Lease, Unit, deadline_ms, read_getex, read_set};

pub(super) fn set(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, value) = (args[1], args[2]);
    let options = read_set(context, &args[3..])?;
    let until_ms = match options.lease {
        Lease::Until(unit, amount) => Some(deadline_ms(context, unit, amount)?),
        _ => None,
    };
    let compares = matches!(options.condition, Condition::Equals(_));
    let old = if options.get || compares {
        context.string(key)?.cloned()
    } else {
        None
    };
    let may_write = match options.condition {
        Condition::Always => {
            context.state.expire(context.database, key, context.now);
            true
        }
        // Every access to an expired key removes it first.
        Condition::Missing => !context.exists(key),
        Condition::Present => context.exists(key),
        Condition::Equals(wanted) => old.as_deref() == Some(wanted),
    };
    let answer = |written: bool| match old {
        Some(old) if options.get => Reply::Bulk(old),
        _ if options.get || !written => Reply::Nil,
        _ => Reply::OK,
    };
    if !may_write {
        return Ok(answer(false));
    }
    let kept_ms = match options.lease {
        Lease::Keep => context.entry(key).and_then(|entry| entry.expires_ms),
        _ => until_ms,
    };
    context.put(key, Value::String(value.to_vec()), kept_ms);
    match until_ms {
        _ if !context.state.record_effects => {}
        Some(at_ms) => context.reword(&[b"SET", key, value, b"PXAT", at_ms.to_string().as_bytes()]),
        None if options.lease == Lease::Keep => {
            context.reword(&[b"SET", key, value, b"KEEPTTL"]);
        }
        None => context.reword(&[b"SET", key, value]),
    }
    Ok(answer(true))
}

pub(super) fn setnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.exists(args[1]) {
        return Ok(Reply::Int(0));
    }
    context.put(args[1], Value::String(args[2].to_vec()), None);
    Ok(Reply::Int(1))
}

pub(super) fn setex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, value) = (args[1], args[3]);
    let at_ms = deadline_ms(context, Unit::for_command(context.name), args[2])?;
    context.state.expire(context.database, key, context.now);
    context.put(key, Value::String(value.to_vec()), Some(at_ms));
    context.reword(&[b"SET", key, value, b"PXAT", at_ms.to_string().as_bytes()]);
    Ok(Reply::OK)
}

pub(super) fn get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let value = context.string(args[1])?;
    Ok(value.map_or(Reply::Nil, Reply::bulk))
}

pub(super) fn getset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let reply = get(context, args)?;
    context.put(args[1], Value::String(args[2].to_vec()), None);
    context.reword(&[b"SET", args[1], args[2]]);
    Ok(reply)
}

pub(super) fn getex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = args[1];
    let expiry = read_getex(&args[2..])?;
    if let Lease::Until(unit, amount) = expiry
        && context.state.version.reads_expiry_of_nothing()
    {
        deadline_ms(context, unit, amount)?;
    }
    let Some(value) = context.string(key)?.cloned() else {
        return Ok(Reply::Nil);
    };
    let until_ms = match expiry {
        Lease::Until(unit, amount) => Some(deadline_ms(context, unit, amount)?),
        _ => None,
    };
    let is_over = until_ms.is_some_and(|at_ms| at_ms <= context.now.ms());
    match (expiry, until_ms) {
        (Lease::Unspecified, _) => {}
        (_, Some(_)) if is_over && !context.state.applying => {
            context.remove(key);
            context.reword(&[b"DEL", key]);
        }
        (_, Some(at_ms)) => {
            set_expiry(context, key, Some(at_ms));
            context.reword(&[b"PEXPIREAT", key, at_ms.to_string().as_bytes()]);
        }
        (_, None) => {
            if set_expiry(context, key, None) {
                context.reword(&[b"PERSIST", key]);
            }
        }
    }
    Ok(Reply::Bulk(value))
}

/// Sets the expiry of an existing key. Returns `false` if the key already had the same expiry.
fn set_expiry(context: &mut Context<'_>, key: &[u8], until_ms: Option<i64>) -> bool {
    let entry = context.entry(key);
    let changed =
        entry.is_some_and(|entry| std::mem::replace(&mut entry.expires_ms, until_ms) != until_ms);
    if changed {
        context.touched(key);
    }
    changed
}

pub(super) fn mget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let values = args[1..].iter().map(|key| match context.string(key) {
        Ok(Some(bytes)) => Reply::bulk(bytes),
        _ => Reply::Nil,
    });
    Ok(Reply::Array(values.collect()))
}

pub(super) fn mset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let pairs = args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::arity(context.name));
    }
    for pair in pairs {
        context.state.expire(context.database, pair[0], context.now);
        context.put(pair[0], Value::String(pair[1].to_vec()), None);
    }
    Ok(Reply::OK)
}

pub(super) fn msetnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let pairs = args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::arity(context.name));
    }
    if pairs.clone().any(|pair| context.exists(pair[0])) {
        return Ok(Reply::Int(0));
    }
    mset(context, args)?;
    Ok(Reply::Int(1))
}

pub(super) fn getrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(bytes) = context.string(args[1])? else {
        return Ok(Reply::Bulk(Vec::new()));
    };
    let len = bytes.len() as i64;
    // Negative positions before the start of the string count as its start, unless the range is reversed.
    let wrong = start < 0 && end < 0 && start > end;
    let end = if end < 0 {
        end.saturating_add(len).max(0)
    } else {
        end
    };
    Ok(match index_range(start, end, bytes.len()) {
        Some((start, end)) if !wrong => Reply::bulk(&bytes[start..=end]),
        _ => Reply::Bulk(Vec::new()),
    })
}

/// Redis 8.4: deletes the key if it holds this value, or unconditionally.
pub(super) fn delex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = args[1];
    let wanted = match args[2..] {
        [] => true,
        [option, value] if is_word(option, "IFEQ") => {
            context.string(key)?.is_some_and(|bytes| bytes == value)
        }
        [_, _] => return Err(context.not_modelled("DELEX with anything but IFEQ")),
        _ => return Err(Refusal::arity(context.name)),
    };
    Ok(delete_if(context, key, wanted))
}

/// Valkey 9.0: deletes the key if it holds this value.
pub(super) fn delifeq(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let value = context.string(args[1])?;
    let is_equal = value.is_some_and(|bytes| bytes == args[2]);
    Ok(delete_if(context, args[1], is_equal))
}

fn delete_if(context: &mut Context<'_>, key: &[u8], wanted: bool) -> Reply {
    let removed = wanted && context.remove(key);
    if removed {
        context.reword(&[b"DEL", key]);
    }
    Reply::Int(i64::from(removed))
}

pub(super) fn getdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(value) = context.string(args[1])?.cloned() else {
        return Ok(Reply::Nil);
    };
    context.remove(args[1]);
    context.reword(&[b"DEL", args[1]]);
    Ok(Reply::Bulk(value))
}

pub(super) fn append(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(bytes) = context.string(args[1])? else {
        context.put(args[1], Value::String(args[2].to_vec()), None);
        return Ok(Reply::Int(args[2].len() as i64));
    };
    bytes.extend_from_slice(args[2]);
    let length = bytes.len() as i64;
    context.touched(args[1]);
    Ok(Reply::Int(length))
}

/// Longest string that a real server accepts.
const MAX_LENGTH: i64 = 512 << 20;

pub(super) fn setrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let start = integer_argument(args[2])?;
    if start < 0 {
        return Err(Refusal::fixed("ERR offset is out of range"));
    }
    let new = args[3];
    let existing = context.string(args[1])?.cloned();
    if new.is_empty() {
        return Ok(Reply::Int(existing.map_or(0, |bytes| bytes.len() as i64)));
    }
    let end = start.saturating_add(new.len() as i64);
    if end > MAX_LENGTH {
        let problem = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
        return Err(Refusal::fixed(problem));
    }
    let (start, end) = (start as usize, end as usize);
    let mut bytes = zero_padded(existing, end);
    bytes[start..end].copy_from_slice(new);
    Ok(Reply::Int(rewrite(context, args[1], bytes)))
}

pub(super) fn setbit(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let problem = "ERR bit offset is not an integer or out of range";
    let place = integer_argument(args[2]).map_err(|_| Refusal::fixed(problem))?;
    if !(0..MAX_LENGTH * 8).contains(&place) {
        return Err(Refusal::fixed(problem));
    }
    let is_set = match args[3] {
        b"0" => false,
        b"1" => true,
        _ => return Err(Refusal::fixed("ERR bit is not an integer or out of range")),
    };
    let (index, mask) = ((place / 8) as usize, 0x80_u8 >> (place % 8));
    let mut bytes = zero_padded(context.string(args[1])?.cloned(), index + 1);
    let was_set = bytes[index] & mask != 0;
    if is_set {
        bytes[index] |= mask;
    } else {
        bytes[index] &= !mask;
    }
    rewrite(context, args[1], bytes);
    Ok(Reply::Int(i64::from(was_set)))
}

/// Returns the string padded with zero bytes to at least `length`. `vec!` gets zeroed memory from the system without
/// writing to it, which matters because a script may request half a gigabyte.
fn zero_padded(existing: Option<Vec<u8>>, length: usize) -> Vec<u8> {
    let bytes = existing.unwrap_or_default();
    if bytes.len() >= length {
        return bytes;
    }
    let mut padded = vec![0; length];
    padded[..bytes.len()].copy_from_slice(&bytes);
    padded
}

/// Writes a string and keeps the key's expiry. Returns the string's length.
fn rewrite(context: &mut Context<'_>, key: &[u8], bytes: Vec<u8>) -> i64 {
    let length = bytes.len() as i64;
    let expires_ms = context.entry(key).and_then(|entry| entry.expires_ms);
    context.put(key, Value::String(bytes), expires_ms);
    length
}
