//! Hashes.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::{integer, integer_argument};
use super::super::reply::{CommandResult, Refusal};

pub(super) fn hset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let pairs = args[2..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::arity(context.name));
    }
    let hash = context.hash_or_new(args[1])?;
    let added = pairs
        .filter(|pair| hash.insert(pair[0].to_vec(), pair[1].to_vec()).is_none())
        .count();
    context.touched(args[1]);
    Ok(Reply::Int(added as i64))
}

fn field(context: &mut Context<'_>, key: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let hash = context.hash(key)?;
    Ok(hash.and_then(|hash| hash.get(name).cloned()))
}

pub(super) fn hget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let value = field(context, args[1], args[2])?;
    Ok(value.map_or(Reply::Nil, Reply::Bulk))
}

pub(super) fn hgetall(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hash = context.hash(args[1])?;
    let pairs = hash.iter().flat_map(|hash| hash.iter());
    let pairs = pairs.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value)));
    Ok(Reply::Map(pairs.collect()))
}

pub(super) fn hkeys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hash = context.hash(args[1])?;
    Ok(Reply::bulks(hash.iter().flat_map(|hash| hash.keys())))
}

pub(super) fn hexists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hash = context.hash(args[1])?;
    let there = hash.is_some_and(|hash| hash.contains_key(args[2]));
    Ok(Reply::Int(i64::from(there)))
}

pub(super) fn hdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(hash) = context.hash(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let names = args[2..].iter();
    let removed = names.filter(|name| hash.shift_remove(**name).is_some());
    let (removed, is_empty) = (removed.count(), hash.is_empty());
    Ok(context.shrunk(args[1], removed, is_empty))
}

pub(super) fn hincrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let step = integer_argument(args[3])?;
    let old = match field(context, args[1], args[2])? {
        Some(text) => integer(&text).ok_or(Refusal::fixed("ERR hash value is not an integer"))?,
        None => 0,
    };
    let new = old.checked_add(step).ok_or(Refusal::OVERFLOW)?;
    let text = new.to_string().into_bytes();
    let hash = context.hash_or_new(args[1])?;
    hash.insert(args[2].to_vec(), text);
    context.touched(args[1]);
    Ok(Reply::Int(new))
}

/// `HSETNX`: sets a field only if it does not exist.
pub(super) fn hsetnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if field(context, args[1], args[2])?.is_some() {
        return Ok(Reply::Int(0));
    }
    let hash = context.hash_or_new(args[1])?;
    hash.insert(args[2].to_vec(), args[3].to_vec());
    context.touched(args[1]);
    Ok(Reply::Int(1))
}

/// `HMSET`: `HSET` with another reply.
pub(super) fn hmset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    hset(context, args)?;
    Ok(Reply::OK)
}

pub(super) fn hmget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hash = context.hash(args[1])?;
    let values = args[2..].iter().map(|name| {
        let value = hash.as_ref().and_then(|hash| hash.get(*name));
        value.map_or(Reply::Nil, Reply::bulk)
    });
    Ok(Reply::Array(values.collect()))
}

pub(super) fn hvals(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hash = context.hash(args[1])?;
    Ok(Reply::bulks(hash.iter().flat_map(|hash| hash.values())))
}
