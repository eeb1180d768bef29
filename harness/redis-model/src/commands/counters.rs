//! Counters: integers kept as strings.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::keyspace::Form;
use super::super::number::{integer, integer_argument};
use super::super::reply::{Outcome, Refusal};
use super::super::values::Value;
use super::super::{Reply, long_double::LongDouble};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("incr", 2, |context, args| add(context, args[1], 1)),
    Spec::grow("decr", 2, |context, args| add(context, args[1], -1)),
    Spec::grow("incrby", 3, |context, args| {
        let step = integer_argument(args[2])?;
        add(context, args[1], step)
    }),
    Spec::grow("decrby", 3, |context, args| {
        let step = integer_argument(args[2])?;
        let negated = match context.state.version.since_70() {
            true => step.checked_neg(),
            // Not checked there: the smallest integer stays what it is.
            false => Some(step.wrapping_neg()),
        };
        let step = negated.ok_or(Refusal::fixed("ERR decrement would overflow"))?;
        add(context, args[1], step)
    }),
    Spec::grow("incrbyfloat", 3, incrbyfloat),
];

fn add(context: &mut Context<'_>, key: &[u8], step: i64) -> Outcome {
    let Some(bytes) = context.string(key)? else {
        context.put(key, Value::String(step.to_string().into_bytes()), None);
        context.set_form(key, Form::Number);
        return Ok(Reply::Int(step));
    };
    let old = integer(bytes).ok_or(Refusal::NOT_INTEGER)?;
    let new = old
        .checked_add(step)
        .ok_or(Refusal::fixed("ERR increment or decrement would overflow"))?;
    *bytes = new.to_string().into_bytes();
    context.set_form(key, Form::Number);
    context.touched(key);
    Ok(Reply::Int(new))
}

fn incrbyfloat(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let old = match context.string(key)? {
        Some(bytes) => bytes.clone(),
        None => b"0".to_vec(),
    };
    let old = LongDouble::read(context, &old)?.ok_or(Refusal::NOT_FLOAT)?;
    let step = LongDouble::read(context, args[2])?.ok_or(Refusal::NOT_FLOAT)?;
    let sum = old.plus(step);
    let text = sum.text(context)?.into_bytes();
    match context.string(key)? {
        Some(bytes) => bytes.clone_from(&text),
        None => context.put(key, Value::String(text.clone()), None),
    }
    context.set_form(key, Form::Text);
    context.touched(key);
    context.reword(&[b"SET", key, &text, b"KEEPTTL"]);
    Ok(Reply::Bulk(text))
}
