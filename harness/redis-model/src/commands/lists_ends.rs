//! Lists: operations at their ends, including blocking ones.

use std::collections::VecDeque;

use super::super::Reply;
use super::super::blocking::{block, deadline, pop_end, try_serve};
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::count_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::values::Value;
use super::super::waiter::Wait;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("lpush", -3, |context, args| {
        push(context, args, true, false)
    }),
    Spec::grow("rpush", -3, |context, args| {
        push(context, args, false, false)
    }),
    Spec::grow("lpushx", -3, |context, args| {
        push(context, args, true, true)
    }),
    Spec::grow("rpushx", -3, |context, args| {
        push(context, args, false, true)
    }),
    Spec::write("lpop", -2, |context, args| pop(context, args, true)),
    Spec::write("rpop", -2, |context, args| pop(context, args, false)),
    Spec::grow("rpoplpush", 3, |context, args| {
        move_element(context, args[1], args[2], false, true)
    }),
    Spec::grow("lmove", 5, |context, args| {
        let (from_left, to_left) = (side(args[3])?, side(args[4])?);
        move_element(context, args[1], args[2], from_left, to_left)
    }),
    Spec::write("blpop", -3, |context, args| {
        wait_to_pop(context, args, true)
    })
    .no_script_before_72(),
    Spec::write("brpop", -3, |context, args| {
        wait_to_pop(context, args, false)
    })
    .no_script_before_72(),
    Spec::grow("brpoplpush", 4, |context, args| {
        wait_to_move(context, args, false, true, args[3])
    })
    .no_script_before_72(),
    Spec::grow("blmove", 6, |context, args| {
        let (from_left, to_left) = (side(args[3])?, side(args[4])?);
        wait_to_move(context, args, from_left, to_left, args[5])
    })
    .no_script_before_72(),
];

fn push(context: &mut Context<'_>, args: Args<'_>, left: bool, only_if_there: bool) -> Outcome {
    if context.list(args[1])?.is_none() && only_if_there {
        return Ok(Reply::Int(0));
    }
    let Value::List(list) = context.value_or(args[1], || Value::List(VecDeque::new())) else {
        return Err(Refusal::WRONG_TYPE);
    };
    for element in &args[2..] {
        if left {
            list.push_front(element.to_vec());
        } else {
            list.push_back(element.to_vec());
        }
    }
    let len = list.len();
    context.touched(args[1]);
    Ok(Reply::Int(len as i64))
}

fn pop(context: &mut Context<'_>, args: Args<'_>, left: bool) -> Outcome {
    let key = args[1];
    let count = match args[2..] {
        [] => None,
        [count] => Some(usize::try_from(count_argument(count)?).unwrap_or(usize::MAX)),
        _ => return Err(Refusal::arity(context.name)),
    };
    let Some(list) = context.list(key)? else {
        return Ok(count.map_or(Reply::Nil, |_| Reply::NilArray));
    };
    let Some(count) = count else {
        return Ok(pop_end(context, key, left)?.map_or(Reply::Nil, Reply::Bulk));
    };
    let taken = count.min(list.len());
    let popped: Vec<Vec<u8>> = if left {
        list.drain(..taken).collect()
    } else {
        list.drain(list.len() - taken..).rev().collect()
    };
    let empty = list.is_empty();
    if taken > 0 {
        context.drop_if(key, empty);
        context.touched(key);
    }
    Ok(Reply::bulks(popped))
}

fn side(word: &[u8]) -> Result<bool, Refusal> {
    if is_word(word, "LEFT") {
        Ok(true)
    } else if is_word(word, "RIGHT") {
        Ok(false)
    } else {
        Err(Refusal::SYNTAX)
    }
}

fn move_element(
    context: &mut Context<'_>,
    from: &[u8],
    to: &[u8],
    from_left: bool,
    to_left: bool,
) -> Outcome {
    let wait = Wait::Move {
        from: from.to_vec(),
        to: to.to_vec(),
        from_left,
        to_left,
    };
    Ok(try_serve(context, &wait)?.unwrap_or(Reply::Nil))
}

fn wait_to_pop(context: &mut Context<'_>, args: Args<'_>, left: bool) -> Outcome {
    let (keys, timeout) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let until = deadline(context.state.version, context.now, timeout)?;
    let wait = Wait::Pop {
        keys: keys.iter().map(|key| key.to_vec()).collect(),
        left,
    };
    wait_for(context, wait, until, Reply::NilArray)
}

fn wait_to_move(
    context: &mut Context<'_>,
    args: Args<'_>,
    from_left: bool,
    to_left: bool,
    timeout: &[u8],
) -> Outcome {
    let until = deadline(context.state.version, context.now, timeout)?;
    let wait = Wait::Move {
        from: args[1].to_vec(),
        to: args[2].to_vec(),
        from_left,
        to_left,
    };
    wait_for(context, wait, until, Reply::Nil)
}

fn wait_for(
    context: &mut Context<'_>,
    wait: Wait,
    until: Option<super::super::Now>,
    otherwise: Reply,
) -> Outcome {
    if let Some(reply) = try_serve(context, &wait)? {
        return Ok(reply);
    }
    if !context.may_block {
        return Ok(otherwise);
    }
    block(context.state, context.client, context.database, wait, until);
    Ok(Reply::Blocked)
}
