//! Blocked clients: BLPOP and WAIT.

use super::context::Context;
use super::number::double;
use super::reply::{Refusal, refuse};
use super::session::ClientId;
use super::state::State;
use super::waiter::{Wait, Waiter};
use super::{Now, Reply};

/// Parses a timeout in seconds. Returns when it expires, or `None` for never.
pub(super) fn deadline(now: Now, timeout: &[u8]) -> Result<Option<Now>, Refusal> {
    let Some(seconds) = double(timeout) else {
        return refuse("ERR timeout is not a float or out of range");
    };
    if seconds.is_infinite() || seconds * 1000.0 > i64::MAX as f64 {
        return refuse("ERR timeout is out of range");
    }
    if seconds < 0.0 {
        return refuse("ERR timeout is negative");
    }
    if seconds == 0.0 {
        return Ok(None);
    }
    Ok(Some(now.plus_ms((seconds * 1000.0).ceil() as i64)))
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

/// Removes and returns an element of the first of these lists that is not empty.
pub(super) fn pop_first(
    context: &mut Context<'_>,
    keys: &[Vec<u8>],
) -> Result<Option<Reply>, Refusal> {
    for key in keys {
        let Some(list) = context.list(key)? else {
            continue;
        };
        let Some(element) = list.pop_front() else {
            continue;
        };
        let is_empty = list.is_empty();
        context.shrunk(key, 1, is_empty);
        context.reword(&[b"LPOP", key]);
        return Ok(Some(Reply::bulks([key.as_slice(), element.as_slice()])));
    }
    Ok(None)
}

/// Serves clients that wait for changed keys. The keys are processed in the order of their changes; for each key, the
/// client that has waited longest is served first.
pub(super) fn serve(state: &mut State, now: Now) {
    // Serving a client also changes a key, so more keys may become ready.
    while !state.ready.is_empty() {
        for (database, key) in std::mem::take(&mut state.ready) {
            serve_key(state, database, &key, now);
        }
    }
}

fn serve_key(state: &mut State, database: usize, key: &[u8], now: Now) {
    let mut place = 0;
    while let Some(waiter) = state.waiters.get(place) {
        let keys = match &waiter.wait {
            Wait::Element { keys } if waiter.database == database => keys.clone(),
            _ => Vec::new(),
        };
        if !keys.iter().any(|other| other == key) {
            place += 1;
            continue;
        }
        let waiter = waiter.clone();
        let mut context = context_of(state, &waiter, now);
        if !matches!(context.list(key), Ok(Some(_))) {
            // The key does not exist or does not contain a list.
            place += 1;
            continue;
        }
        // Since Redis 7.2 the whole command is executed again, so an earlier key of the command has priority.
        let keys = if context.state.version.since_72() {
            keys
        } else {
            vec![key.to_vec()]
        };
        match pop_first(&mut context, &keys) {
            Ok(Some(reply)) => release(state, place, reply),
            Ok(None) => place += 1,
            // An earlier key of the command does not contain a list, which ends the wait.
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

/// Returns the number of replicas that have received the first `changes` changes.
pub(super) fn acknowledged(state: &State, changes: u64) -> i64 {
    if changes <= state.acknowledged {
        state.replicas
    } else {
        0
    }
}

/// Ends the waits that the current number of received changes satisfies.
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

/// Returns `true` if a client waits for replicas.
pub(super) fn waits_for_replicas(state: &State) -> bool {
    let mut waiters = state.waiters.iter();
    waiters.any(|waiter| matches!(waiter.wait, Wait::Replicas { .. }))
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
            Wait::Element { .. } => Reply::NilArray,
            Wait::Replicas { changes, .. } => Reply::Int(acknowledged(state, changes)),
        };
        release(state, place, reply);
    }
}
