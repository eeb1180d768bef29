//! Sets.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::reply::{CommandResult, Refusal};
use super::super::values::{Set, Value};

pub(super) fn sadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Value::Set(set) = context.value_or(args[1], || Value::Set(Set::default())) else {
        return Err(Refusal::WRONG_TYPE);
    };
    let added = args[2..].iter().filter(|member| set.add(member)).count();
    if added > 0 {
        context.touched(args[1]);
    }
    Ok(Reply::Int(added as i64))
}

pub(super) fn srem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(set) = context.set(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let removed = args[2..].iter().filter(|member| set.remove(member)).count();
    let empty = set.is_empty();
    if removed > 0 {
        context.drop_if(args[1], empty);
        context.touched(args[1]);
    }
    Ok(Reply::Int(removed as i64))
}

pub(super) fn sismember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let there = context
        .set(args[1])?
        .is_some_and(|set| set.contains(args[2]));
    Ok(Reply::Int(i64::from(there)))
}

pub(super) fn smembers(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let set = context.set(args[1])?;
    let members = set.iter().flat_map(|set| set.iter());
    Ok(Reply::Set(members.map(Reply::bulk).collect()))
}

pub(super) fn scard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let len = context.set(args[1])?.map_or(0, |set| set.len());
    Ok(Reply::Int(len as i64))
}
