//! Sets.

use super::super::Reply;
use super::super::command::{Args, Spec};
use super::super::context::Context;
use super::super::number::{count_argument, integer_argument};
use super::super::reply::{Outcome, Refusal};
use super::super::values::{Set, Value};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::grow("sadd", -3, sadd),
    Spec::write("srem", -3, srem),
    Spec::read("sismember", 3, sismember),
    Spec::read("smismember", -3, smismember),
    Spec::read("smembers", 2, smembers),
    Spec::read("scard", 2, scard),
    Spec::write("smove", 4, smove),
    Spec::write("spop", -2, spop),
    Spec::read("srandmember", -2, srandmember),
];

fn sadd(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let Value::Set(set) = context.value_or(args[1], || Value::Set(Set::default())) else {
        return Err(Refusal::WRONG_TYPE);
    };
    let added = args[2..].iter().filter(|member| set.add(member)).count();
    if added > 0 {
        context.touched(args[1]);
    }
    Ok(Reply::Int(added as i64))
}

fn srem(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let Some(set) = context.set(args[1])? else {
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

fn sismember(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let there = context
        .set(args[1])?
        .is_some_and(|set| set.contains(args[2]));
    Ok(Reply::Int(i64::from(there)))
}

fn smismember(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let set = context.set(args[1])?;
    let there = args[2..].iter().map(|member| {
        let there = set.as_ref().is_some_and(|set| set.contains(member));
        Reply::Int(i64::from(there))
    });
    Ok(Reply::Array(there.collect()))
}

fn smembers(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let set = context.set(args[1])?;
    let members = set.iter().flat_map(|set| set.iter());
    Ok(Reply::Set(members.map(Reply::bulk).collect()))
}

fn scard(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let len = context.set(args[1])?.map_or(0, |set| set.len());
    Ok(Reply::Int(len as i64))
}

fn smove(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let (from, to, member) = (args[1], args[2], args[3]);
    if context.set(from)?.is_none() {
        return Ok(Reply::Int(0));
    }
    context.set(to)?;
    let Some(set) = context.set(from)? else {
        return Ok(Reply::Int(0));
    };
    if from == to {
        return Ok(Reply::Int(i64::from(set.contains(member))));
    }
    if !set.remove(member) {
        return Ok(Reply::Int(0));
    }
    let empty = set.is_empty();
    context.drop_if(from, empty);
    context.touched(from);
    if let Value::Set(set) = context.value_or(to, || Value::Set(Set::default())) {
        set.add(member);
    }
    context.touched(to);
    Ok(Reply::Int(1))
}

/// Chooses a member. A real server's choice is unpredictable; the model's depends only on its seed.
fn choose(context: &mut Context<'_>, key: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(len) = context.set(key)?.map(|set| set.len() as u64) else {
        return Ok(None);
    };
    let place = usize::try_from(context.state.next_random() % len.max(1)).unwrap_or(0);
    Ok(context.set(key)?.and_then(|set| set.at(place).cloned()))
}

fn spop(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let count = match args[2..] {
        [] => None,
        [count] => Some(count_argument(count)?),
        _ => return Err(Refusal::SYNTAX),
    };
    let available = context.set(key)?.map_or(0, |set| set.len() as i64);
    let mut popped = Vec::new();
    for _ in 0..count.unwrap_or(1).min(available) {
        let Some(member) = choose(context, key)? else {
            break;
        };
        if let Some(set) = context.set(key)? {
            set.remove(&member);
            let empty = set.is_empty();
            context.drop_if(key, empty);
            context.touched(key);
            context.reword(&[b"SREM", key, &member]);
        }
        popped.push(Reply::Bulk(member));
    }
    Ok(match count {
        Some(_) => Reply::Set(popped),
        None => popped.pop().unwrap_or(Reply::Nil),
    })
}

/// More random members with repetition are not modelled: a client could ask for any number of them.
const MOST_REPEATED: u64 = 1_000_000;

fn srandmember(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let key = args[1];
    let count = match args[2..] {
        [] => return Ok(choose(context, key)?.map_or(Reply::Nil, Reply::Bulk)),
        [count] => integer_argument(count)?,
        _ => return Err(Refusal::SYNTAX),
    };
    if !(-i64::MAX / 2..=i64::MAX / 2).contains(&count) {
        return Err(Refusal::fixed("ERR value is out of range"));
    }
    let mut members = Vec::new();
    if count < 0 {
        if count.unsigned_abs() > MOST_REPEATED {
            return Err(context
                .state
                .not_modelled("more than 1000000 random members at once"));
        }
        // With repetition.
        for _ in 0..count.unsigned_abs() {
            match choose(context, key)? {
                Some(member) => members.push(Reply::Bulk(member)),
                None => break,
            }
        }
        return Ok(Reply::Array(members));
    }
    let Some(len) = context.set(key)?.map(|set| set.len()) else {
        return Ok(Reply::Array(members));
    };
    let first = usize::try_from(context.state.next_random() % len.max(1) as u64).unwrap_or(0);
    let wanted = len.min(usize::try_from(count).unwrap_or(usize::MAX));
    if let Some(set) = context.set(key)? {
        let places = (0..wanted).map(|offset| (first + offset) % len);
        members.extend(places.filter_map(|place| set.at(place)).map(Reply::bulk));
    }
    Ok(Reply::Array(members))
}
