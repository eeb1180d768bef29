//! Sorted sets: members and scores.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::{count_argument, double, integer_argument};
use super::super::reply::{Outcome, Refusal};
use super::super::values::{SortedSet, Value};
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("zadd", -4, zadd),
    Spec::grow("zincrby", 4, zincrby),
    Spec::write("zrem", -3, zrem),
    Spec::read("zscore", 3, zscore),
    Spec::read("zmscore", -3, zmscore),
    Spec::read("zcard", 2, zcard),
    Spec::read("zrank", -3, |context, args| rank(context, args, false)).arity_70(3),
    Spec::read("zrevrank", -3, |context, args| rank(context, args, true)).arity_70(3),
    Spec::write("zpopmin", -2, |context, args| pop(context, args, false)),
    Spec::write("zpopmax", -2, |context, args| pop(context, args, true)),
];

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
fn score(context: &Context<'_>, text: &[u8]) -> Result<f64, Refusal> {
    let has_x = text.iter().any(|byte| byte.eq_ignore_ascii_case(&b'x'));
    let read = double(text).filter(|_| !has_x || context.state.version.reads_hexadecimal());
    read.ok_or(Refusal::NOT_FLOAT)
}

fn zadd(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
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

fn zincrby(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
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
) -> Outcome {
    if context.sorted_set(key)?.is_none() && options.present {
        return Ok(if options.increment {
            Reply::Nil
        } else {
            Reply::Int(0)
        });
    }
    let empty = match context.state.version.since_70() {
        true => SortedSet::default,
        false => SortedSet::with_minus_zero,
    };
    let empty = || Value::SortedSet(empty());
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

fn zrem(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
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

fn zscore(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let score = context
        .sorted_set(args[1])?
        .and_then(|set| set.score(args[2]));
    Ok(score.map_or(Reply::Nil, |score| context.double(score)))
}

fn zmscore(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let set = context.sorted_set(args[1])?;
    let scores: Vec<Option<f64>> = args[2..]
        .iter()
        .map(|member| set.as_ref().and_then(|set| set.score(member)))
        .collect();
    let replies = scores
        .into_iter()
        .map(|score| score.map_or(Reply::Nil, |score| context.double(score)));
    Ok(Reply::Array(replies.collect()))
}

fn zcard(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let len = context.sorted_set(args[1])?.map_or(0, |set| set.len());
    Ok(Reply::Int(len as i64))
}

fn rank(context: &mut Context<'_>, args: Args<'_>, from_top: bool) -> Outcome {
    let with_score = match args[3..] {
        [] => false,
        [option] if is_word(option, "WITHSCORE") => true,
        [_] => return Err(Refusal::SYNTAX),
        _ => return Err(Refusal::arity(context.name)),
    };
    let missing = if with_score {
        Reply::NilArray
    } else {
        Reply::Nil
    };
    let Some(set) = context.sorted_set(args[1])? else {
        return Ok(missing);
    };
    let (Some(rank), Some(score)) = (set.rank(args[2]), set.score(args[2])) else {
        return Ok(missing);
    };
    let rank = if from_top { set.len() - 1 - rank } else { rank };
    let rank = Reply::Int(rank as i64);
    Ok(if with_score {
        Reply::Array(vec![rank, context.double(score)])
    } else {
        rank
    })
}

fn pop(context: &mut Context<'_>, args: Args<'_>, highest: bool) -> Outcome {
    let key = args[1];
    let count = match args[2..] {
        [] => None,
        // A count below zero is none there.
        [count] if !context.state.version.since_70() => {
            Some(usize::try_from(integer_argument(count)?).unwrap_or(0))
        }
        [count] => Some(usize::try_from(count_argument(count)?).unwrap_or(usize::MAX)),
        _ => return Err(Refusal::SYNTAX),
    };
    if count == Some(0) && !context.state.version.since_70() {
        return Ok(Reply::Array(Vec::new()));
    }
    let Some(set) = context.sorted_set(key)? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let taken = count.unwrap_or(1).min(set.len());
    let mut popped = Vec::with_capacity(taken);
    for _ in 0..taken {
        let first = if highest {
            set.iter().next_back()
        } else {
            set.iter().next()
        };
        let Some((member, score)) = first.map(|(member, score)| (member.to_vec(), score)) else {
            break;
        };
        set.remove(&member);
        popped.push((member, score));
    }
    let empty = set.is_empty();
    if taken > 0 {
        context.drop_if(key, empty);
        context.touched(key);
    }
    let nested = context.resp3 && count.is_some();
    Ok(super::sorted_ranges::with_scores(context, &popped, nested))
}
