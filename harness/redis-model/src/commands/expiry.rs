//! When keys expire.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal};
use super::option_word::is_word;

/// `NX`, `XX`, `GT`, `LT`.
#[derive(Default)]
struct Conditions {
    missing: bool,
    present: bool,
    later: bool,
    earlier: bool,
}

impl Conditions {
    fn read(words: Args<'_>) -> Result<Conditions, Refusal> {
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
    fn allow(&self, old_ms: Option<i64>, new_ms: i64) -> bool {
        !(self.missing && old_ms.is_some()
            || self.present && old_ms.is_none()
            || self.later && old_ms.is_none_or(|old_ms| new_ms <= old_ms)
            || self.earlier && old_ms.is_some_and(|old_ms| new_ms >= old_ms))
    }
}

pub(super) fn expire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now_ms = context.now.ms();
    set(context, args, 1000, now_ms)
}

pub(super) fn pexpire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now_ms = context.now.ms();
    set(context, args, 1, now_ms)
}

pub(super) fn expireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set(context, args, 1000, 0)
}

pub(super) fn pexpireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set(context, args, 1, 0)
}

/// Sets an expiry that is given in units of so many milliseconds, counted from `origin_ms`.
fn set(context: &mut Context<'_>, args: Args<'_>, unit_ms: i64, origin_ms: i64) -> CommandResult {
    let key = args[1];
    let conditions = Conditions::read(&args[3..])?;
    let at_ms = integer_argument(args[2])?
        .checked_mul(unit_ms)
        .and_then(|ms| ms.checked_add(origin_ms))
        .ok_or_else(|| Refusal::invalid_expiry(context.name))?;
    let Some(entry) = context.entry(key) else {
        return Ok(Reply::Int(0));
    };
    if !conditions.allow(entry.expires_ms, at_ms) {
        return Ok(Reply::Int(0));
    }
    if at_ms <= context.now.ms() && !context.state.applying {
        context.remove(key);
        context.reword(&[b"DEL", key]);
        return Ok(Reply::Int(1));
    }
    if let Some(entry) = context.entry(key) {
        entry.expires_ms = Some(at_ms);
    }
    context.touched(key);
    context.reword(&[b"PEXPIREAT", key, at_ms.to_string().as_bytes()]);
    Ok(Reply::Int(1))
}

pub(super) fn ttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    left(context, args, |ms| (ms + 500) / 1000)
}

pub(super) fn pttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    left(context, args, |ms| ms)
}

fn left(context: &mut Context<'_>, args: Args<'_>, unit: fn(i64) -> i64) -> CommandResult {
    let now_ms = context.now.ms();
    Ok(Reply::Int(match context.entry(args[1]) {
        None => -2,
        Some(entry) => match entry.expires_ms {
            None => -1,
            Some(at_ms) => unit(at_ms.saturating_sub(now_ms).max(0)),
        },
    }))
}

pub(super) fn persist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(entry) = context.entry(args[1]) else {
        return Ok(Reply::Int(0));
    };
    if entry.expires_ms.take().is_none() {
        return Ok(Reply::Int(0));
    }
    context.touched(args[1]);
    Ok(Reply::Int(1))
}
