//! `LMPOP`, `ZMPOP` and their blocking forms: several elements of the first key that has one.

use super::super::Reply;
use super::super::ServerVersion;
use super::super::blocking::{block, deadline, try_serve};
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::integer;
use super::super::reply::{Outcome, Refusal};
use super::super::waiter::Wait;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::write("lmpop", -4, |context, args| {
        pop(context, from_lists(&args[1..])?)
    })
    .on(ServerVersion::since_70),
    Spec::write("blmpop", -5, |context, args| {
        wait_to_pop(context, args[1], from_lists(&args[2..])?)
    })
    .on(ServerVersion::since_70),
    Spec::write("zmpop", -4, |context, args| {
        pop(context, from_sorted_sets(&args[1..])?)
    })
    .on(ServerVersion::since_70),
    Spec::write("bzmpop", -5, |context, args| {
        wait_to_pop(context, args[1], from_sorted_sets(&args[2..])?)
    })
    .on(ServerVersion::since_70),
];

/// What comes behind the name, and the timeout: the keys, whether the first of two ends is meant, and
/// how many elements.
struct Words {
    keys: Vec<Vec<u8>>,
    is_first: bool,
    count: usize,
}

impl Words {
    fn read(words: Args<'_>, ends: [&str; 2]) -> Result<Words, Refusal> {
        const NO_KEYS: Refusal = Refusal::fixed("ERR numkeys should be greater than 0");
        let keys = integer(words[0])
            .filter(|count| *count > 0)
            .ok_or(NO_KEYS)?;
        let keys = usize::try_from(keys).unwrap_or(usize::MAX);
        let place = keys.saturating_add(1);
        let end = *words.get(place).ok_or(Refusal::SYNTAX)?;
        let is_first = is_word(end, ends[0]);
        if !is_first && !is_word(end, ends[1]) {
            return Err(Refusal::SYNTAX);
        }
        let count = match words[place + 1..] {
            [] => 1,
            [word, count] if is_word(word, "COUNT") => read_count(count)?,
            // A wrong count is noticed before the words behind it.
            [word, count, ..] if is_word(word, "COUNT") => {
                read_count(count)?;
                return Err(Refusal::SYNTAX);
            }
            _ => return Err(Refusal::SYNTAX),
        };
        let keys = words[1..place].iter().map(|key| key.to_vec()).collect();
        Ok(Words {
            keys,
            is_first,
            count,
        })
    }
}

fn read_count(word: &[u8]) -> Result<usize, Refusal> {
    let count = integer(word).filter(|count| *count > 0);
    let count = count.ok_or(Refusal::fixed("ERR count should be greater than 0"))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn from_lists(words: Args<'_>) -> Result<Wait, Refusal> {
    let words = Words::read(words, ["LEFT", "RIGHT"])?;
    Ok(Wait::PopMany {
        keys: words.keys,
        left: words.is_first,
        count: words.count,
    })
}

fn from_sorted_sets(words: Args<'_>) -> Result<Wait, Refusal> {
    let words = Words::read(words, ["MAX", "MIN"])?;
    Ok(Wait::PopManyScores {
        keys: words.keys,
        highest: words.is_first,
        count: words.count,
    })
}

fn pop(context: &mut Context<'_>, wait: Wait) -> Outcome {
    Ok(try_serve(context, &wait)?.unwrap_or(Reply::NilArray))
}

fn wait_to_pop(context: &mut Context<'_>, timeout: &[u8], wait: Wait) -> Outcome {
    let until = deadline(context.state.version, context.now, timeout)?;
    if let Some(reply) = try_serve(context, &wait)? {
        return Ok(reply);
    }
    if !context.may_block {
        return Ok(Reply::NilArray);
    }
    block(context.state, context.client, context.database, wait, until);
    Ok(Reply::Blocked)
}
