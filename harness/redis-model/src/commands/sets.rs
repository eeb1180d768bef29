//! Sets.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::reply::CommandResult;

pub(super) fn sadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let set = context.set_or_new(args[1])?;
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
    let is_empty = set.is_empty();
    Ok(context.shrunk(args[1], removed, is_empty))
}

pub(super) fn sismember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let set = context.set(args[1])?;
    let there = set.is_some_and(|set| set.contains(args[2]));
    Ok(Reply::Int(i64::from(there)))
}

pub(super) fn smembers(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let set = context.set(args[1])?;
    let members = set.iter().flat_map(|set| set.iter());
    Ok(Reply::Set(members.map(Reply::bulk).collect()))
}

/// `SMOVE source target member`.
pub(super) fn smove(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (source, target, member) = (args[1], args[2], args[3]);
    let Some(set) = context.set(source)? else {
        return Ok(Reply::Int(0));
    };
    let found = set.contains(member);
    context.set(target)?;
    if !found || source == target {
        return Ok(Reply::Int(i64::from(found)));
    }
    if let Some(set) = context.set(source)? {
        set.remove(member);
        let is_empty = set.is_empty();
        context.shrunk(source, 1, is_empty);
    }
    if context.set_or_new(target)?.add(member) {
        context.touched(target);
    }
    Ok(Reply::Int(1))
}
