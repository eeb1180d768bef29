//! Keys of any type, and whole databases.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::glob::matches_name;
use super::super::reply::{Outcome, Refusal};
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("exists", -2, count_present),
    Spec::read("touch", -2, count_present),
    Spec::write("del", -2, del),
    Spec::write("unlink", -2, del),
    Spec::read("type", 2, type_of),
    Spec::write("rename", 3, |context, args| rename(context, args, false)),
    Spec::write("renamenx", 3, |context, args| rename(context, args, true)),
    Spec::read("keys", 2, keys),
    Spec::read("dbsize", 1, dbsize),
    Spec::write("flushdb", -1, flushdb),
    Spec::write("flushall", -1, flushall),
];

fn count_present(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let count = args[1..].iter().filter(|key| context.exists(key)).count();
    Ok(Reply::Int(count as i64))
}

fn del(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let count = args[1..].iter().filter(|key| context.remove(key)).count();
    Ok(Reply::Int(count as i64))
}

fn type_of(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let name = context
        .entry(args[1])
        .map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Simple(name.into()))
}

fn rename(context: &mut Context<'_>, args: Args<'_>, only_if_free: bool) -> Outcome {
    let (from, to) = (args[1], args[2]);
    let Some(entry) = context.entry(from) else {
        return Err(Refusal::NO_KEY);
    };
    let entry = entry.clone();
    let done = |reply| {
        if only_if_free {
            Reply::Int(reply)
        } else {
            Reply::OK
        }
    };
    if from == to {
        return Ok(done(0));
    }
    if context.exists(to) {
        if only_if_free {
            return Ok(Reply::Int(0));
        }
        context.state.keyspace.databases[context.database].remove(to);
    }
    context.state.keyspace.databases[context.database].remove(from);
    context.put(to, entry.value, entry.expires_ms);
    // It is the same object under another name.
    context.set_form(to, entry.form);
    context.touched(from);
    Ok(done(1))
}

fn keys(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    context.state.expire_all_fields(context.now);
    let names = context
        .state
        .keyspace
        .keys(context.database, context.now.ms())
        .filter(|key| matches_name(args[1], key));
    Ok(Reply::bulks(names))
}

fn dbsize(context: &mut Context<'_>, _: Args<'_>) -> Outcome {
    context.state.expire_all_fields(context.now);
    let keys = context
        .state
        .keyspace
        .keys(context.database, context.now.ms());
    Ok(Reply::Int(keys.count() as i64))
}

/// `SYNC` and `ASYNC` differ only in when memory is freed, which is not visible here.
fn check_flush_option(args: Args<'_>) -> Result<(), Refusal> {
    match args[1..] {
        [] => Ok(()),
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => Ok(()),
        _ => Err(Refusal::SYNTAX),
    }
}

fn flushdb(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    check_flush_option(args)?;
    context.state.touch_all(context.database);
    context.changed = true;
    Ok(Reply::OK)
}

fn flushall(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    check_flush_option(args)?;
    for database in 0..context.state.keyspace.databases.len() {
        context.state.touch_all(database);
    }
    context.changed = true;
    Ok(Reply::OK)
}
