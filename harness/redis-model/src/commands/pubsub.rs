//! Publish and subscribe: by channel name, by pattern, and by shard channel.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::glob::matches;
use super::super::reply::{Outcome, Refusal};
use super::super::session::Session;
use super::super::{Reply, ServerVersion};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("publish", 3, publish).replicated(),
    Spec::read("subscribe", -2, |context, args| {
        subscribe(context, args, Kind::Channel)
    })
    .no_script(),
    Spec::read("unsubscribe", -1, |context, args| {
        unsubscribe(context, args, Kind::Channel)
    })
    .no_script(),
    Spec::read("psubscribe", -2, |context, args| {
        subscribe(context, args, Kind::Pattern)
    })
    .no_script(),
    Spec::read("punsubscribe", -1, |context, args| {
        unsubscribe(context, args, Kind::Pattern)
    })
    .no_script(),
    Spec::read("spublish", 3, spublish)
        .replicated()
        .on(ServerVersion::since_70),
    Spec::read("ssubscribe", -2, ssubscribe)
        .no_script()
        .on(ServerVersion::since_70),
    Spec::read("sunsubscribe", -1, |context, args| {
        unsubscribe(context, args, Kind::Shard)
    })
    .no_script()
    .on(ServerVersion::since_70),
];

/// What a client subscribes to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl Kind {
    /// The words that confirm a subscription and its end.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Channel => ("subscribe", "unsubscribe"),
            Kind::Pattern => ("psubscribe", "punsubscribe"),
            Kind::Shard => ("ssubscribe", "sunsubscribe"),
        }
    }

    fn of(self, session: &mut Session) -> &mut std::collections::BTreeSet<Vec<u8>> {
        match self {
            Kind::Channel => &mut session.channels,
            Kind::Pattern => &mut session.patterns,
            Kind::Shard => &mut session.shard_channels,
        }
    }

    /// The number in a confirmation: channels and patterns are counted together.
    fn count(self, session: &Session) -> Reply {
        let count = match self {
            Kind::Channel | Kind::Pattern => session.channels.len() + session.patterns.len(),
            Kind::Shard => session.shard_channels.len(),
        };
        Reply::Int(count as i64)
    }
}

/// Those who subscribed to the channel get it before those whose pattern matches.
fn publish(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
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

fn spublish(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (channel, message) = (args[1], args[2]);
    let state = &mut *context.state;
    let before = state.messages.len();
    for (client, session) in &state.sessions {
        if session.shard_channels.contains(channel) {
            let words: [&[u8]; 3] = [b"smessage", channel, message];
            let push = Reply::Push(words.map(Reply::bulk).into());
            state.messages.push((*client, push));
        }
    }
    Ok(Reply::Int((state.messages.len() - before) as i64))
}

fn subscribe(context: &mut Context<'_>, args: Args<'_>, kind: Kind) -> Outcome {
    let session = context.session();
    let mut replies = Vec::new();
    for channel in &args[1..] {
        kind.of(session).insert(channel.to_vec());
        replies.push(Reply::Push(vec![
            Reply::bulk(kind.words().0),
            Reply::bulk(channel),
            kind.count(session),
        ]));
    }
    Ok(several(replies))
}

/// Unlike its relatives, it is refused when a transaction executes it.
fn ssubscribe(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    if !context.may_block {
        return Err(Refusal::fixed(
            "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client",
        ));
    }
    subscribe(context, args, Kind::Shard)
}

fn unsubscribe(context: &mut Context<'_>, args: Args<'_>, kind: Kind) -> Outcome {
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
        replies.push(left(Reply::bulk(channel), kind.count(session)));
    }
    if replies.is_empty() {
        replies.push(left(Reply::Nil, kind.count(session)));
    }
    Ok(several(replies))
}

fn several(mut replies: Vec<Reply>) -> Reply {
    if replies.len() == 1 {
        replies.remove(0)
    } else {
        Reply::Several(replies)
    }
}
