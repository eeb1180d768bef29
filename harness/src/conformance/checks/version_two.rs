//! The features of version 2 that the adapter offers.

use std::time::Duration;

use picklock_scenarios::{LockFeature, TaskScope};

use super::acquire::must_be_refused;
use super::{
    Answer, CheckEnd, Clients, LONG, LockName, RequestKind, Who, failed, not_offered, passed,
    passed_with,
};

/// How long the second client of a lock waits, in milliseconds. The check ends sooner.
const WAIT_MS: u64 = 5_000;

/// Duration for which a task is blocked, in milliseconds.
const BLOCK_MS: u64 = 300;

const CLIENTS_SERVED_ONE_BY_ONE: &str = "while one client waited for the lock, the `ping` of another client of its process was not answered; serve the clients of a process concurrently";

pub(super) async fn waiting_client_does_not_block_others(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Clients) {
        return not_offered("no `clients`");
    }
    // Start a new process, because the old process has served a single client without a number.
    clients.kill(Who::Two).await;
    let outcome = two_clients(clients).await;
    clients.kill(Who::Two).await;
    outcome
}

async fn two_clients(clients: &mut Clients) -> CheckEnd {
    let who = Who::Two;
    for client in [0, 1] {
        let join = clients.join_request();
        clients.send(who, Some(client), join).await?;
    }
    for _ in [0, 1] {
        let joined = clients.next_reply(who, "it did not answer `join`").await?;
        if let Answer::Error { message, .. } = &joined.answer {
            return joined.fail(format!(
                "it offers `clients`, but answered `join` with `error`: {message}"
            ));
        }
    }
    let take = clients.acquire_request(LockName::First, LONG, 0);
    clients.send(who, Some(0), take).await?;
    let grant = clients
        .next_reply(who, "it did not answer the `acquire` of a client")
        .await?;
    let token = grant.granted()?.to_owned();
    let wait = clients.acquire_request(LockName::First, LONG, WAIT_MS);
    let waiting = clients.send(who, Some(1), wait).await?;
    clients.send(who, Some(0), RequestKind::Ping).await?;
    let first = clients.next_reply(who, CLIENTS_SERVED_ONE_BY_ONE).await?;
    let has_given_up = first.id == waiting;
    if has_given_up {
        // The adapter may give up early.
        must_be_refused(&first)?;
        let waited = first.received.saturating_sub(first.sent);
        if waited >= Duration::from_millis(WAIT_MS) {
            return failed(CLIENTS_SERVED_ONE_BY_ONE);
        }
        clients.next_reply(who, CLIENTS_SERVED_ONE_BY_ONE).await?;
    }
    let release = clients.release_request(token);
    clients.send(who, Some(0), release).await?;
    let silent = "when a client had released the lock, it did not answer this client and the one that waited";
    for _ in 0..=usize::from(!has_given_up) {
        clients.next_reply(who, silent).await?;
    }
    passed()
}

pub(super) async fn cancelled_wait_ends(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Cancel) {
        return not_offered("no `cancels`");
    }
    let grant = clients.take(Who::One).await?;
    let wait = clients.acquire_request(LockName::First, LONG, WAIT_MS);
    let of = clients.send(Who::Two, None, wait).await?;
    let id = clients
        .send(Who::Two, None, RequestKind::Cancel { of })
        .await?;
    let silent = "an `acquire` that was cancelled was never answered";
    let given_up = clients.next_reply(Who::Two, silent).await?;
    clients.client(Who::Two).await?.forget(id);
    if matches!(given_up.answer, Answer::Granted { .. }) {
        must_be_refused(&given_up)?;
    }
    let waited = given_up.received.saturating_sub(given_up.sent);
    if waited >= Duration::from_millis(WAIT_MS) {
        return given_up.fail("it waited until `wait_ms` had run out, although it was cancelled");
    }
    clients.release(Who::One, &grant).await?;
    let next = clients.take(Who::One).await?;
    if must_be_refused(&next).is_ok() {
        return given_up.fail("it answered a cancelled `acquire`, but took the lock later");
    }
    next.granted()?;
    clients.release(Who::One, &next).await?;
    passed_with(format!("`{}`", given_up.answer.reply()))
}

pub(super) async fn blocked_task_does_nothing(clients: &mut Clients) -> CheckEnd {
    let scope = if clients.offers(LockFeature::BlockLoop) {
        TaskScope::Loop
    } else if clients.offers(LockFeature::BlockThread) {
        TaskScope::Thread
    } else {
        return not_offered("no `blocks_loop` and no `blocks_thread`");
    };
    let for_ms = BLOCK_MS;
    let block = RequestKind::Block { for_ms, scope };
    let blocking = clients.send(Who::One, None, block).await?;
    clients.send(Who::One, None, RequestKind::Ping).await?;
    let silent = "it did not answer `block`, or the `ping` after it";
    let first = clients.next_reply(Who::One, silent).await?;
    let second = clients.next_reply(Who::One, silent).await?;
    if first.id != blocking {
        return first.fail("it answered a `ping` during `block`");
    }
    if let Answer::Error { message, .. } = &first.answer {
        return first.fail(format!(
            "it offers to block, but answered `block` with `error`: {message}"
        ));
    }
    let blocked_ms = second.received.saturating_sub(first.sent).as_millis();
    if blocked_ms < u128::from(BLOCK_MS) {
        return first.fail(format!(
            "`block` was requested for {BLOCK_MS} ms, but it answered after {blocked_ms} ms"
        ));
    }
    passed()
}

pub(super) async fn failed_section_is_answered(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::FailSection) {
        return not_offered("no `fails_sections`");
    }
    let grant = clients.acquire(Who::One, LockName::First, 1.0, 0).await?;
    let (key, token) = (clients.lock(LockName::First), grant.granted()?.to_owned());
    let ask = RequestKind::SectionFailed { key, token };
    let failed = clients.ask(Who::One, ask).await?;
    let next = clients.take(Who::Two).await?;
    if must_be_refused(&next).is_ok() {
        let claims = Answer::Released {
            released: Some(true),
        };
        if failed.answer == claims {
            return failed.fail(
                "it answered `section-failed` with `released` = true, but the next client was refused",
            );
        }
        return passed_with("the lock stays held until its lease has expired");
    }
    next.granted()?;
    clients.release(Who::Two, &next).await?;
    passed_with(match failed.answer {
        Answer::Error { .. } => "`error`",
        _ => "the lock is released",
    })
}

pub(super) async fn holder_is_granted_again(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Reenter) {
        return not_offered("no `reentrant`");
    }
    let outer = clients.take(Who::One).await?;
    outer.granted()?;
    let inner = clients.take(Who::One).await?;
    if !matches!(inner.answer, Answer::Granted { .. }) {
        clients.release(Who::One, &outer).await?;
        return inner.fail(format!(
            "it is `reentrant`, but answered the `acquire` of the holder with `{}`",
            inner.answer.reply()
        ));
    }
    clients.release(Who::One, &inner).await?;
    let early = clients.take(Who::Two).await?;
    clients.release(Who::One, &outer).await?;
    if early.token().is_some() {
        clients.release(Who::Two, &early).await?;
        return early
            .fail("it granted the lock to another client after the holder's inner `release`");
    }
    let next = clients.take(Who::Two).await?;
    if must_be_refused(&next).is_ok() {
        return next.fail("after the holder's outermost `release`, the next client was refused");
    }
    next.granted()?;
    clients.release(Who::Two, &next).await?;
    passed()
}
