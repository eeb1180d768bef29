//! Strings.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::keyspace::Form;
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::values::Value;
use super::super::{Reply, ServerVersion};
use super::index_range::index_range;
use super::option_word::is_word;
use super::set_options::{Condition, Lease, Unit, deadline_ms, read_getex, read_set};

/// The longest string that a server stores (`proto-max-bulk-len`).
const MAX_LEN: i64 = 512 * 1024 * 1024;

/// More padding in one command is not modelled: a few bytes of a client would take half a gigabyte.
const MOST_PADDING: usize = 1 << 20;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("set", -3, set),
    Spec::grow("setnx", 3, setnx),
    Spec::grow("setex", 4, |context, args| {
        set_for(context, args, Unit::Seconds)
    }),
    Spec::grow("psetex", 4, |context, args| {
        set_for(context, args, Unit::Milliseconds)
    }),
    Spec::read("get", 2, get),
    Spec::grow("getset", 3, getset),
    Spec::write("getdel", 2, getdel),
    Spec::write("getex", -2, getex),
    Spec::read("mget", -2, mget),
    Spec::grow("mset", -3, mset),
    Spec::grow("msetnx", -3, msetnx),
    Spec::grow("append", 3, append),
    Spec::read("strlen", 2, strlen),
    Spec::read("getrange", 4, getrange),
    Spec::read("substr", 4, getrange),
    Spec::grow("setrange", 4, setrange),
    Spec::write("delex", -2, delex).on(ServerVersion::has_delex),
    Spec::write("delifeq", 3, delifeq).on(ServerVersion::has_delifeq),
];

fn set(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (key, value) = (args[1], args[2]);
    let options = read_set(context, &args[3..])?;
    let until_ms = match options.lease {
        Lease::Until(unit, amount) => Some(deadline_ms(context, unit, amount)?),
        _ => None,
    };
    let compares = matches!(
        options.condition,
        Condition::Equals(_) | Condition::Differs(_)
    );
    let old = if options.get || compares {
        context.string(key)?.cloned()
    } else {
        None
    };
    let may_write = match options.condition {
        Condition::Always => true,
        Condition::Missing => !context.exists(key),
        Condition::Present => context.exists(key),
        Condition::Equals(wanted) => old.as_deref() == Some(wanted),
        Condition::Differs(unwanted) => old.as_deref() != Some(unwanted),
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
    context.state.expire(context.database, key, context.now);
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

fn setnx(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    if context.exists(args[1]) {
        return Ok(Reply::Int(0));
    }
    context.put(args[1], Value::String(args[2].to_vec()), None);
    Ok(Reply::Int(1))
}

fn set_for(context: &mut Context<'_>, args: Args<'_>, unit: Unit) -> Outcome {
    let (key, value) = (args[1], args[3]);
    let at_ms = deadline_ms(context, unit, args[2])?;
    context.state.expire(context.database, key, context.now);
    context.put(key, Value::String(value.to_vec()), Some(at_ms));
    context.reword(&[b"SET", key, value, b"PXAT", at_ms.to_string().as_bytes()]);
    Ok(Reply::OK)
}

fn get(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    Ok(match context.string(args[1])? {
        Some(bytes) => Reply::Bulk(bytes.clone()),
        None => Reply::Nil,
    })
}

fn getset(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let reply = get(context, args)?;
    context.put(args[1], Value::String(args[2].to_vec()), None);
    context.reword(&[b"SET", args[1], args[2]]);
    Ok(reply)
}

fn getdel(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let reply = get(context, args)?;
    if context.remove(args[1]) {
        context.reword(&[b"DEL", args[1]]);
    }
    Ok(reply)
}

fn getex(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let lease = read_getex(&args[2..])?;
    if context.state.version == ServerVersion::Valkey91
        && let Lease::Until(unit, amount) = lease
    {
        // Checked whether the key exists or not.
        deadline_ms(context, unit, amount)?;
    }
    let Some(bytes) = context.string(key)? else {
        return Ok(Reply::Nil);
    };
    let reply = Reply::Bulk(bytes.clone());
    match lease {
        Lease::Until(unit, amount) => {
            let at_ms = deadline_ms(context, unit, amount)?;
            if unit.is_absolute() && at_ms <= context.now.ms() && !context.state.applying {
                context.remove(key);
                context.reword(&[b"DEL", key]);
            } else {
                super::expiry::set_expiry(context, key, at_ms);
            }
        }
        Lease::Persist => {
            if let Some(entry) = context.entry(key)
                && entry.expires_ms.take().is_some()
            {
                context.touched(key);
                context.reword(&[b"PERSIST", key]);
            }
        }
        Lease::Unsaid | Lease::Keep => {}
    }
    Ok(reply)
}

fn mget(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let values = args[1..].iter().map(|key| match context.string(key) {
        Ok(Some(bytes)) => Reply::Bulk(bytes.clone()),
        _ => Reply::Nil,
    });
    Ok(Reply::Array(values.collect()))
}

fn mset(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let pairs = args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::odd_pairs(context.state.version, context.name));
    }
    for pair in pairs {
        context.state.expire(context.database, pair[0], context.now);
        context.put(pair[0], Value::String(pair[1].to_vec()), None);
    }
    Ok(Reply::OK)
}

