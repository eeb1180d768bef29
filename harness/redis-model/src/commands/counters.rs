//! Counters: integers kept as strings.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::{integer, integer_argument};
use super::super::reply::{CommandResult, Refusal};
use super::super::values::Value;

pub(super) fn incrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args[1], step(args)?)
}

pub(super) fn decrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let overflow = Refusal::fixed("ERR decrement would overflow");
    add(context, args[1], step(args)?.checked_neg().ok_or(overflow)?)
}

/// Returns the step, which is 1 for `INCR` and `DECR`.
fn step(args: Args<'_>) -> Result<i64, Refusal> {
    args.get(2).map_or(Ok(1), |step| integer_argument(step))
}

fn add(context: &mut Context<'_>, key: &[u8], step: i64) -> CommandResult {
    let Some(bytes) = context.string(key)? else {
        context.put(key, Value::String(step.to_string().into_bytes()), None);
        return Ok(Reply::Int(step));
    };
    let old = integer(bytes).ok_or(Refusal::NOT_INTEGER)?;
    let new = old.checked_add(step).ok_or(Refusal::OVERFLOW)?;
    *bytes = new.to_string().into_bytes();
    context.touched(key);
    Ok(Reply::Int(new))
}
