//! Hashes.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::long_double::LongDouble;
use super::super::number::{integer, integer_argument};
use super::super::reply::{Outcome, Refusal};
use super::super::values::{Hash, Value};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("hset", -4, hset),
    Spec::grow("hmset", -4, hmset),
    Spec::grow("hsetnx", 4, hsetnx),
    Spec::read("hget", 3, hget),
    Spec::read("hmget", -3, hmget),
    Spec::read("hgetall", 2, hgetall),
    Spec::read("hkeys", 2, hkeys),
    Spec::read("hvals", 2, hvals),
    Spec::read("hlen", 2, hlen),
    Spec::read("hexists", 3, hexists),
    Spec::read("hstrlen", 3, hstrlen),
    Spec::write("hdel", -3, hdel),
    Spec::grow("hincrby", 4, hincrby),
    Spec::grow("hincrbyfloat", 4, hincrbyfloat),
];

/// The hash of a key, created if it is missing.
pub(super) fn hash_or_new<'a>(
    context: &'a mut Context<'_>,
    key: &[u8],
) -> Result<&'a mut Hash, Refusal> {
    match context.value_or(key, || Value::Hash(Hash::default())) {
        Value::Hash(hash) => Ok(hash),
        _ => Err(Refusal::WRONG_TYPE),
    }
}

fn set_fields(context: &mut Context<'_>, args: Args<'_>) -> Result<usize, Refusal> {
    let pairs = args[2..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::arity(context.name));
    }
    let hash = hash_or_new(context, args[1])?;
    let added = pairs
        .filter(|pair| hash.set(pair[0], pair[1].to_vec()))
        .count();
    context.touched(args[1]);
    Ok(added)
}

fn hset(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let added = set_fields(context, args)?;
    Ok(Reply::Int(added as i64))
}

fn hmset(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    set_fields(context, args)?;
    Ok(Reply::OK)
}

fn hsetnx(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let taken = context
        .hash(args[1])?
        .is_some_and(|hash| hash.get(args[2]).is_some());
    if taken {
        return Ok(Reply::Int(0));
    }
    set_fields(context, args)?;
    Ok(Reply::Int(1))
}

fn field(context: &mut Context<'_>, key: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let hash = context.hash(key)?;
    Ok(hash.and_then(|hash| hash.get(name).cloned()))
}

fn hget(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let value = field(context, args[1], args[2])?;
    Ok(value.map_or(Reply::Nil, Reply::Bulk))
}

fn hmget(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let hash = context.hash(args[1])?;
    let values = args[2..].iter().map(|name| {
        let value = hash.as_ref().and_then(|hash| hash.get(name));
        value.map_or(Reply::Nil, Reply::bulk)
    });
    Ok(Reply::Array(values.collect()))
}

fn hgetall(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let hash = context.hash(args[1])?;
    let pairs = hash.iter().flat_map(|hash| hash.iter());
    Ok(Reply::Map(
        pairs
            .map(|(name, value)| (Reply::bulk(name), Reply::bulk(value)))
            .collect(),
    ))
}

fn hkeys(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let hash = context.hash(args[1])?;
    Ok(Reply::bulks(
        hash.iter()
            .flat_map(|hash| hash.iter())
            .map(|(name, _)| name),
    ))
}

fn hvals(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let hash = context.hash(args[1])?;
    Ok(Reply::bulks(
        hash.iter()
            .flat_map(|hash| hash.iter())
            .map(|(_, value)| value),
    ))
}

fn hlen(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let len = context.hash(args[1])?.map_or(0, |hash| hash.len());
    Ok(Reply::Int(len as i64))
}

fn hexists(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let value = field(context, args[1], args[2])?;
    Ok(Reply::Int(i64::from(value.is_some())))
}

fn hstrlen(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let value = field(context, args[1], args[2])?;
    Ok(Reply::Int(value.map_or(0, |value| value.len()) as i64))
}

fn hdel(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let Some(hash) = context.hash(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let removed = args[2..].iter().filter(|name| hash.remove(name)).count();
    let empty = hash.is_empty();
    if removed > 0 {
        context.drop_if(args[1], empty);
        context.touched(args[1]);
    }
    Ok(Reply::Int(removed as i64))
}

fn hincrby(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let step = integer_argument(args[3])?;
    let old = match field(context, args[1], args[2])? {
        Some(text) => integer(&text).ok_or(Refusal::fixed("ERR hash value is not an integer"))?,
        None => 0,
    };
    let new = old
        .checked_add(step)
        .ok_or(Refusal::fixed("ERR increment or decrement would overflow"))?;
    hash_or_new(context, args[1])?.change(args[2], new.to_string().into_bytes());
    context.touched(args[1]);
    Ok(Reply::Int(new))
}

fn hincrbyfloat(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let step = LongDouble::read(context, args[3])?.ok_or(Refusal::NOT_FLOAT)?;
    let old = field(context, args[1], args[2])?.unwrap_or_else(|| b"0".to_vec());
    let old =
        LongDouble::read(context, &old)?.ok_or(Refusal::fixed("ERR hash value is not a float"))?;
    let text = old.plus(step).text(context)?.into_bytes();
    let hash = hash_or_new(context, args[1])?;
    hash.change(args[2], text.clone());
    let expiry_ms = hash.expiry_ms(args[2]);
    context.touched(args[1]);
    context.reword(&[b"HSET", args[1], args[2], &text]);
    if let Some(at_ms) = expiry_ms {
        let at = at_ms.to_string();
        context.reword(&[
            b"HPEXPIREAT",
            args[1],
            at.as_bytes(),
            b"FIELDS",
            b"1",
            args[2],
        ]);
    }
    Ok(Reply::Bulk(text))
}
