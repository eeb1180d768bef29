//! Keys of any type, and whole databases.

use std::ops::Range;

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::glob::matches_name;
use super::super::reply::{CommandResult, Refusal};
use super::option_word::is_word;

pub(super) fn exists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = args[1..].iter().filter(|key| context.exists(key)).count();
    Ok(Reply::Int(count as i64))
}

pub(super) fn del(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = args[1..].iter().filter(|key| context.remove(key)).count();
    Ok(Reply::Int(count as i64))
}

pub(super) fn type_of(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let name = context
        .entry(args[1])
        .map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Simple(name.into()))
}

pub(super) fn keys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = context
        .state
        .keyspace
        .keys(context.database, context.now.ms())
        .filter(|key| matches_name(args[1], key));
    Ok(Reply::bulks(names))
}

pub(super) fn flushdb(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let selected = context.database;
    flush(context, args, selected..selected + 1)
}

pub(super) fn flushall(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = context.state.keyspace.databases.len();
    flush(context, args, 0..count)
}

/// `SYNC` and `ASYNC` differ only in when memory is freed, which is not visible here.
fn flush(context: &mut Context<'_>, args: Args<'_>, databases: Range<usize>) -> CommandResult {
    match args[1..] {
        [] => {}
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => {}
        _ => return Err(Refusal::SYNTAX),
    }
    for database in databases {
        context.state.touch_all(database);
    }
    context.changed = true;
    Ok(Reply::OK)
}
