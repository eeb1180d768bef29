//! `PUBSUB`: who has subscribed to what.

use std::collections::{BTreeMap, BTreeSet};

use super::super::command::{Args, Spec, Subcommand};
use super::super::context::Context;
use super::super::glob::matches;
use super::super::reply::{Outcome, Refusal};
use super::super::session::Session;
use super::super::{Reply, ServerVersion};
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[Spec::read("pubsub", -2, pubsub).with(&[
    Subcommand::new("channels", -2),
    Subcommand::new("numpat", 2),
    Subcommand::new("numsub", -2),
    Subcommand::new("shardchannels", -2).on(ServerVersion::since_70),
    Subcommand::new("shardnumsub", -2).on(ServerVersion::since_70),
    Subcommand::new("help", 2),
])];

fn pubsub(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let word = args[1];
    if is_word(word, "CHANNELS") {
        return channels(context, args, |session| &session.channels);
    }
    if is_word(word, "SHARDCHANNELS") {
        return channels(context, args, |session| &session.shard_channels);
    }
    if is_word(word, "NUMSUB") {
        return Ok(subscribers(context, &args[2..], |one| &one.channels));
    }
    if is_word(word, "SHARDNUMSUB") {
        return Ok(subscribers(context, &args[2..], |one| &one.shard_channels));
    }
    if is_word(word, "NUMPAT") {
        let sessions = context.state.sessions.values();
        let patterns: BTreeSet<&Vec<u8>> = sessions.flat_map(|one| &one.patterns).collect();
        return Ok(Reply::Int(patterns.len() as i64));
    }
    Err(context.not_modelled("PUBSUB HELP"))
}

/// What a connection has subscribed to, by channel or by shard channel.
type Subscriptions = fn(&Session) -> &BTreeSet<Vec<u8>>;

/// The channels with subscribers, in byte order. A real server promises no order.
fn channels(context: &mut Context<'_>, args: Args<'_>, of: Subscriptions) -> Outcome {
    let pattern = match args[2..] {
        [] => None,
        [pattern] => Some(pattern),
        _ => {
            let version = context.state.version;
            return Err(Refusal::wrong_subcommand_use(version, "PUBSUB", args[1]));
        }
    };
    let sessions = context.state.sessions.values();
    let channels: BTreeSet<&Vec<u8>> = sessions.flat_map(of).collect();
    let chosen = channels
        .into_iter()
        .filter(|channel| pattern.is_none_or(|pattern| matches(pattern, channel)));
    Ok(Reply::bulks(chosen))
}

/// Each of these channels, and how many have subscribed to it.
fn subscribers(context: &mut Context<'_>, channels: Args<'_>, of: Subscriptions) -> Reply {
    let mut counts: BTreeMap<&[u8], i64> = BTreeMap::new();
    for channel in context.state.sessions.values().flat_map(of) {
        *counts.entry(channel.as_slice()).or_default() += 1;
    }
    let pairs = channels.iter().flat_map(|channel| {
        let count = counts.get(channel).copied().unwrap_or(0);
        [Reply::bulk(channel), Reply::Int(count)]
    });
    Reply::Array(pairs.collect())
}
