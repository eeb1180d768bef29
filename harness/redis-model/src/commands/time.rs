//! The server's time, and the wait for its replicas.

use super::super::Reply;
use super::super::blocking::{acknowledged, block};
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::super::waiter::Wait;

pub(super) fn time(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    let now_us = context.now.wall_us;
    let parts = [now_us.div_euclid(1_000_000), now_us.rem_euclid(1_000_000)];
    Ok(Reply::bulks(parts.map(|part| part.to_string())))
}

/// Waits until replicas have received the earlier changes of this connection. The backend reports the replicas'
/// progress with `Server::set_acknowledged`.
pub(super) fn wait(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let wanted = integer_argument(args[1])?;
    let timeout = integer_argument(args[2])
        .map_err(|_| Refusal::fixed("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return refuse("ERR timeout is negative");
    }
    let changes = context.session().recorded;
    let already = acknowledged(context.state, changes);
    if already >= wanted || !context.may_block {
        return Ok(Reply::Int(already));
    }
    let until = (timeout > 0).then(|| context.now.plus_ms(timeout));
    let wait = Wait::Replicas { wanted, changes };
    block(context.state, context.client, context.database, wait, until);
    Ok(Reply::Blocked)
}
