//! The stock: kept by the driver itself, or in a Redis key on a server of its own.
//!
//! In Redis it is used as an application would: GET, then DECR or SET. Only the lock under test
//! makes these one step. Tokens are checked before each access; all accesses go through one
//! connection, so that Redis sees them in the order in which they were admitted.

use picklock_scenarios::{StockPlace, Update};

use crate::backend::Backend;
use crate::context::{Change, FencedOff, RunContext};
use crate::history::EventKind;

/// The result of an access.
pub(super) enum Access<T> {
    /// The access was made.
    Done(T),
    /// The token was too old.
    FencedOff(FencedOff),
    /// The store did not answer. The history already has it.
    Failed,
}

fn in_redis<B>(context: &RunContext<B>) -> bool {
    context.spec.scenario.workload.stock_in == StockPlace::Redis
}

fn name<B>(context: &RunContext<B>, key: u32) -> String {
    format!("{}left:{key:04}", context.spec.key_prefix())
}

async fn ask<B: Backend>(context: &RunContext<B>, words: &[&str]) -> Option<i64> {
    let answer = match context.backend.ask_stock_server(words).await {
        Ok(Some(number)) => return Some(number),
        Ok(None) => "there is no such key".to_owned(),
        Err(refusal) => refusal.to_string(),
    };
    note(context, format!("{}: {answer}", words.join(" ")));
    None
}

/// What the stock is, or was, is not known.
fn note<B>(context: &RunContext<B>, reason: String) {
    context.recorder.write(EventKind::StockUnknown { reason });
}

/// The user did not wait for [`count`].
pub(super) fn record_uncounted<B>(context: &RunContext<B>) {
    let reason = "the run was interrupted before it was counted";
    note(context, reason.into());
}

/// Puts the stock into Redis before the first buyer starts.
pub(super) async fn fill<B: Backend>(context: &RunContext<B>) {
    if !in_redis(context) {
        return;
    }
    let start = context.spec.scenario.workload.stock;
    for key in (0..).take(context.spec.scenario.workload.keys) {
        // Its answer is a number, unlike that of SET.
        ask(context, &["SETNX", &name(context, key), &start.to_string()]).await;
    }
}

/// Reads how much is really left, after the buyers have ended.
pub(super) async fn count<B: Backend>(context: &RunContext<B>) {
    if !in_redis(context) {
        return;
    }
    for key in (0..).take(context.spec.scenario.workload.keys) {
        if let Some(left) = ask(context, &["GET", &name(context, key)]).await {
            context.stock.borrow_mut().learn(key, left);
        }
    }
}

/// Reads the stock of a key.
pub(super) async fn read<B: Backend>(
    context: &RunContext<B>,
    key: u32,
    fence: Option<u64>,
) -> Access<i64> {
    let admitted = context.stock.borrow_mut().read(key, fence);
    match admitted {
        Err(refused) => Access::FencedOff(refused),
        Ok(left) if !in_redis(context) => Access::Done(left),
        Ok(_) => {
            let left = ask(context, &["GET", &name(context, key)]).await;
            left.map_or(Access::Failed, Access::Done)
        }
    }
}

/// Sells one unit, based on the stock that the buyer read before.
pub(super) async fn sell<B: Backend>(
    context: &RunContext<B>,
    key: u32,
    read: i64,
    fence: Option<u64>,
) -> Access<Change> {
    let sold = context.stock.borrow_mut().sell(key, read, fence);
    match sold {
        Err(refused) => return Access::FencedOff(refused),
        Ok(change) if !in_redis(context) => return Access::Done(change),
        // Nothing is known to have changed until Redis has answered.
        Ok(change) => context.stock.borrow_mut().learn(key, change.from),
    }
    let done = match context.spec.scenario.workload.update {
        Update::Decrement => {
            let left = ask(context, &["DECR", &name(context, key)]).await;
            left.map(|to| Change { from: to + 1, to })
        }
        Update::Write => {
            let to = read - 1;
            let before = ask(context, &["GETSET", &name(context, key), &to.to_string()]).await;
            before.map(|from| Change { from, to })
        }
    };
    match done {
        Some(done) => {
            context.stock.borrow_mut().learn(key, done.to);
            Access::Done(done)
        }
        // It is not known whether the unit was sold, so the run is not judged.
        None => Access::Failed,
    }
}
