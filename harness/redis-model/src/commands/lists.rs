//! Lists: operations inside them.

use std::collections::VecDeque;

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::index_range::index_range;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::read("llen", 2, llen),
    Spec::read("lrange", 4, lrange),
    Spec::read("lindex", 3, lindex),
    Spec::grow("lset", 4, lset),
    Spec::write("lrem", 4, lrem),
    Spec::write("ltrim", 4, ltrim),
    Spec::grow("linsert", 5, linsert),
    Spec::read("lpos", -3, lpos),
];

fn llen(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let len = context.list(args[1])?.map_or(0, |list| list.len());
    Ok(Reply::Int(len as i64))
}

fn lrange(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    Ok(match index_range(start, end, list.len()) {
        Some((start, end)) => Reply::bulks(list.range(start..=end)),
        None => Reply::Array(Vec::new()),
    })
}

/// A position counted from the start, or from the end if negative.
fn place(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let index = if index < 0 {
        index.saturating_add(len)
    } else {
        index
    };
    usize::try_from(index).ok().filter(|_| index < len)
}

fn lindex(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Nil);
    };
    let place = place(integer_argument(args[2])?, list.len());
    Ok(place.map_or(Reply::Nil, |place| Reply::bulk(&list[place])))
}

fn lset(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let list = context.list(args[1])?.ok_or(Refusal::NO_KEY)?;
    let place = place(integer_argument(args[2])?, list.len())
        .ok_or(Refusal::fixed("ERR index out of range"))?;
    list[place] = args[3].to_vec();
    context.touched(args[1]);
    Ok(Reply::OK)
}

fn lrem(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let count = integer_argument(args[2])?;
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let wanted = args[3];
    let limit = match usize::try_from(count.unsigned_abs()) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(limit) => limit,
    };
    let mut removed = 0;
    let mut keep = |element: &Vec<u8>| {
        let remove = removed < limit && element == wanted;
        removed += usize::from(remove);
        !remove
    };
    if count < 0 {
        let mut kept: VecDeque<Vec<u8>> = VecDeque::with_capacity(list.len());
        for element in list.drain(..).rev() {
            if keep(&element) {
                kept.push_front(element);
            }
        }
        *list = kept;
    } else {
        list.retain(keep);
    }
    let empty = list.is_empty();
    if removed > 0 {
        context.drop_if(args[1], empty);
        context.touched(args[1]);
    }
    Ok(Reply::Int(removed as i64))
}

fn ltrim(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (start, end) = (integer_argument(args[2])?, integer_argument(args[3])?);
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::OK);
    };
    match index_range(start, end, list.len()) {
        Some((start, end)) => {
            list.truncate(end + 1);
            list.drain(..start);
        }
        None => list.clear(),
    }
    let empty = list.is_empty();
    context.drop_if(args[1], empty);
    context.touched(args[1]);
    Ok(Reply::OK)
}

fn linsert(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let after = if is_word(args[2], "AFTER") {
        true
    } else if is_word(args[2], "BEFORE") {
        false
    } else {
        return Err(Refusal::SYNTAX);
    };
    let Some(list) = context.list(args[1])? else {
        return Ok(Reply::Int(0));
    };
    let Some(pivot) = list.iter().position(|element| element == args[3]) else {
        return Ok(Reply::Int(-1));
    };
    list.insert(pivot + usize::from(after), args[4].to_vec());
    let len = list.len();
    context.touched(args[1]);
    Ok(Reply::Int(len as i64))
}

/// The options of `LPOS`.
struct Search {
    rank: i64,
    /// If omitted, the reply is one position instead of an array.
    count: Option<usize>,
    max_len: usize,
}

impl Search {
    fn read(context: &mut Context<'_>, words: Args<'_>) -> Result<Search, Refusal> {
        let mut search = Search {
            rank: 1,
            count: None,
            max_len: 0,
        };
        let pairs = words.chunks_exact(2);
        let odd = !pairs.remainder().is_empty();
        for pair in pairs {
            if is_word(pair[0], "RANK") {
                search.rank = integer_argument(pair[1])?;
                if search.rank == 0 {
                    return Err(Refusal::fixed(match context.state.version.since_70() {
                        true => RANK_ZERO,
                        false => RANK_ZERO_62,
                    }));
                }
                if search.rank == i64::MIN {
                    return Err(context.not_modelled("LPOS with such a RANK"));
                }
            } else if is_word(pair[0], "COUNT") {
                let count = super::super::number::count_argument(pair[1])
                    .map_err(|_| Refusal::fixed("ERR COUNT can't be negative"))?;
                search.count = Some(usize::try_from(count).unwrap_or(usize::MAX));
            } else if is_word(pair[0], "MAXLEN") {
                let max_len = super::super::number::count_argument(pair[1])
                    .map_err(|_| Refusal::fixed("ERR MAXLEN can't be negative"))?;
                search.max_len = usize::try_from(max_len).unwrap_or(usize::MAX);
            } else {
                return Err(Refusal::SYNTAX);
            }
        }
        if odd {
            Err(Refusal::SYNTAX)
        } else {
            Ok(search)
        }
    }
}

const RANK_ZERO_62: &str =
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ...";

const RANK_ZERO: &str = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the \
                         second ... or use negative to start from the end of the list";

fn lpos(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let search = Search::read(context, &args[3..])?;
    let Some(list) = context.list(args[1])? else {
        return Ok(search
            .count
            .map_or(Reply::Nil, |_| Reply::Array(Vec::new())));
    };
    let limit = if search.max_len == 0 {
        usize::MAX
    } else {
        search.max_len
    };
    let skip = usize::try_from(search.rank.unsigned_abs() - 1).unwrap_or(usize::MAX);
    let take = match search.count {
        None => 1,
        Some(0) => usize::MAX,
        Some(count) => count,
    };
    let places = list.iter().enumerate();
    let places: Box<dyn Iterator<Item = (usize, &Vec<u8>)>> = if search.rank > 0 {
        Box::new(places)
    } else {
        Box::new(places.rev())
    };
    let mut found = places
        .take(limit)
        .filter(|(_, element)| *element == args[2])
        .map(|(place, _)| Reply::Int(place as i64))
        .skip(skip)
        .take(take);
    Ok(match search.count {
        None => found.next().unwrap_or(Reply::Nil),
        Some(_) => Reply::Array(found.collect()),
    })
}
