//! The stock, wherever it is kept: by the driver itself, or in a Redis key on a server of its own.
//!
//! In Redis it is used as an application would: GET, look, then DECR or SET, and nothing holds
//! these together but the lock under test. Tokens are checked before each access; all accesses go
//! through one connection, so that Redis sees them in the order in which they were let through.

use picklock_scenarios::{StockPlace, Update};

use crate::history::What;
use crate::stage::{Change, FencedOff, Stage};
use crate::world::{Refusal, World};

/// What came of an access.
pub(super) enum Access<T> {
    /// It was done.
    Done(T),
    /// The token was too old.
    FencedOff(FencedOff),
    /// The store did not answer; that is in the history already.
    Failed,
}

fn in_redis<W>(stage: &Stage<W>) -> bool {
    stage.plan.scenario.workload.stock_in == StockPlace::Redis
}

fn name(key: u32) -> String {
    format!("picklock:left:{key:04}")
}

async fn ask<W: World>(stage: &Stage<W>, command: &[String]) -> Option<i64> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let answer = match stage.world.ask_store(&words).await {
        Ok(Some(number)) => return Some(number),
        Ok(None) => "there is no such key".to_owned(),
        Err(Refusal::Failed(reason)) => reason,
        Err(unable) => unable.to_string(),
    };
    stage.recorder.write(What::FaultMissed {
        fault: "stock in Redis".into(),
        reason: format!("{}: {answer}", words.join(" ")),
        optional: false,
    });
    None
}

/// Fills the shelves, before the first buyer comes.
pub(super) async fn fill<W: World>(stage: &Stage<W>) {
    if !in_redis(stage) {
        return;
    }
    let start = stage.plan.scenario.workload.stock;
    for key in (0..).take(stage.plan.keys.len()) {
        // Its answer is a number, unlike that of SET.
        let command = ["SETNX", &name(key), &start.to_string()].map(str::to_owned);
        ask(stage, &command).await;
    }
}

/// Looks at what is really left, when the buyers are gone.
pub(super) async fn count<W: World>(stage: &Stage<W>) {
    if !in_redis(stage) {
        return;
    }
    for key in (0..).take(stage.plan.keys.len()) {
        if let Some(left) = ask(stage, &["GET".to_owned(), name(key)]).await {
            stage.stock.borrow_mut().learn(key, left);
        }
    }
}

/// Reads the stock of a key.
pub(super) async fn read<W: World>(stage: &Stage<W>, key: u32, fence: Option<u64>) -> Access<i64> {
    let admitted = stage.stock.borrow_mut().read(key, fence);
    match admitted {
        Err(refused) => Access::FencedOff(refused),
        Ok(left) if !in_redis(stage) => Access::Done(left),
        Ok(_) => match ask(stage, &["GET".to_owned(), name(key)]).await {
            Some(left) => Access::Done(left),
            None => Access::Failed,
        },
    }
}

/// Sells one unit, by what the buyer read before.
pub(super) async fn sell<W: World>(
    stage: &Stage<W>,
    key: u32,
    read: i64,
    fence: Option<u64>,
) -> Access<Change> {
    let sold = stage.stock.borrow_mut().sell(key, read, fence);
    let change = match sold {
        Err(refused) => return Access::FencedOff(refused),
        Ok(change) if !in_redis(stage) => return Access::Done(change),
        Ok(change) => change,
    };
    let done = match stage.plan.scenario.workload.update {
        Update::Decrement => ask(stage, &["DECR".to_owned(), name(key)])
            .await
            .map(|to| Change { from: to + 1, to }),
        Update::Write => {
            let to = read - 1;
            let command = ["GETSET".to_owned(), name(key), to.to_string()];
            let before = ask(stage, &command).await;
            before.map(|from| Change { from, to })
        }
    };
    match done {
        Some(done) => {
            stage.stock.borrow_mut().learn(key, done.to);
            Access::Done(done)
        }
        // Whether it was sold cannot be known; the run is not judged.
        None => {
            stage.stock.borrow_mut().learn(key, change.from);
            Access::Failed
        }
    }
}
