//! Hashes: fields that are read and written together with their expiry.

use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer;
use super::super::reply::{Outcome, Refusal};
use super::super::{Reply, ServerVersion};
use super::hash_expiry::{deadline, finish};
use super::hashes::hash_or_new;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("hsetex", -6, set_with_expiry).on(ServerVersion::has_field_expiry),
    Spec::write("hgetex", -5, get_with_expiry).on(ServerVersion::has_field_expiry),
];

/// What becomes of the expiries.
#[derive(Clone, Copy)]
enum Lease<'a> {
    /// `HSETEX` takes them, `HGETEX` leaves them.
    None,
    Keep,
    Persist,
    /// The time, its unit in milliseconds, and whether it is relative.
    Ends(&'a [u8], i64, bool),
}

/// Which fields must be there, so that anything is written.
#[derive(Clone, Copy, PartialEq)]
enum Condition {
    None,
    AllMissing,
    AllPresent,
}

struct Query<'a> {
    lease: Lease<'a>,
    condition: Condition,
    /// The words after the number of fields.
    rest: Args<'a>,
}

impl<'a> Query<'a> {
    /// Reads a well-formed command. The versions refuse others in many words, which are not modelled.
    fn read(words: Args<'a>, setting: bool) -> Option<Query<'a>> {
        let (mut lease, mut condition) = (None, Condition::None);
        let mut words = words;
        loop {
            let (word, after) = words.split_first()?;
            words = after;
            let free = lease.is_none();
            if is_word(word, "FIELDS") {
                break;
            } else if setting && condition == Condition::None && is_word(word, "FNX") {
                condition = Condition::AllMissing;
            } else if setting && condition == Condition::None && is_word(word, "FXX") {
                condition = Condition::AllPresent;
            } else if setting && free && is_word(word, "KEEPTTL") {
                lease = Some(Lease::Keep);
            } else if !setting && free && is_word(word, "PERSIST") {
                lease = Some(Lease::Persist);
            } else {
                let (unit_ms, relative) = unit(word).filter(|_| free)?;
                let (time, after) = words.split_first()?;
                lease = Some(Lease::Ends(time, unit_ms, relative));
                words = after;
            }
        }
        let (number, rest) = words.split_first()?;
        let for_each = if setting { 2 } else { 1 };
        let named = usize::try_from(integer(number)?).ok()?;
        let fits = named > 0 && named.checked_mul(for_each) == Some(rest.len());
        fits.then_some(Query {
            lease: lease.unwrap_or(Lease::None),
            condition,
            rest,
        })
    }

    /// When the fields end, if there is such an option.
    fn ends(&self, context: &Context<'_>) -> Result<Option<i64>, Refusal> {
        match self.lease {
            Lease::Ends(time, unit_ms, relative) => {
                deadline(context, time, unit_ms, relative).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// An option's unit, and whether its time is relative.
fn unit(word: &[u8]) -> Option<(i64, bool)> {
    let units = [
        ("EX", 1000, true),
        ("PX", 1, true),
        ("EXAT", 1000, false),
        ("PXAT", 1, false),
    ];
    let found = units.into_iter().find(|(name, ..)| is_word(word, name));
    found.map(|(_, unit_ms, relative)| (unit_ms, relative))
}

fn set_with_expiry(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let Some(query) = Query::read(&args[2..], true) else {
        return Err(context.not_modelled("HSETEX with such words"));
    };
    // Valkey looks at the key first, Redis at the time.
    if context.state.version.is_valkey() {
        context.hash(key)?;
    }
    let at_ms = query.ends(context)?;
    let hash = context.hash(key)?;
    let there = |name: &[u8]| hash.as_ref().is_some_and(|hash| hash.get(name).is_some());
    let mut names = query.rest.chunks_exact(2).map(|pair| pair[0]);
    let allowed = match query.condition {
        Condition::None => true,
        Condition::AllMissing => !names.any(there),
        Condition::AllPresent => names.all(there),
    };
    if !allowed {
        return Ok(Reply::Int(0));
    }
    let over = at_ms.is_some_and(|at_ms| at_ms <= context.now.ms()) && !context.state.applying;
    let hash = hash_or_new(context, key)?;
    for pair in query.rest.chunks_exact(2) {
        match (query.lease, at_ms) {
            (Lease::Keep, _) => hash.change(pair[0], pair[1].to_vec()),
            (_, None) => drop(hash.set(pair[0], pair[1].to_vec())),
            (_, Some(_)) if over => drop(hash.remove(pair[0])),
            (_, Some(at_ms)) => {
                hash.set(pair[0], pair[1].to_vec());
                hash.expire_at(pair[0], at_ms);
            }
        }
    }
    let names: Vec<&[u8]> = query.rest.chunks_exact(2).map(|pair| pair[0]).collect();
    if over {
        finish(context, key, &names, None);
        return Ok(Reply::Int(1));
    }
    context.touched(key);
    context.state.field_expiries |= at_ms.is_some();
    let (at, count) = (at_ms.unwrap_or(0).to_string(), names.len().to_string());
    let mut words: Vec<&[u8]> = vec![b"HSETEX", key];
    match (query.lease, at_ms) {
        (Lease::Keep, _) => words.push(b"KEEPTTL"),
        (_, Some(_)) => words.extend([&b"PXAT"[..], at.as_bytes()]),
        (_, None) => {}
    }
    words.extend([&b"FIELDS"[..], count.as_bytes()]);
    words.extend(query.rest);
    context.reword(&words);
    Ok(Reply::Int(1))
}

fn get_with_expiry(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let Some(query) = Query::read(&args[2..], false) else {
        return Err(context.not_modelled("HGETEX with such words"));
    };
    context.hash(key)?;
    let at_ms = query.ends(context)?;
    let over = at_ms.is_some_and(|at_ms| at_ms <= context.now.ms());
    let names = query.rest;
    let Some(hash) = context.hash(key)? else {
        return Ok(Reply::Array(names.iter().map(|_| Reply::Nil).collect()));
    };
    let mut changed: Vec<&[u8]> = Vec::new();
    let mut replies = Vec::with_capacity(names.len());
    for name in names {
        let value = hash.get(name);
        replies.push(value.map_or(Reply::Nil, Reply::bulk));
        let is_changed = match (query.lease, at_ms) {
            _ if value.is_none() => false,
            (Lease::Persist, _) => hash.persist(name),
            (_, Some(_)) if over => hash.remove(name),
            (_, Some(at_ms)) => {
                hash.expire_at(name, at_ms);
                true
            }
            (_, None) => false,
        };
        if is_changed {
            changed.push(name);
        }
    }
    if !matches!(query.lease, Lease::Persist) {
        finish(context, key, &changed, at_ms.filter(|_| !over));
    } else if !changed.is_empty() {
        context.touched(key);
        let count = changed.len().to_string();
        let mut words: Vec<&[u8]> = vec![b"HPERSIST", key, b"FIELDS", count.as_bytes()];
        words.extend(changed);
        context.reword(&words);
    }
    Ok(Reply::Array(replies))
}
