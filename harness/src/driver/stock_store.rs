//! The stock, in the driver itself or in a Redis key on a separate server.
//!
//! In Redis, the clients use the stock like an application: with `GET`, and then `DECR` or `SET`. Only the lock under
//! test makes these two steps atomic. Tokens are checked before each access. All accesses go through one connection, so
//! that Redis executes them in the order in which they were admitted.

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
    /// The stock server did not answer, which is already recorded in the history.
    Failed,
}

fn in_redis<B>(context: &RunContext<B>) -> bool {
    context.spec.scenario.workload.stock_in == StockPlace::Redis
}

fn name<B>(context: &RunContext<B>, key: u32) -> String {
    format!("{}left:{key:04}", context.spec.key_prefix())
}

async fn query<B: Backend>(context: &RunContext<B>, words: &[&str]) -> Option<i64> {
    let answer = match context.backend.query_stock_server(words).await {
        Ok(Some(number)) => return Some(number),
        Ok(None) => "no such key".to_owned(),
        Err(refusal) => refusal.to_string(),
    };
    record_unknown(context, format!("{}: {answer}", words.join(" ")));
    None
}

/// Records that the stock is unknown.
fn record_unknown<B>(context: &RunContext<B>, reason: String) {
    context.recorder.write(EventKind::StockUnknown { reason });
}

/// Records that the user did not wait for [`count`].
pub(super) fn record_uncounted<B>(context: &RunContext<B>) {
    let reason = "the run was interrupted before the stock was counted";
    record_unknown(context, reason.into());
}

/// Writes the stock to Redis before the first client starts.
pub(super) async fn fill<B: Backend>(context: &RunContext<B>) {
    if !in_redis(context) {
        return;
    }
    let start = context.spec.scenario.workload.stock;
    for key in (0..).take(context.spec.scenario.workload.keys) {
        // SETNX returns a number, unlike SET.
        query(context, &["SETNX", &name(context, key), &start.to_string()]).await;
    }
}

/// Reads the remaining stock after the clients have ended.
pub(super) async fn count<B: Backend>(context: &RunContext<B>) {
    if !in_redis(context) {
        return;
    }
    for key in (0..).take(context.spec.scenario.workload.keys) {
        if let Some(left) = query(context, &["GET", &name(context, key)]).await {
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
            let left = query(context, &["GET", &name(context, key)]).await;
            left.map_or(Access::Failed, Access::Done)
        }
    }
}

/// Sells one unit, based on the stock that the client has read.
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
        // The stock is known only after Redis has answered.
        Ok(change) => context.stock.borrow_mut().learn(key, change.from),
    }
    let done = match context.spec.scenario.workload.update {
        Update::Decrement => {
            let left = query(context, &["DECR", &name(context, key)]).await;
            left.map(|to| Change { from: to + 1, to })
        }
        Update::Write => {
            let to = read - 1;
            let before = query(context, &["GETSET", &name(context, key), &to.to_string()]).await;
            before.map(|from| Change { from, to })
        }
    };
    match done {
        Some(done) => {
            context.stock.borrow_mut().learn(key, done.to);
            Access::Done(done)
        }
        // It is unknown whether the unit was sold, so the run is inconclusive.
        None => Access::Failed,
    }
}
