//! Transactions.

use super::super::command::{Args, find};
use super::super::context::Context;
use super::super::dispatch;
use super::super::reply::{CommandResult, refuse};
use super::super::session::{ClientId, Transaction};
use super::super::{Now, Reply, Server};

pub(super) fn multi(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    let session = context.session();
    if session.transaction.is_some() {
        return refuse("ERR MULTI calls can not be nested");
    }
    session.transaction = Some(Transaction::default());
    Ok(Reply::OK)
}

pub(super) fn discard(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    if context.session().transaction.take().is_none() {
        return refuse("ERR DISCARD without MULTI");
    }
    context.state.unwatch(context.client);
    Ok(Reply::OK)
}

pub(super) fn watch(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let session = context.session();
    if session.transaction.is_some() {
        return refuse("ERR WATCH inside MULTI is not allowed");
    }
    if session.dirty {
        // A watched key has already changed, so the transaction will fail anyway.
        return Ok(Reply::OK);
    }
    for key in &args[1..] {
        context
            .state
            .watch(context.client, context.database, key, context.now);
    }
    Ok(Reply::OK)
}

pub(super) fn unwatch(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    context.state.unwatch(context.client);
    Ok(Reply::OK)
}

pub(super) fn exec(server: &mut Server, client: ClientId, _: Args<'_>, now: Now) -> CommandResult {
    let session = server.state.sessions.get_mut(&client);
    let begun = session.and_then(|session| {
        let transaction = session.transaction.take()?;
        Some((transaction, session.dirty, session.watched.clone()))
    });
    let Some((transaction, mut dirty, watched)) = begun else {
        return refuse("ERR EXEC without MULTI");
    };
    for watched in watched {
        dirty |= !watched.expired && server.state.is_expired(watched.database, &watched.key, now);
    }
    server.state.unwatch(client);
    if transaction.broken {
        return refuse("EXECABORT Transaction discarded because of previous errors.");
    }
    if dirty {
        return Ok(Reply::NilArray);
    }
    let mut replies = Vec::with_capacity(transaction.queue.len());
    for words in &transaction.queue {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let Some(spec) = find(args[0]) else {
            continue;
        };
        replies.push(dispatch::run(server, client, spec, &args, now, false));
    }
    Ok(Reply::Array(replies))
}
