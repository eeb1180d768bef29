//! When keys expire.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::{Reply, ServerVersion};
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::write("expire", -3, |context, args| {
        expire(context, args, 1000, true)
    })
    .arity_62(3),
    Spec::write("pexpire", -3, |context, args| {
        expire(context, args, 1, true)
    })
    .arity_62(3),
    Spec::write("expireat", -3, |context, args| {
        expire(context, args, 1000, false)
    })
    .arity_62(3),
    Spec::write("pexpireat", -3, |context, args| {
        expire(context, args, 1, false)
    })
    .arity_62(3),
    Spec::read("ttl", 2, |context, args| {
        left(context, args, |ms| (ms + 500) / 1000)
    }),
    Spec::read("pttl", 2, |context, args| left(context, args, |ms| ms)),
    Spec::read("expiretime", 2, |context, args| {
        deadline(context, args, |ms| ms.saturating_add(500) / 1000)
    })
    .on(ServerVersion::since_70),
    Spec::read("pexpiretime", 2, |context, args| {
        deadline(context, args, |ms| ms)
    })
    .on(ServerVersion::since_70),
    Spec::write("persist", 2, persist),
];

/// `NX`, `XX`, `GT`, `LT`.
#[derive(Default)]
pub(super) struct Conditions {
    missing: bool,
    present: bool,
    later: bool,
    earlier: bool,
}

impl Conditions {
    pub(super) fn read(words: Args<'_>) -> Result<Conditions, Refusal> {
        let mut conditions = Conditions::default();
        for word in words {
            let flag = if is_word(word, "NX") {
                &mut conditions.missing
            } else if is_word(word, "XX") {
                &mut conditions.present
            } else if is_word(word, "GT") {
                &mut conditions.later
            } else if is_word(word, "LT") {
                &mut conditions.earlier
            } else {
                let word = Refusal::quote(word, usize::MAX);
                return Err(Refusal::of(format!("ERR Unsupported option {word}")));
            };
            *flag = true;
        }
        if conditions.missing && (conditions.present || conditions.later || conditions.earlier) {
            return Err(Refusal::fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.later && conditions.earlier {
            return Err(Refusal::fixed(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// A key without expiry counts as one that never expires.
    pub(super) fn allow(&self, old_ms: Option<i64>, new_ms: i64) -> bool {
        !(self.missing && old_ms.is_some()
            || self.present && old_ms.is_none()
            || self.later && old_ms.is_none_or(|old_ms| new_ms <= old_ms)
            || self.earlier && old_ms.is_some_and(|old_ms| new_ms >= old_ms))
    }
}

fn expire(context: &mut Context<'_>, args: Args<'_>, unit_ms: i64, relative: bool) -> Outcome {
    let key = args[1];
    let conditions = Conditions::read(&args[3..])?;
    let amount = integer_argument(args[2])?;
    let origin_ms = if relative { context.now.ms() } else { 0 };
    let at_ms = amount
        .checked_mul(unit_ms)
        .and_then(|ms| ms.checked_add(origin_ms))
        .ok_or_else(|| Refusal::invalid_expiry(context.state.version, context.name))?;
    let Some(entry) = context.entry(key) else {
        return Ok(Reply::Int(0));
    };
    if !conditions.allow(entry.expires_ms, at_ms) {
        return Ok(Reply::Int(0));
    }
    if at_ms <= context.now.ms() && !context.state.applying {
        context.remove(key);
        context.reword(&[b"DEL", key]);
    } else {
        set_expiry(context, key, at_ms);
    }
    Ok(Reply::Int(1))
}

/// Gives an existing key a new expiry.
pub(super) fn set_expiry(context: &mut Context<'_>, key: &[u8], at_ms: i64) {
    if let Some(entry) = context.entry(key) {
        entry.expires_ms = Some(at_ms);
        context.touched(key);
        context.reword(&[b"PEXPIREAT", key, at_ms.to_string().as_bytes()]);
    }
}

fn left(context: &mut Context<'_>, args: Args<'_>, unit: fn(i64) -> i64) -> Outcome {
    let now_ms = context.now.ms();
    Ok(Reply::Int(match context.entry(args[1]) {
        None => -2,
        Some(entry) => match entry.expires_ms {
            None => -1,
            Some(at_ms) => unit(at_ms.saturating_sub(now_ms).max(0)),
        },
    }))
}

fn deadline(context: &mut Context<'_>, args: Args<'_>, unit: fn(i64) -> i64) -> Outcome {
    Ok(Reply::Int(match context.entry(args[1]) {
        None => -2,
        Some(entry) => entry.expires_ms.map_or(-1, unit),
    }))
}

fn persist(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let Some(entry) = context.entry(args[1]) else {
        return Ok(Reply::Int(0));
    };
    if entry.expires_ms.take().is_none() {
        return Ok(Reply::Int(0));
    }
    context.touched(args[1]);
    Ok(Reply::Int(1))
}
