//! The server's time, and waiting for its replicas.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("time", 1, time),
    Spec::read("wait", 3, wait).no_script(),
];

fn time(context: &mut Context<'_>, _: Args<'_>) -> Outcome {
    let now_us = context.now.wall_us;
    let parts = [now_us.div_euclid(1_000_000), now_us.rem_euclid(1_000_000)];
    Ok(Reply::bulks(parts.map(|part| part.to_string())))
}

/// The delay of a `WAIT` that is not satisfied is the world's business: the model answers at once.
fn wait(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    integer_argument(args[1])?;
    let timeout = integer_argument(args[2])
        .map_err(|_| Refusal::fixed("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Refusal::fixed("ERR timeout is negative"));
    }
    if context.state.read_only {
        return Err(Refusal::fixed(
            "ERR WAIT cannot be used with replica instances. Please also note that writes to \
             replicas are just local and are not propagated.",
        ));
    }
    Ok(Reply::Int(context.state.acknowledged))
}
