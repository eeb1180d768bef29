//! Expiry of keys.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::set_options::Unit;

/// The conditions `NX`, `XX`, `GT`, `LT`.
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
            let flag = match word {
                _ if is_word(word, "NX") => &mut conditions.missing,
                _ if is_word(word, "XX") => &mut conditions.present,
                _ if is_word(word, "GT") => &mut conditions.later,
                _ if is_word(word, "LT") => &mut conditions.earlier,
                _ => {
                    let word = Refusal::quote(word, usize::MAX);
                    return refuse(format!("ERR Unsupported option {word}"));
                }
            };
            *flag = true;
        }
        if conditions.missing && (conditions.present || conditions.later || conditions.earlier) {
            return refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
        }
        if conditions.later && conditions.earlier {
            return refuse("ERR GT and LT options at the same time are not compatible");
        }
        Ok(conditions)
    }

    /// Returns `true` if the conditions allow the change. A key without expiry counts as having an infinite expiry.
    fn allow(&self, old_ms: Option<i64>, new_ms: i64) -> bool {
        !(self.missing && old_ms.is_some()
            || self.present && old_ms.is_none()
            || self.later && old_ms.is_none_or(|old_ms| new_ms <= old_ms)
            || self.earlier && old_ms.is_some_and(|old_ms| new_ms >= old_ms))
    }
}

/// Implements `EXPIRE`, `PEXPIRE`, `EXPIREAT` and `PEXPIREAT`.
pub(super) fn expire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = args[1];
    let conditions = Conditions::read(&args[3..])?;
    let at_ms = Unit::for_command(context.name)
        .at_ms(integer_argument(args[2])?, context.now.ms())
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

/// Returns the time to live, in units of `unit_ms` milliseconds.
pub(super) fn remaining(context: &mut Context<'_>, args: Args<'_>, unit_ms: i64) -> CommandResult {
    let now_ms = context.now.ms();
    let expiry_ms = context.entry(args[1]).map(|entry| entry.expires_ms);
    Ok(Reply::Int(match expiry_ms {
        None => -2,
        Some(None) => -1,
        Some(Some(at_ms)) => (at_ms.saturating_sub(now_ms).max(0) + unit_ms / 2) / unit_ms,
    }))
}

pub(super) fn persist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let entry = context.entry(args[1]);
    let had_expiry = entry.is_some_and(|entry| entry.expires_ms.take().is_some());
    if had_expiry {
        context.touched(args[1]);
    }
    Ok(Reply::Int(i64::from(had_expiry)))
}
