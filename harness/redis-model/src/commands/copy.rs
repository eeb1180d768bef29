//! `COPY`.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::reply::{Outcome, Refusal};
use super::connection::database_index;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[Spec::grow("copy", -3, copy)];

fn copy(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (from, to) = (args[1], args[2]);
    let (mut target, mut replace) = (context.database, false);
    let mut words = args[3..].iter();
    while let Some(word) = words.next() {
        if is_word(word, "REPLACE") {
            replace = true;
        } else if is_word(word, "DB")
            && let Some(index) = words.next()
        {
            target = database_index(index)?;
        } else {
            return Err(Refusal::SYNTAX);
        }
    }
    if target == context.database && from == to {
        return Err(Refusal::fixed(
            "ERR source and destination objects are the same",
        ));
    }
    let Some(entry) = context.entry(from).cloned() else {
        return Ok(Reply::Int(0));
    };
    let source = std::mem::replace(&mut context.database, target);
    let free = replace || !context.exists(to);
    if free {
        context.put(to, entry.value, entry.expires_ms);
        context.set_form(to, entry.form);
    }
    // The command is replicated for the database that the client has selected.
    context.database = source;
    Ok(Reply::Int(i64::from(free)))
}
