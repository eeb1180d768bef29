//! `CLIENT`: properties of a connection.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::connection::check_name;

pub(super) fn client(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if is_word(args[1], "ID") {
        return Ok(Reply::Int(i64::from(context.client.0)));
    }
    if is_word(args[1], "SETNAME") {
        check_name(context, args[2])?;
    }
    if is_word(args[1], "SETINFO") {
        if !is_word(args[2], "lib-name") && !is_word(args[2], "lib-ver") {
            let what = Refusal::quote(args[2], usize::MAX);
            return refuse(format!("ERR Unrecognized option '{what}'"));
        }
        check_name(context, args[3])?;
    }
    Ok(Reply::OK)
}
