//! Keys of any type, and whole databases.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::glob::matches_name;
use super::super::reply::{CommandResult, Refusal};

pub(super) fn exists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = args[1..].iter().filter(|key| context.exists(key)).count();
    Ok(Reply::Int(count as i64))
}

pub(super) fn del(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = args[1..].iter().filter(|key| context.remove(key)).count();
    Ok(Reply::Int(count as i64))
}

/// Returns the length of a value.
pub(super) fn length(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let length = match context.name {
        "strlen" => context.string(args[1])?.map(|bytes| bytes.len()),
        "hlen" => context.hash(args[1])?.map(|hash| hash.len()),
        "llen" => context.list(args[1])?.map(|list| list.len()),
        "scard" => context.set(args[1])?.map(|set| set.len()),
        "zcard" => context.sorted_set(args[1])?.map(|set| set.len()),
        name => unreachable!("{name} is about no length"),
    };
    Ok(Reply::Int(length.unwrap_or(0) as i64))
}

pub(super) fn type_of(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let entry = context.entry(args[1]);
    let name = entry.map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Simple(name.into()))
}

pub(super) fn keys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = context
        .state
        .keyspace
        .keys(context.database, context.now.ms());
    Ok(Reply::bulks(names.filter(|key| matches_name(args[1], key))))
}

/// Ignores `SYNC` and `ASYNC`, which differ only in when memory is freed.
pub(super) fn flush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args[1..] {
        [] => {}
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => {}
        _ => return Err(Refusal::SYNTAX),
    }
    let databases = match context.name {
        "flushdb" => context.database..context.database + 1,
        _ => 0..context.state.keyspace.databases.len(),
    };
    for database in databases {
        context.state.empty(database);
    }
    context.changed = true;
    Ok(Reply::OK)
}

/// Renames a key, with its expiry. `RENAMENX` leaves an existing target alone.
pub(super) fn rename(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (source, target) = (args[1], args[2]);
    let Some(entry) = context.entry(source).cloned() else {
        return Err(Refusal::fixed("ERR no such key"));
    };
    let only_new = context.name == "renamenx";
    let done = if only_new { Reply::Int(1) } else { Reply::OK };
    if only_new && context.exists(target) {
        return Ok(Reply::Int(0));
    }
    if source != target {
        context.remove(source);
        context.put(target, entry.value, entry.expires_ms);
    }
    Ok(done)
}

/// `COPY source target [DB number] [REPLACE]`.
pub(super) fn copy(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (source, target) = (args[1], args[2]);
    let replaces = match args[3..] {
        [] => false,
        [option] if is_word(option, "REPLACE") => true,
        _ => return Err(context.not_modelled("COPY to another database")),
    };
    if source == target {
        return Err(Refusal::fixed(
            "ERR source and destination objects are the same",
        ));
    }
    let Some(entry) = context.entry(source).cloned() else {
        return Ok(Reply::Int(0));
    };
    if !replaces && context.exists(target) {
        return Ok(Reply::Int(0));
    }
    context.put(target, entry.value, entry.expires_ms);
    Ok(Reply::Int(1))
}