fn msetnx(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let pairs = args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::odd_pairs(context.state.version, context.name));
    }
    if pairs.clone().any(|pair| context.exists(pair[0])) {
        return Ok(Reply::Int(0));
    }
    mset(context, args)?;
    Ok(Reply::Int(1))
}

fn append(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (key, tail) = (args[1], args[2]);
    let len = match context.string(key)? {
        Some(bytes) => {
            bytes.extend_from_slice(tail);
            let len = bytes.len();
            context.set_form(key, Form::Edited);
            context.touched(key);
            len
        }
        None => {
            context.put(key, Value::String(tail.to_vec()), None);
            tail.len()
        }
    };
    Ok(Reply::Int(len as i64))
}

fn strlen(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let len = context.string(args[1])?.map_or(0, |bytes| bytes.len());
    Ok(Reply::Int(len as i64))
}

fn getrange(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(bytes) = context.string(args[1])? else {
        return Ok(Reply::Bulk(Vec::new()));
    };
    let len = bytes.len() as i64;
    // Negative ends beyond the start are moved to the start, unless they are reversed.
    let wrong = start < 0 && end < 0 && start > end;
    let end = if end < 0 {
        (end.saturating_add(len)).max(0)
    } else {
        end
    };
    Ok(match index_range(start, end, bytes.len()) {
        Some((start, end)) if !wrong => Reply::bulk(&bytes[start..=end]),
        _ => Reply::Bulk(Vec::new()),
    })
}

fn setrange(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (key, patch) = (args[1], args[3]);
    let offset = integer_argument(args[2])?;
    if offset < 0 {
        return Err(Refusal::fixed("ERR offset is out of range"));
    }
    let old_len = context.string(key)?.map(|bytes| bytes.len());
    if patch.is_empty() {
        return Ok(Reply::Int(old_len.unwrap_or(0) as i64));
    }
    let end = offset.saturating_add(patch.len() as i64);
    if end > MAX_LEN {
        return Err(Refusal::fixed(
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        ));
    }
    let (offset, end) = (offset as usize, end as usize);
    if offset.saturating_sub(old_len.unwrap_or(0)) > MOST_PADDING {
        return Err(context
            .state
            .not_modelled("strings with more than 1 MiB of padding"));
    }
    if old_len.is_none() {
        context.put(key, Value::String(Vec::new()), None);
    }
    let Some(bytes) = context.string(key)? else {
        return Err(Refusal::NO_KEY);
    };
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(patch);
    let len = bytes.len();
    context.set_form(key, Form::Edited);
    context.touched(key);
    Ok(Reply::Int(len as i64))
}

/// Redis 8.4: deletes if the value is (or is not) this one.
fn delex(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let wanted = match args[2..] {
        [] => true,
        [option, value] if is_word(option, "IFEQ") => {
            context.string(key)?.is_some_and(|bytes| bytes == value)
        }
        [option, value] if is_word(option, "IFNE") => {
            context.string(key)?.is_some_and(|bytes| bytes != value)
        }
        [option, _] if is_word(option, "IFDEQ") || is_word(option, "IFDNE") => {
            return Err(context.not_modelled("DELEX with IFDEQ or IFDNE"));
        }
        [_, _] => return Err(Refusal::fixed("ERR Invalid condition")),
        _ => return Err(Refusal::arity(context.name)),
    };
    Ok(delete_if(context, key, wanted))
}

/// Valkey 9.0: deletes if the value is this one.
fn delifeq(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let equal = context
        .string(args[1])?
        .is_some_and(|bytes| bytes == args[2]);
    Ok(delete_if(context, args[1], equal))
}

fn delete_if(context: &mut Context<'_>, key: &[u8], wanted: bool) -> Reply {
    let removed = wanted && context.remove(key);
    if removed {
        context.reword(&[b"DEL", key]);
    }
    Reply::Int(i64::from(removed))
}
