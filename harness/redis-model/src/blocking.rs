//! Blocked clients: BLPOP and BZPOPMIN with their relatives, and WAIT.

use std::collections::VecDeque;

use super::context::Context;
use super::number::double;
use super::reply::Refusal;
use super::session::ClientId;
use super::state::State;
use super::values::Value;
use super::waiter::{Wait, Waiter};
use super::{Now, Reply, ServerVersion};

/// Reads a timeout in seconds and returns when it expires, `None` for never.
pub(super) fn deadline(
    version: ServerVersion,
    now: Now,
    timeout: &[u8],
) -> Result<Option<Now>, Refusal> {
    let seconds =
        double(timeout).ok_or(Refusal::fixed("ERR timeout is not a float or out of range"))?;
    if seconds.is_infinite() || seconds * 1000.0 > i64::MAX as f64 {
        return Err(Refusal::fixed("ERR timeout is out of range"));
    }
    if seconds < 0.0 {
        return Err(Refusal::fixed("ERR timeout is negative"));
    }
    // Redis 6.2 rounds down, also its 80-bit product for 0.001, and what becomes 0 never ends.
    let longest_endless = if version.since_70() { 0.0 } else { 0.001 };
    if seconds <= longest_endless {
        return Ok(None);
    }
    let wait_ms = (seconds * 1000.0).ceil() as i64;
    Ok(Some(Now {
        wall_us: now.wall_us.saturating_add(wait_ms.saturating_mul(1000)),
    }))
}

/// Blocks a client.
pub(super) fn block(
    state: &mut State,
    client: ClientId,
    database: usize,
    wait: Wait,
    until: Option<Now>,
) {
    if let Some(session) = state.sessions.get_mut(&client) {
        session.blocked = true;
    }
    state.waiters.push(Waiter {
        client,
        database,
        wait,
        until,
    });
}

/// A connection is closed, so its wait ends.
pub(super) fn forget(state: &mut State, client: ClientId) {
    state.waiters.retain(|waiter| waiter.client != client);
}

/// Takes an element from one end of a list.
pub(super) fn pop_end(
    context: &mut Context<'_>,
    key: &[u8],
    left: bool,
) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(list) = context.list(key)? else {
        return Ok(None);
    };
    let element = if left {
        list.pop_front()
    } else {
        list.pop_back()
    };
    let empty = list.is_empty();
    context.drop_if(key, empty);
    context.touched(key);
    Ok(element)
}

/// Takes the first or the last member of a sorted set.
fn pop_score(
    context: &mut Context<'_>,
    key: &[u8],
    highest: bool,
) -> Result<Option<(Vec<u8>, f64)>, Refusal> {
    let Some(set) = context.sorted_set(key)? else {
        return Ok(None);
    };
    let first = match highest {
        true => set.iter().next_back(),
        false => set.iter().next(),
    };
    let popped = first.map(|(member, score)| (member.to_vec(), score));
    if let Some((member, _)) = &popped {
        set.remove(member);
    }
    let empty = set.is_empty();
    context.drop_if(key, empty);
    context.touched(key);
    Ok(popped)
}

/// Takes elements of the first of these lists that has one.
fn pop_many(
    context: &mut Context<'_>,
    keys: &[Vec<u8>],
    left: bool,
    count: usize,
) -> Result<Option<Reply>, Refusal> {
    for key in keys {
        let Some(list) = context.list(key)? else {
            continue;
        };
        let taken = count.min(list.len());
        let mut popped = Vec::with_capacity(taken);
        for _ in 0..taken {
            popped.extend(pop_end(context, key, left)?);
        }
        let word: &[u8] = if left { b"LPOP" } else { b"RPOP" };
        context.reword(&[word, key, taken.to_string().as_bytes()]);
        let popped = Reply::bulks(popped);
        return Ok(Some(Reply::Array(vec![Reply::bulk(key), popped])));
    }
    Ok(None)
}

/// Takes members of the first of these sorted sets that has one.
fn pop_many_scores(
    context: &mut Context<'_>,
    keys: &[Vec<u8>],
    highest: bool,
    count: usize,
) -> Result<Option<Reply>, Refusal> {
    for key in keys {
        let Some(set) = context.sorted_set(key)? else {
            continue;
        };
        let taken = count.min(set.len());
        let mut popped = Vec::with_capacity(taken);
        for _ in 0..taken {
            let (member, score) = match pop_score(context, key, highest)? {
                Some(popped) => popped,
                None => break,
            };
            let score = context.double(score);
            popped.push(Reply::Array(vec![Reply::Bulk(member), score]));
        }
        let word: &[u8] = if highest { b"ZPOPMAX" } else { b"ZPOPMIN" };
        context.reword(&[word, key, taken.to_string().as_bytes()]);
        let popped = Reply::Array(popped);
        return Ok(Some(Reply::Array(vec![Reply::bulk(key), popped])));
    }
    Ok(None)
}

