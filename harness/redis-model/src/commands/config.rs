//! `CONFIG GET`: the few parameters that clients read when they connect.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::keyspace::DATABASES;
use super::super::reply::{CommandResult, Refusal};

/// Parameters that never change in a simulation, with their values.
const KNOWN: [(&str, &str); 3] = [
    ("timeout", "0"),
    ("slave-read-only", "yes"),
    ("replica-read-only", "yes"),
];

pub(super) fn config(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let [name] = args[2..] else {
        return Err(context.not_modelled("CONFIG GET of several parameters"));
    };
    let known = KNOWN.iter().find(|(known, _)| is_word(name, known));
    let value = match known {
        Some((_, value)) => (*value).to_owned(),
        None if is_word(name, "databases") => DATABASES.to_string(),
        None => {
            let name = Refusal::quote(name, usize::MAX).to_ascii_lowercase();
            return Err(context.not_modelled(&format!("CONFIG GET {name}")));
        }
    };
    Ok(Reply::Map(vec![(Reply::bulk(name), Reply::bulk(value))]))
}
