//! `CONFIG`: the few parameters whose values are known here.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::keyspace::DATABASES;
use super::super::reply::{Outcome, Refusal};
use super::option_word::is_word;

/// Parameters that nothing in a world changes, with their defaults, which all versions share.
const DEFAULTS: &[(&str, &str)] = &[
    ("cluster-enabled", "no"),
    ("hz", "10"),
    ("lua-time-limit", "5000"),
    ("maxclients", "10000"),
    ("maxmemory-policy", "noeviction"),
    ("notify-keyspace-events", ""),
    ("requirepass", ""),
    ("tcp-keepalive", "300"),
    ("timeout", "0"),
];

pub(super) fn config(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let word = args[1];
    if is_word(word, "GET") {
        return get(context, &args[2..]);
    }
    if is_word(word, "SET") {
        return set(context, &args[2..]);
    }
    if is_word(word, "RESETSTAT") {
        // `INFO` has no statistics here.
        return Ok(Reply::OK);
    }
    let word = Refusal::quote(word, usize::MAX).to_ascii_uppercase();
    Err(context.not_modelled(&format!("CONFIG {word}")))
}

/// Each parameter once, whatever the case of its letters.
fn get(context: &mut Context<'_>, names: Args<'_>) -> Outcome {
    let mut pairs: Vec<(&[u8], String)> = Vec::new();
    for &name in names {
        if pairs
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            continue;
        }
        let Some(value) = value(context, name) else {
            let name = Refusal::quote(name, usize::MAX).to_ascii_lowercase();
            return Err(context.not_modelled(&format!("CONFIG GET {name}")));
        };
        pairs.push((name, value));
    }
    let as_written = context.state.version.since_70();
    let pair = |(name, value): (&[u8], String)| {
        let name = match as_written {
            true => name.to_vec(),
            false => name.to_ascii_lowercase(),
        };
        (Reply::Bulk(name), Reply::bulk(value))
    };
    Ok(Reply::Map(pairs.into_iter().map(pair).collect()))
}

/// Parameters that a real server does not let clients change.
const IMMUTABLE: [&str; 2] = ["cluster-enabled", "databases"];

/// Giving parameters the values that they have changes nothing; other values are not modelled.
fn set(context: &mut Context<'_>, words: Args<'_>) -> Outcome {
    let pairs = words.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Refusal::SYNTAX);
    }
    for (place, pair) in pairs.enumerate() {
        let name = pair[0];
        let immutable = IMMUTABLE.iter().any(|one| is_word(name, one));
        let earlier = words[..2 * place].iter().step_by(2);
        let again = earlier
            .into_iter()
            .any(|other| other.eq_ignore_ascii_case(name));
        let same = value(context, name).is_some_and(|value| value.as_bytes() == pair[1]);
        if immutable || again || !same {
            let name = Refusal::quote(name, usize::MAX).to_ascii_lowercase();
            return Err(context.not_modelled(&format!("CONFIG SET {name} to such a value")));
        }
    }
    Ok(Reply::OK)
}

/// The value of a parameter, if it is known: persistence, for one, is the world's.
fn value(context: &Context<'_>, name: &[u8]) -> Option<String> {
    if is_word(name, "databases") {
        return Some(DATABASES.to_string());
    }
    if is_word(name, "maxmemory") {
        return (!context.state.out_of_memory).then(|| "0".to_owned());
    }
    let known = DEFAULTS.iter().find(|(known, _)| is_word(name, known));
    known.map(|(_, value)| (*value).to_owned())
}
