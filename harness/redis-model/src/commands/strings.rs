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
    let at_ms = deadline_ms(context, Unit::of_command(context.name), args[2])?;
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
        (Lease::Unsaid, _) => {}
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

/// Sets the expiry of an existing key. Returns false if the key had the same expiry already.
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
    // Negative ends before the start are moved to the start, unless they are reversed.
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
