//! `CLIENT`: what a connection says of itself.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::reply::{Outcome, Refusal};
use super::connection::check_name;
use super::option_word::is_word;

pub(super) fn client(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let id = i64::from(context.client.0);
    if is_word(args[1], "ID") {
        return Ok(Reply::Int(id));
    }
    if is_word(args[1], "GETNAME") {
        let name = &context.session().name;
        return Ok(if name.is_empty() {
            Reply::Nil
        } else {
            Reply::bulk(name)
        });
    }
    if is_word(args[1], "SETNAME") {
        check_name(args[2])?;
        context.session().name = args[2].to_vec();
    }
    if is_word(args[1], "SETINFO") {
        if !is_word(args[2], "lib-name") && !is_word(args[2], "lib-ver") {
            let what = Refusal::quote(args[2], usize::MAX);
            return Err(Refusal::of(format!("ERR Unrecognized option '{what}'")));
        }
        check_name(args[3])?;
    }
    if is_word(args[1], "TRACKING") {
        return tracking(context, &args[2..]);
    }
    if is_word(args[1], "NO-EVICT") || is_word(args[1], "NO-TOUCH") {
        // Nothing here depends on which keys and clients were used last.
        return match is_word(args[2], "ON") || is_word(args[2], "OFF") {
            true => Ok(Reply::OK),
            false => Err(Refusal::SYNTAX),
        };
    }
    Ok(Reply::OK)
}

/// Nobody tracks here, so switching it off changes nothing.
fn tracking(context: &mut Context<'_>, words: Args<'_>) -> Outcome {
    match words {
        [word] if is_word(word, "OFF") => Ok(Reply::OK),
        [word] if !is_word(word, "ON") => Err(Refusal::SYNTAX),
        _ => Err(context.not_modelled("CLIENT TRACKING")),
    }
}
