//! Publish and subscribe, by channel name.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::reply::Outcome;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("publish", 3, publish),
    Spec::read("subscribe", -2, subscribe).no_script(),
    Spec::read("unsubscribe", -1, unsubscribe).no_script(),
];

fn publish(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (channel, message) = (args[1], args[2]);
    let state = &mut *context.state;
    let subscribed = state
        .sessions
        .iter()
        .filter(|(_, session)| session.channels.contains(channel))
        .map(|(client, _)| *client);
    let before = state.messages.len();
    for client in subscribed {
        let words: [&[u8]; 3] = [b"message", channel, message];
        state
            .messages
            .push((client, Reply::Push(words.map(Reply::bulk).into())));
    }
    Ok(Reply::Int((state.messages.len() - before) as i64))
}

fn subscribe(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let session = context.session();
    let mut replies = Vec::new();
    for channel in &args[1..] {
        session.channels.insert(channel.to_vec());
        replies.push(Reply::Push(vec![
            Reply::bulk(b"subscribe"),
            Reply::bulk(channel),
            Reply::Int(session.channels.len() as i64),
        ]));
    }
    Ok(several(replies))
}

fn unsubscribe(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let session = context.session();
    let channels: Vec<Vec<u8>> = if args.len() > 1 {
        args[1..].iter().map(|channel| channel.to_vec()).collect()
    } else {
        session.channels.iter().cloned().collect()
    };
    let left = |channel: Reply, count: usize| {
        Reply::Push(vec![
            Reply::bulk(b"unsubscribe"),
            channel,
            Reply::Int(count as i64),
        ])
    };
    let mut replies = Vec::new();
    for channel in &channels {
        session.channels.remove(channel);
        replies.push(left(Reply::bulk(channel), session.channels.len()));
    }
    if replies.is_empty() {
        replies.push(left(Reply::Nil, session.channels.len()));
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
