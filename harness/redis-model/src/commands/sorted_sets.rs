//! Sorted sets: members and scores.

use super::super::Reply;
use super::super::command::Args;
use super::super::context::Context;
use super::super::number::{double, is_read_differently};
use super::super::reply::{CommandResult, Refusal};
use super::super::values::{SortedSet, Value};
use super::option_word::is_word;

/// The options of `ZADD`.
#[derive(Default)]
struct Options {
    missing: bool,
    present: bool,
    greater: bool,
    less: bool,
    count_changed: bool,
    increment: bool,
}

impl Options {
    /// Reads the options, and returns how many words they are.
    fn read(words: Args<'_>) -> (Options, usize) {
        let mut options = Options::default();
        for (count, word) in words.iter().enumerate() {
            let flag = if is_word(word, "NX") {
                &mut options.missing
            } else if is_word(word, "XX") {
                &mut options.present
            } else if is_word(word, "GT") {
                &mut options.greater
            } else if is_word(word, "LT") {
                &mut options.less
            } else if is_word(word, "CH") {
                &mut options.count_changed
            } else if is_word(word, "INCR") {
                &mut options.increment
            } else {
                return (options, count);
            };
            *flag = true;
        }
        (options, words.len())
    }

    fn check(&self, pairs: usize) -> Result<(), Refusal> {
        if self.missing && self.present {
            return Err(Refusal::fixed(
                "ERR XX and NX options at the same time are not compatible",
            ));
        }
        if self.greater && (self.missing || self.less) || self.less && self.missing {
            return Err(Refusal::fixed(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.increment && pairs > 1 {
            return Err(Refusal::fixed(
                "ERR INCR option supports a single increment-element pair",
            ));
        }
        Ok(())
    }
}

/// What happened to one member.
enum Change {
    Added(f64),
    Updated(f64),
    /// Existed with the same score.
    Same(f64),
    /// Not allowed by the options.
    Refused,
}

/// Reads a score.
fn score(context: &mut Context<'_>, text: &[u8]) -> Result<f64, Refusal> {
    match double(text) {
        Some(score) => Ok(score),
        None if is_read_differently(text) => Err(context.not_modelled("such a score")),
        None => Err(Refusal::NOT_FLOAT),
    }
}

pub(super) fn zadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (options, words) = Options::read(&args[2..]);
    let rest = &args[2 + words..];
    if rest.is_empty() || !rest.len().is_multiple_of(2) {
        return Err(Refusal::SYNTAX);
    }
    options.check(rest.len() / 2)?;
    let pairs = rest
        .chunks_exact(2)
        .map(|pair| Ok((score(context, pair[0])?, pair[1])))
        .collect::<Result<Vec<_>, Refusal>>()?;
    add_all(context, args[1], &options, &pairs)
}

pub(super) fn zincrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let step = score(context, args[2])?;
    let options = Options {
        increment: true,
        ..Options::default()
    };
    add_all(context, args[1], &options, &[(step, args[3])])
}

fn add_all(
    context: &mut Context<'_>,
    key: &[u8],
    options: &Options,
    pairs: &[(f64, &[u8])],
) -> CommandResult {
    if context.sorted_set(key)?.is_none() && options.present {
        return Ok(if options.increment {
            Reply::Nil
        } else {
            Reply::Int(0)
        });
    }
    let empty = || Value::SortedSet(SortedSet::default());
    let Value::SortedSet(set) = context.value_or(key, empty) else {
        return Err(Refusal::WRONG_TYPE);
    };
    let (mut added, mut updated) = (0, 0);
    let mut last = None;
    let mut failed = None;
    for (score, member) in pairs {
        match add_one(set, options, *score, member) {
            Ok(Change::Added(score)) => {
                added += 1;
                last = Some(score);
            }
            Ok(Change::Updated(score)) => {
                updated += 1;
                last = Some(score);
            }
            Ok(Change::Same(score)) => last = Some(score),
            Ok(Change::Refused) => last = None,
            Err(refusal) => {
                failed = Some(refusal);
                break;
            }
        }
    }
    let empty = set.is_empty();
    context.drop_if(key, empty);
    if added + updated > 0 {
        context.touched(key);
    }
    if let Some(refusal) = failed {
        return Err(refusal);
    }
    Ok(if options.increment {
        last.map_or(Reply::Nil, |score| context.double(score))
    } else if options.count_changed {
        Reply::Int(added + updated)
    } else {
        Reply::Int(added)
    })
}

fn add_one(
    set: &mut SortedSet,
    options: &Options,
    score: f64,
    member: &[u8],
) -> Result<Change, Refusal> {
    let Some(old) = set.score(member) else {
        if options.present {
            return Ok(Change::Refused);
        }
        set.set(member, score);
        return Ok(Change::Added(score));
    };
    if options.missing {
        return Ok(Change::Refused);
    }
    let new = if options.increment {
        old + score
    } else {
        score
    };
    if new.is_nan() {
        return Err(Refusal::fixed("ERR resulting score is not a number (NaN)"));
    }
    if options.less && new >= old || options.greater && new <= old {
        return Ok(Change::Refused);
    }
    if new == old {
        return Ok(Change::Same(new));
    }
    set.set(member, new);
    Ok(Change::Updated(new))
}

pub(super) fn zrem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(set) = context.sorted_set(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let removed = args[2..].iter().filter(|member| set.remove(member)).count();
    let empty = set.is_empty();
    if removed > 0 {
        context.drop_if(args[1], empty);
        context.touched(args[1]);
    }
    Ok(Reply::Int(removed as i64))
}

pub(super) fn zscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let score = context
        .sorted_set(args[1])?
        .and_then(|set| set.score(args[2]));
    Ok(score.map_or(Reply::Nil, |score| context.double(score)))
}

pub(super) fn zcard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let len = context.sorted_set(args[1])?.map_or(0, |set| set.len());
    Ok(Reply::Int(len as i64))
}