/// The reply that a wait can get now, if any.
pub(super) fn try_serve(context: &mut Context<'_>, wait: &Wait) -> Result<Option<Reply>, Refusal> {
    match wait {
        Wait::Pop { keys, left } => {
            for key in keys {
                if let Some(element) = pop_end(context, key, *left)? {
                    let word: &[u8] = if *left { b"LPOP" } else { b"RPOP" };
                    context.reword(&[word, key]);
                    return Ok(Some(Reply::bulks([key.as_slice(), element.as_slice()])));
                }
            }
            Ok(None)
        }
        Wait::PopScore { keys, highest } => {
            for key in keys {
                if let Some((member, score)) = pop_score(context, key, *highest)? {
                    let word: &[u8] = if *highest { b"ZPOPMAX" } else { b"ZPOPMIN" };
                    context.reword(&[word, key]);
                    let (key, member) = (Reply::bulk(key), Reply::bulk(member));
                    return Ok(Some(Reply::Array(vec![key, member, context.double(score)])));
                }
            }
            Ok(None)
        }
        Wait::Move {
            from,
            to,
            from_left,
            to_left,
        } => {
            if context.list(from)?.is_none() {
                return Ok(None);
            }
            context.list(to)?;
            let Some(element) = pop_end(context, from, *from_left)? else {
                return Ok(None);
            };
            let reply = Reply::bulk(&element);
            let Value::List(list) = context.value_or(to, || Value::List(VecDeque::new())) else {
                return Err(Refusal::WRONG_TYPE);
            };
            if *to_left {
                list.push_front(element);
            } else {
                list.push_back(element);
            }
            context.touched(to);
            let side = |left: bool| -> &[u8] { if left { b"LEFT" } else { b"RIGHT" } };
            context.reword(&[b"LMOVE", from, to, side(*from_left), side(*to_left)]);
            Ok(Some(reply))
        }
        Wait::PopMany { keys, left, count } => pop_many(context, keys, *left, *count),
        Wait::PopManyScores {
            keys,
            highest,
            count,
        } => pop_many_scores(context, keys, *highest, *count),
        // It does not wait for a key.
        Wait::Replicas { .. } => Ok(None),
    }
}

/// Serves clients that wait for changed keys: key by key in the order of the changes, and for each
/// key the longest waiting first. Changes by a served move are handled in the next round.
pub(super) fn serve(state: &mut State, now: Now) {
    while !state.ready.is_empty() {
        for (database, key) in std::mem::take(&mut state.ready) {
            serve_key(state, database, &key, now);
        }
    }
}

fn serve_key(state: &mut State, database: usize, key: &[u8], now: Now) {
    let mut place = 0;
    while let Some(waiter) = state.waiters.get(place) {
        if waiter.database != database || !waiter.wait.takes_from(key) {
            place += 1;
            continue;
        }
        let waiter = waiter.clone();
        let mut context = context_of(state, &waiter, now);
        let there = match waiter.wait.is_for_sorted_set() {
            true => matches!(context.sorted_set(key), Ok(Some(_))),
            false => matches!(context.list(key), Ok(Some(_))),
        };
        if !there {
            // Nothing is left, or it is not what this client waits for.
            place += 1;
            continue;
        }
        // Since 7.2 the whole command is executed again, so its first keys come first.
        let wait = match context.state.version.since_72() {
            true => waiter.wait.clone(),
            false => waiter.wait.on(key),
        };
        match try_serve(&mut context, &wait) {
            Ok(Some(reply)) => release(state, place, reply),
            Ok(None) => place += 1,
            // The target of a move is not a list: that ends the wait.
            Err(refusal) => release(state, place, refusal.into()),
        }
    }
}

fn context_of<'a>(state: &'a mut State, waiter: &Waiter, now: Now) -> Context<'a> {
    Context {
        state,
        client: waiter.client,
        database: waiter.database,
        resp3: false,
        now,
        from_script: false,
        may_block: false,
        name: "blpop",
        changed: false,
        reworded: false,
    }
}

fn release(state: &mut State, place: usize, reply: Reply) {
    let waiter = state.waiters.remove(place);
    if let Some(session) = state.sessions.get_mut(&waiter.client) {
        session.blocked = false;
    }
    state.messages.push((waiter.client, reply));
}

/// How many replicas have this many of the changes.
pub(super) fn acknowledged(state: &State, changes: u64) -> i64 {
    if changes <= state.acknowledged {
        state.replicas
    } else {
        0
    }
}

/// The replicas have received more: ends the waits for which that is enough.
pub(super) fn acknowledge(state: &mut State) {
    let mut place = 0;
    while let Some(waiter) = state.waiters.get(place) {
        match waiter.wait {
            Wait::Replicas { wanted, changes } if acknowledged(state, changes) >= wanted => {
                let reply = Reply::Int(acknowledged(state, changes));
                release(state, place, reply);
            }
            _ => place += 1,
        }
    }
}

/// True while a client waits for the replicas.
pub(super) fn waits_for_replicas(state: &State) -> bool {
    let mut waiters = state.waiters.iter();
    waiters.any(|waiter| matches!(waiter.wait, Wait::Replicas { .. }))
}

/// The next time at which a wait expires.
pub(super) fn next_timeout(state: &State) -> Option<Now> {
    state.waiters.iter().filter_map(|waiter| waiter.until).min()
}

/// Ends the expired waits.
pub(super) fn time_out(state: &mut State, now: Now) {
    let mut place = 0;
    while place < state.waiters.len() {
        let waiter = &state.waiters[place];
        if waiter.until.is_none_or(|until| until > now) {
            place += 1;
            continue;
        }
        let reply = match waiter.wait {
            Wait::Move { .. } => Reply::Nil,
            Wait::Pop { .. } | Wait::PopScore { .. } => Reply::NilArray,
            Wait::PopMany { .. } | Wait::PopManyScores { .. } => Reply::NilArray,
            Wait::Replicas { changes, .. } => Reply::Int(acknowledged(state, changes)),
        };
        release(state, place, reply);
    }
}
