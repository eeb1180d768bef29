//! Sorted sets: ranges.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::number::{integer_argument, is_read_differently};
use super::super::reply::{CommandResult, Refusal, refuse};
use super::super::values::{Bound, SortedSet};
use super::index_range::index_range;

/// The meaning of the ends of a range.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Rank,
    Score,
}

/// A range, as requested.
struct Query {
    by: By,
    reverse: bool,
    with_scores: bool,
    /// Number of members to skip, and maximum number of members to return. A negative maximum means no limit.
    limit: Option<(i64, i64)>,
}

/// Implements `ZRANGE`, `ZREVRANGE` and `ZRANGEBYSCORE`.
pub(super) fn zrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    Query::read(context, &args[4..])?.answer(context, args)
}

impl Query {
    /// Parses the options. `ZRANGE` also has options for the kind of range and for its direction.
    fn read(context: &mut Context<'_>, words: Args<'_>) -> Result<Query, Refusal> {
        let free = context.name == "zrange";
        let mut query = Query {
            by: match context.name {
                "zrangebyscore" => By::Score,
                _ => By::Rank,
            },
            reverse: context.name == "zrevrange",
            with_scores: false,
            limit: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if is_word(word, "WITHSCORES") {
                query.with_scores = true;
            } else if is_word(word, "LIMIT") && words.len() >= 2 {
                let mut number = || words.next().map_or(Ok(0), |word| integer_argument(word));
                query.limit = Some((number()?, number()?));
            } else if free && !query.reverse && is_word(word, "REV") {
                query.reverse = true;
            } else if free && query.by == By::Rank && is_word(word, "BYSCORE") {
                query.by = By::Score;
            } else if free && is_word(word, "BYLEX") {
                return Err(context.not_modelled("ZRANGE with BYLEX"));
            } else {
                return Err(Refusal::SYNTAX);
            }
        }
        if query.limit.is_some_and(|(_, count)| count != -1) && query.by == By::Rank {
            return refuse(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or \
                 BYLEX",
            );
        }
        Ok(query)
    }

    fn answer(&self, context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
        let (low, high) = (args[2], args[3]);
        let range = match (self.by, self.reverse) {
            (By::Score, true) => Range::scores(context, high, low)?,
            (By::Score, false) => Range::scores(context, low, high)?,
            (By::Rank, _) => Range::Rank(integer_argument(low)?, integer_argument(high)?),
        };
        let set = context.sorted_set(args[1])?;
        let mut found = set.map_or_else(Vec::new, |set| range.select(set, self.reverse));
        // A range of ranks accepts only a LIMIT without effect, so LIMIT applies only to scores.
        if let (By::Score, Some((skip, take))) = (self.by, self.limit) {
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            found.drain(..skip.min(found.len()));
            found.truncate(usize::try_from(take).unwrap_or(usize::MAX));
        }
        Ok(if self.with_scores {
            with_scores(context, &found)
        } else {
            Reply::bulks(found.iter().map(|(member, _)| member))
        })
    }
}

/// The two ends of a range.
enum Range {
    Rank(i64, i64),
    Score(Bound, Bound),
}

impl Range {
    fn scores(context: &mut Context<'_>, low: &[u8], high: &[u8]) -> Result<Range, Refusal> {
        let mut bound = |text| match Bound::read(text) {
            Some(bound) => Ok(bound),
            None if is_read_differently(text.strip_prefix(b"(").unwrap_or(text)) => {
                Err(context.not_modelled("such an end of a range of scores"))
            }
            None => refuse("ERR min or max is not a float"),
        };
        Ok(Range::Score(bound(low)?, bound(high)?))
    }

    /// Returns the members in the range, in the requested order.
    fn select(&self, set: &SortedSet, reverse: bool) -> Vec<(Vec<u8>, f64)> {
        let members: Box<dyn Iterator<Item = (&[u8], f64)>> = if reverse {
            Box::new(set.iter().rev())
        } else {
            Box::new(set.iter())
        };
        let own = |(member, score): (&[u8], f64)| (member.to_vec(), score);
        match self {
            Range::Rank(start, end) => match index_range(*start, *end, set.len()) {
                Some((start, end)) => members.skip(start).take(end - start + 1).map(own).collect(),
                None => Vec::new(),
            },
            Range::Score(low, high) => members
                .filter(|(_, score)| low.allows_above(*score) && high.allows_below(*score))
                .map(own)
                .collect(),
        }
    }
}

/// Returns members with their scores, as pairs in RESP3 and as one flat array in RESP2.
fn with_scores(context: &Context<'_>, found: &[(Vec<u8>, f64)]) -> Reply {
    let pair = |(member, score): &(Vec<u8>, f64)| [Reply::bulk(member), context.double(*score)];
    let pairs = found.iter().map(pair);
    Reply::Array(if context.resp3 {
        pairs.map(|pair| Reply::Array(pair.into())).collect()
    } else {
        pairs.flatten().collect()
    })
}

pub(super) fn zcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let range = Range::scores(context, args[2], args[3])?;
    let set = context.sorted_set(args[1])?;
    let count = set.map_or(0, |set| range.select(set, false).len());
    Ok(Reply::Int(count as i64))
}

pub(super) fn zremrangebyscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let range = Range::scores(context, args[2], args[3])?;
    remove(context, args[1], &range)
}

pub(super) fn zremrangebyrank(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let range = Range::Rank(integer_argument(args[2])?, integer_argument(args[3])?);
    remove(context, args[1], &range)
}

/// Removes the members in a range, and replies with their number.
fn remove(context: &mut Context<'_>, key: &[u8], range: &Range) -> CommandResult {
    let Some(set) = context.sorted_set(key)? else {
        return Ok(Reply::Int(0));
    };
    let doomed = range.select(set, false);
    for (member, _) in &doomed {
        set.remove(member);
    }
    let is_empty = set.is_empty();
    Ok(context.shrunk(key, doomed.len(), is_empty))
}

/// Implements `ZPOPMIN` and `ZPOPMAX`.
pub(super) fn zpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = match args[2..] {
        [] => None,
        [count] => match integer_argument(count) {
            Ok(count @ 1..) => Some(usize::try_from(count).unwrap_or(usize::MAX)),
            // The versions answer differently.
            _ => return Err(context.not_modelled("such a number of members")),
        },
        _ => return Err(Refusal::SYNTAX),
    };
    let is_reverse = context.name == "zpopmax";
    let Some(set) = context.sorted_set(args[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let mut popped = Range::Rank(0, -1).select(set, is_reverse);
    popped.truncate(count.unwrap_or(1));
    for (member, _) in &popped {
        set.remove(member);
    }
    let is_empty = set.is_empty();
    context.shrunk(args[1], popped.len(), is_empty);
    Ok(match (count, &popped[..]) {
        // Without a count, the pair is flat in RESP3, too.
        (None, [(member, score)]) => {
            Reply::Array(vec![Reply::bulk(member), context.double(*score)])
        }
        _ => with_scores(context, &popped),
    })
}
