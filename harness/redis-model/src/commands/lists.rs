//! Lists.

use std::collections::VecDeque;

use super::super::Reply;
use super::super::blocking::{block, deadline, pop_first};
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::{count_argument, integer_argument};
use super::super::reply::{CommandResult, Refusal};
use super::super::values::Value;
use super::super::waiter::Wait;
use super::index_range::index_range;

pub(super) fn lpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push(context, args, VecDeque::push_front)
}

pub(super) fn rpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push(context, args, VecDeque::push_back)
}

/// Adds elements at one end.
fn push(
    context: &mut Context<'_>,
    args: Args<'_>,
    add: fn(&mut VecDeque<Vec<u8>>, Vec<u8>),
) -> CommandResult {
    let Value::List(list) = context.value_or(args[1], || Value::List(VecDeque::new())) else {
        return Err(Refusal::WRONG_TYPE);
    };
    args[2..]
        .iter()
        .for_each(|element| add(list, element.to_vec()));
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
    let empty = list.is_empty();
    if taken > 0 {
        context.drop_if(key, empty);
        context.touched(key);
    }
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

pub(super) fn llen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let len = context.list(args[1])?.map_or(0, |list| list.len());
    Ok(Reply::Int(len as i64))
}

pub(super) fn lrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    Ok(match index_range(start, end, list.len()) {
        Some((start, end)) => Reply::bulks(list.range(start..=end)),
        None => Reply::Array(Vec::new()),
    })
}

pub(super) fn lindex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Nil);
    };
    let index = integer_argument(args[2])?;
    let found = match index_range(index, index, list.len()) {
        Some((place, _)) if index >= 0 || index.unsigned_abs() <= list.len() as u64 => {
            list.get(place)
        }
        _ => None,
    };
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
    let empty = list.is_empty();
    if removed > 0 {
        context.drop_if(args[1], empty);
        context.touched(args[1]);
    }
    Ok(Reply::Int(removed as i64))
}
