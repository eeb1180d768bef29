//! Sorted sets: waiting for a member.

use super::super::Reply;
use super::super::blocking::{block, deadline, try_serve};
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::reply::Outcome;
use super::super::waiter::Wait;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::write("bzpopmin", -3, |context, args| {
        wait_to_pop(context, args, false)
    })
    .no_script_before_72(),
    Spec::write("bzpopmax", -3, |context, args| {
        wait_to_pop(context, args, true)
    })
    .no_script_before_72(),
];

fn wait_to_pop(context: &mut Context<'_>, args: Args<'_>, highest: bool) -> Outcome {
    let (keys, timeout) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let until = deadline(context.state.version, context.now, timeout)?;
    let wait = Wait::PopScore {
        keys: keys.iter().map(|key| key.to_vec()).collect(),
        highest,
    };
    if let Some(reply) = try_serve(context, &wait)? {
        return Ok(reply);
    }
    if !context.may_block {
        return Ok(Reply::NilArray);
    }
    block(context.state, context.client, context.database, wait, until);
    Ok(Reply::Blocked)
}
