//! Lists.

use std::collections::VecDeque;

use super::super::Reply;
use super::super::blocking::{block, deadline, pop_first};
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::number::{count_argument, integer_argument};
use super::super::reply::{CommandResult, Refusal};
use super::super::waiter::Wait;
use super::index_range::index_range;

/// Adds elements at one end. The names of the variants that require an existing list end in `x`.
pub(super) fn push(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let at_front = context.name.starts_with('l');
    let list = if context.name.ends_with('x') {
        let Some(list) = context.list(args[1])? else {
            return Ok(Reply::Int(0));
        };
        list
    } else {
        context.list_or_new(args[1])?
    };
    for element in &args[2..] {
        if at_front {
            list.push_front(element.to_vec());
        } else {
            list.push_back(element.to_vec());
        }
    }
    let len = list.len();
    context.touched(args[1]);
    Ok(Reply::Int(len as i64))
}

/// Removes elements at one end.
pub(super) fn pop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = args[1];
    let at_front = context.name == "lpop";
    let count = match args[2..] {
        [] => None,
        [count] => Some(usize::try_from(count_argument(count)?).unwrap_or(usize::MAX)),
        _ => return Err(Refusal::arity(context.name)),
    };
    let Some(list) = context.list(key)? else {
        return Ok(count.map_or(Reply::Nil, |_| Reply::NilArray));
    };
    let taken = count.unwrap_or(1).min(list.len());
    let removed: Vec<Vec<u8>> = if at_front {
        list.drain(..taken).collect()
    } else {
        list.drain(list.len() - taken..).rev().collect()
    };
    let mut popped: Vec<Reply> = removed.into_iter().map(Reply::Bulk).collect();
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
        let mut remaining: VecDeque<Vec<u8>> = VecDeque::with_capacity(list.len());
        for element in list.drain(..).rev() {
            if keep(&element) {
                remaining.push_front(element);
            }
        }
        *list = remaining;
    } else {
        list.retain(keep);
    }
    let is_empty = list.is_empty();
    Ok(context.shrunk(args[1], removed, is_empty))
}

/// `LMOVE source target LEFT|RIGHT LEFT|RIGHT`.
pub(super) fn lmove(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let is_left = |word: &[u8]| {
        let is_left = is_word(word, "LEFT");
        if is_left || is_word(word, "RIGHT") {
            Ok(is_left)
        } else {
            Err(Refusal::SYNTAX)
        }
    };
    move_element(
        context,
        (args[1], is_left(args[3])?),
        (args[2], is_left(args[4])?),
    )
}

/// `RPOPLPUSH source target`.
pub(super) fn rpoplpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    move_element(context, (args[1], false), (args[2], true))
}

/// Moves an element from an end of one list to an end of another list. Each flag is `true` for the first end.
fn move_element(
    context: &mut Context<'_>,
    (source, from_front): (&[u8], bool),
    (target, to_front): (&[u8], bool),
) -> CommandResult {
    if context.list(source)?.is_none() {
        return Ok(Reply::Nil);
    }
    // The type of the target is checked before anything changes.
    context.list(target)?;
    let Some(list) = context.list(source)? else {
        return Ok(Reply::Nil);
    };
    let element = if from_front {
        list.pop_front()
    } else {
        list.pop_back()
    };
    let is_empty = list.is_empty() && source != target;
    let Some(element) = element else {
        return Ok(Reply::Nil);
    };
    context.shrunk(source, 1, is_empty);
    let list = context.list_or_new(target)?;
    if to_front {
        list.push_front(element.clone());
    } else {
        list.push_back(element.clone());
    }
    context.touched(target);
    Ok(Reply::Bulk(element))
}

pub(super) fn lset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(list) = context.list(args[1])? else {
        return Err(Refusal::fixed("ERR no such key"));
    };
    let index = integer_argument(args[2])?;
    let place = if index < 0 {
        index + list.len() as i64
    } else {
        index
    };
    let element = usize::try_from(place)
        .ok()
        .and_then(|place| list.get_mut(place));
    *element.ok_or(Refusal::fixed("ERR index out of range"))? = args[3].to_vec();
    context.touched(args[1]);
    Ok(Reply::OK)
}

pub(super) fn ltrim(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::OK);
    };
    let before = list.len();
    match index_range(start, end, list.len()) {
        Some((start, end)) => {
            list.truncate(end + 1);
            list.drain(..start);
        }
        None => list.clear(),
    }
    let (taken, is_empty) = (before - list.len(), list.is_empty());
    context.shrunk(args[1], taken, is_empty);
    Ok(Reply::OK)
}
