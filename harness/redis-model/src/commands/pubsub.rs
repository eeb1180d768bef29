//! Publish and subscribe, by channel name and by pattern.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::glob::matches;
use super::super::reply::CommandResult;
use super::super::session::Session;

/// What a client subscribes to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Channel,
    Pattern,
}

impl Kind {
    /// The words that confirm a subscription and its end.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Channel => ("subscribe", "unsubscribe"),
            Kind::Pattern => ("psubscribe", "punsubscribe"),
        }
    }

    fn of(self, session: &mut Session) -> &mut std::collections::BTreeSet<Vec<u8>> {
        match self {
            Kind::Channel => &mut session.channels,
            Kind::Pattern => &mut session.patterns,
        }
    }
}

/// Those who subscribed to the channel get it before those whose pattern matches.
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
        for pattern in session.patterns.iter().filter(|one| matches(one, channel)) {
            let words: [&[u8]; 4] = [b"pmessage", pattern, channel, message];
            let push = Reply::Push(words.map(Reply::bulk).into());
            state.messages.push((*client, push));
        }
    }
    Ok(Reply::Int((state.messages.len() - before) as i64))
}

pub(super) fn subscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    begin(context, args, Kind::Channel)
}

pub(super) fn psubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    begin(context, args, Kind::Pattern)
}

pub(super) fn unsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    end(context, args, Kind::Channel)
}

pub(super) fn punsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    end(context, args, Kind::Pattern)
}

fn begin(context: &mut Context<'_>, args: Args<'_>, kind: Kind) -> CommandResult {
    let session = context.session();
    let mut replies = Vec::new();
    for channel in &args[1..] {
        kind.of(session).insert(channel.to_vec());
        replies.push(Reply::Push(vec![
            Reply::bulk(kind.words().0),
            Reply::bulk(channel),
            count(session),
        ]));
    }
    Ok(several(replies))
}

fn end(context: &mut Context<'_>, args: Args<'_>, kind: Kind) -> CommandResult {
    let session = context.session();
    let channels: Vec<Vec<u8>> = if args.len() > 1 {
        args[1..].iter().map(|channel| channel.to_vec()).collect()
    } else {
        kind.of(session).iter().cloned().collect()
    };
    let left = |channel: Reply, count: Reply| {
        Reply::Push(vec![Reply::bulk(kind.words().1), channel, count])
    };
    let mut replies = Vec::new();
    for channel in &channels {
        kind.of(session).remove(channel);
        replies.push(left(Reply::bulk(channel), count(session)));
    }
    if replies.is_empty() {
        replies.push(left(Reply::Nil, count(session)));
    }
    Ok(several(replies))
}

/// The number in a confirmation.
fn count(session: &Session) -> Reply {
    Reply::Int((session.channels.len() + session.patterns.len()) as i64)
}

fn several(mut replies: Vec<Reply>) -> Reply {
    if replies.len() == 1 {
        replies.remove(0)
    } else {
        Reply::Several(replies)
    }
}
