//! Publish and subscribe, by channel name and by pattern.

use std::collections::BTreeSet;

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::glob::matches;
use super::super::reply::CommandResult;
use super::super::session::Session;

/// Returns the session's patterns or its channels, depending on which of them the command changes.
fn subscribed<'a>(session: &'a mut Session, command: &str) -> &'a mut BTreeSet<Vec<u8>> {
    if command.starts_with('p') {
        &mut session.patterns
    } else {
        &mut session.channels
    }
}

/// Publishes a message. Subscribers of the channel receive the message before subscribers of a matching pattern.
pub(super) fn publish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (channel, message) = (args[1], args[2]);
    let state = &mut *context.state;
    let before = state.messages.len();
    for (client, session) in &state.sessions {
        if session.channels.contains(channel) {
            let words: [&[u8]; 3] = [b"message", channel, message];
            let push = Reply::Push(words.map(Reply::bulk).into());
            state.messages.push((*client, push));
        }
    }
    for (client, session) in &state.sessions {
        for pattern in session
            .patterns
            .iter()
            .filter(|pattern| matches(pattern, channel))
        {
            let words: [&[u8]; 4] = [b"pmessage", pattern, channel, message];
            let push = Reply::Push(words.map(Reply::bulk).into());
            state.messages.push((*client, push));
        }
    }
    Ok(Reply::Int((state.messages.len() - before) as i64))
}

/// Implements `SUBSCRIBE` and `PSUBSCRIBE`.
pub(super) fn subscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let name = context.name;
    let session = context.session();
    let replies = args[1..].iter().map(|channel| {
        subscribed(session, name).insert(channel.to_vec());
        confirmed(name, Reply::bulk(channel), session)
    });
    Ok(several(replies.collect()))
}

/// Implements `UNSUBSCRIBE` and `PUNSUBSCRIBE`.
pub(super) fn unsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let name = context.name;
    let session = context.session();
    let channels: Vec<Vec<u8>> = if args.len() > 1 {
        args[1..].iter().map(|channel| channel.to_vec()).collect()
    } else {
        subscribed(session, name).iter().cloned().collect()
    };
    if channels.is_empty() {
        return Ok(confirmed(name, Reply::Nil, session));
    }
    let replies = channels.iter().map(|channel| {
        subscribed(session, name).remove(channel);
        confirmed(name, Reply::bulk(channel), session)
    });
    Ok(several(replies.collect()))
}

/// Returns the reply that confirms a subscription or its end, with the current number of subscriptions.
fn confirmed(command: &str, channel: Reply, session: &Session) -> Reply {
    let count = session.channels.len() + session.patterns.len();
    Reply::Push(vec![
        Reply::bulk(command),
        channel,
        Reply::Int(count as i64),
    ])
}

fn several(mut replies: Vec<Reply>) -> Reply {
    match replies.len() {
        1 => replies.remove(0),
        _ => Reply::Several(replies),
    }
}
