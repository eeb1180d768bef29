//! Lists.

use std::collections::VecDeque;

use super::super::Reply;
use super::super::blocking::{block, deadline, pop_first};
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::{count_argument, integer_argument};
use super::super::reply::{CommandResult, Refusal};
use super::super::waiter::Wait;
use super::index_range::index_range;

/// Adds elements at one end.
pub(super) fn push(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let at_front = context.name == "lpush";
    let list = context.list_or_new(args[1])?;
    for element in &args[2..] {
        if at_front {
            list.push_front(element.to_vec())
        } else {
            list.push_back(element.to_vec())
        }
    }
    let len = list.len();
    context.touched(args[1]);
    Ok(Reply::Int(len as i64))
}

pub(super) fn lpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = args[1];
    let count = match args[2..] {
        [] => None,
        [count] => Some(usize::try_from(count_argument(count)?).unwrap_or(usize::MAX)),
        _ => return Err(Refusal::arity(context.name)),
    };
    let Some(list) = context.list(key)? else {
        return Ok(count.map_or(Reply::Nil, |_| Reply::NilArray));
    };
    let taken = count.unwrap_or(1).min(list.len());
    let mut popped: Vec<Reply> = list.drain(..taken).map(Reply::Bulk).collect();
    let is_empty = list.is_empty();
    context.shrunk(key, taken, is_empty);
    Ok(match count {
        None => popped.pop().unwrap_or(Reply::Nil),
        Some(_) => Reply::Array(popped),
    })
}

pub(super) fn blpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (keys, timeout) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let until = deadline(context.now, timeout)?;
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
    if let Some(reply) = pop_first(context, &keys)? {
        return Ok(reply);
    }
    if !context.may_block {
        return Ok(Reply::NilArray);
    }
    let wait = Wait::Element { keys };
    block(context.state, context.client, context.database, wait, until);
    Ok(Reply::Blocked)
}

pub(super) fn lrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let list = context.list(args[1])?;
    let found = list.and_then(|list| {
        let (start, end) = index_range(start, end, list.len())?;
        Some(Reply::bulks(list.range(start..=end)))
    });
    Ok(found.unwrap_or(Reply::Array(Vec::new())))
}

pub(super) fn lindex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Nil);
    };
    let index = integer_argument(args[2])?;
    let place = if index < 0 {
        index + list.len() as i64
    } else {
        index
    };
    let found = usize::try_from(place)
        .ok()
        .and_then(|place| list.get(place));
    Ok(found.map_or(Reply::Nil, Reply::bulk))
}

pub(super) fn lrem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = integer_argument(args[2])?;
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let limit = match usize::try_from(count.unsigned_abs()) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(limit) => limit,
    };
    let mut removed = 0;
    let mut keep = |element: &Vec<u8>| {
        let remove = removed < limit && element == args[3];
        removed += usize::from(remove);
        !remove
    };
    if count < 0 {
        let mut kept: VecDeque<Vec<u8>> = VecDeque::with_capacity(list.len());
        for element in list.drain(..).rev() {
            if keep(&element) {
                kept.push_front(element);
            }
        }
        *list = kept;
    } else {
        list.retain(keep);
    }
    let is_empty = list.is_empty();
    Ok(context.shrunk(args[1], removed, is_empty))
}
