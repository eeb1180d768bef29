//! `CLIENT`: what a connection says of itself.

use super::super::command::{Args, Spec, Subcommand};
use super::super::context::Context;
use super::super::reply::{Outcome, Refusal};
use super::super::{Reply, ServerVersion};
use super::connection::check_name;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[Spec::read("client", -2, client).no_script().with(&[
    Subcommand::new("id", 2),
    Subcommand::new("getname", 2),
    Subcommand::new("setname", 3),
    Subcommand::new("setinfo", 4).on(ServerVersion::since_72),
    Subcommand::new("getredir", 2),
    Subcommand::new("tracking", -3),
    Subcommand::new("no-evict", 3).on(ServerVersion::since_70),
    Subcommand::new("no-touch", 3).on(ServerVersion::since_72),
])];

/// What a client says of its library.
fn check_info(version: ServerVersion, what: &[u8], value: &[u8]) -> Result<(), Refusal> {
    let Some(what) = ["lib-name", "lib-ver"]
        .into_iter()
        .find(|one| is_word(what, one))
    else {
        let what = Refusal::quote(what, usize::MAX);
        return Err(Refusal::of(format!("ERR Unrecognized option '{what}'")));
    };
    match check_name(version, value) {
        Ok(()) => Ok(()),
        Err(_) => Err(Refusal::of(format!(
            "ERR {what} cannot contain spaces, newlines or special characters."
        ))),
    }
}

fn client(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
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
        check_name(context.state.version, args[2])?;
        context.session().name = args[2].to_vec();
    }
    if is_word(args[1], "SETINFO") {
        check_info(context.state.version, args[2], args[3])?;
    }
    if is_word(args[1], "GETREDIR") {
        return Ok(Reply::Int(-1));
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
