//! Sorted sets: members and scores.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::number::{double, is_read_differently};
use super::super::reply::{CommandResult, Refusal, refuse};

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
    /// Parses the options, and returns their number of words.
    fn read(words: Args<'_>) -> (Options, usize) {
        let mut options = Options::default();
        for (count, word) in words.iter().enumerate() {
            let flag = match word {
                _ if is_word(word, "NX") => &mut options.missing,
                _ if is_word(word, "XX") => &mut options.present,
                _ if is_word(word, "GT") => &mut options.greater,
                _ if is_word(word, "LT") => &mut options.less,
                _ if is_word(word, "CH") => &mut options.count_changed,
                _ if is_word(word, "INCR") => &mut options.increment,
                _ => return (options, count),
            };
            *flag = true;
        }
        (options, words.len())
    }

    fn check(&self, pairs: usize) -> Result<(), Refusal> {
        if self.missing && self.present {
            return refuse("ERR XX and NX options at the same time are not compatible");
        }
        if self.greater && (self.missing || self.less) || self.less && self.missing {
            return refuse("ERR GT, LT, and/or NX options at the same time are not compatible");
        }
        if self.increment && pairs > 1 {
            return refuse("ERR INCR option supports a single increment-element pair");
        }
        Ok(())
    }
}

/// Returns the new score of a member, or `None` if the options do not allow a change.
fn new_score(options: &Options, old: Option<f64>, score: f64) -> Result<Option<f64>, Refusal> {
    let Some(old) = old else {
        return Ok((!options.present).then_some(score));
    };
    if options.missing {
        return Ok(None);
    }
    let new = if options.increment {
        old + score
    } else {
        score
    };
    if new.is_nan() {
        return refuse("ERR resulting score is not a number (NaN)");
    }
    let is_refused = options.less && new >= old || options.greater && new <= old;
    Ok((!is_refused).then_some(new))
}

/// Parses a score.
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
    // A set created here never stays empty, because a missing member is always added unless `XX` is given.
    let set = context.sorted_set_or_new(key)?;
    let (mut added, mut changed, mut last) = (0, 0, Ok(None));
    for (score, member) in pairs {
        let old = set.score(member);
        last = new_score(options, old, *score);
        match last {
            Ok(Some(new)) if old != Some(new) => {
                set.set(member, new);
                added += i64::from(old.is_none());
                changed += 1;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    if changed > 0 {
        context.touched(key);
    }
    let last = last?;
    Ok(if options.increment {
        last.map_or(Reply::Nil, |score| context.double(score))
    } else if options.count_changed {
        Reply::Int(changed)
    } else {
        Reply::Int(added)
    })
}

pub(super) fn zrem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(set) = context.sorted_set(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let removed = args[2..].iter().filter(|member| set.remove(member)).count();
    let is_empty = set.is_empty();
    Ok(context.shrunk(args[1], removed, is_empty))
}

pub(super) fn zscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let set = context.sorted_set(args[1])?;
    let score = set.and_then(|set| set.score(args[2]));
    Ok(score.map_or(Reply::Nil, |score| context.double(score)))
}
