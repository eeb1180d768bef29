//! What version 2 adds, as far as the adapter says that it offers it.

use std::time::Duration;

use picklock_scenarios::{LockFeature, TaskScope};

use super::acquire::must_be_refused;
use super::{
    Answer, CheckEnd, Clients, LONG, LockName, RequestKind, Who, failed, not_offered, passed,
    passed_with,
};

/// How long the second client of a lock waits, milliseconds. A check is over sooner.
const WAIT_MS: u64 = 5_000;

/// How long a task is blocked, milliseconds.
const BLOCK_MS: u64 = 300;

const ONE_AFTER_THE_OTHER: &str = "while one client waited for the lock, the `ping` of another client of its process was not answered: do not serve one client after the other";

pub(super) async fn waiting_client_keeps_nobody_waiting(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Clients) {
        return not_offered("no `clients`");
    }
    // Nobody is alone in a process of several clients.
    clients.dismiss(Who::Two).await;
    let outcome = two_clients(clients).await;
    clients.dismiss(Who::Two).await;
    outcome
}

async fn two_clients(clients: &mut Clients) -> CheckEnd {
    let who = Who::Two;
    for client in [0, 1] {
        let join = clients.join();
        clients.send(who, Some(client), join).await?;
    }
    for _ in [0, 1] {
        let joined = clients.answer(who, "it did not answer `join`").await?;
        if let Answer::Error { message, .. } = &joined.answer {
            return joined.wrong(format!(
                "it says that it offers `clients`, and answered `join` with `error`: {message}"
            ));
        }
    }
    let take = clients.asking(LockName::First, LONG, 0);
    clients.send(who, Some(0), take).await?;
    let grant = clients
        .answer(who, "it did not answer the `acquire` of a client")
        .await?;
    let token = grant.granted()?.to_owned();
    let wait = clients.asking(LockName::First, LONG, WAIT_MS);
    let waiting = clients.send(who, Some(1), wait).await?;
    clients.send(who, Some(0), RequestKind::Ping).await?;
    let first = clients.answer(who, ONE_AFTER_THE_OTHER).await?;
    let has_given_up = first.id == waiting;
    if has_given_up {
        // To give up early is allowed.
        must_be_refused(&first)?;
        let waited = first.heard.saturating_sub(first.sent);
        if waited >= Duration::from_millis(WAIT_MS) {
            return failed(ONE_AFTER_THE_OTHER);
        }
        clients.answer(who, ONE_AFTER_THE_OTHER).await?;
    }
    let release = clients.release_of(token);
    clients.send(who, Some(0), release).await?;
    let silent =
        "when a client had released the lock, it did not answer it and the one that waited";
    for _ in 0..=usize::from(!has_given_up) {
        clients.answer(who, silent).await?;
    }
    passed()
}

pub(super) async fn cancelled_wait_ends(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Cancel) {
        return not_offered("no `cancels`");
    }
    let grant = clients.take(Who::One).await?;
    let wait = clients.asking(LockName::First, LONG, WAIT_MS);
    let of = clients.send(Who::Two, None, wait).await?;
    let id = clients
        .send(Who::Two, None, RequestKind::Cancel { of })
        .await?;
    let silent = "an `acquire` was given up with `cancel`, and never answered";
    let given_up = clients.answer(Who::Two, silent).await?;
    clients.client(Who::Two).await?.forget(id);
    if matches!(given_up.answer, Answer::Granted { .. }) {
        must_be_refused(&given_up)?;
    }
    let waited = given_up.heard.saturating_sub(given_up.sent);
    if waited >= Duration::from_millis(WAIT_MS) {
        return given_up.wrong("it waited until `wait_ms` had run out, although it was cancelled");
    }
    clients.release(Who::One, &grant).await?;
    let next = clients.take(Who::One).await?;
    if must_be_refused(&next).is_ok() {
        return given_up
            .wrong("it answered an `acquire` that was given up, and took the lock later");
    }
    next.granted()?;
    clients.release(Who::One, &next).await?;
    passed_with(format!("`{}`", given_up.answer.reply()))
}

pub(super) async fn blocked_task_does_nothing(clients: &mut Clients) -> CheckEnd {
    let scope = match clients.offers(LockFeature::BlockLoop) {
        true => TaskScope::Loop,
        false if clients.offers(LockFeature::BlockThread) => TaskScope::Thread,
        false => return not_offered("no `blocks_loop` and no `blocks_thread`"),
    };
    let for_ms = BLOCK_MS;
    let block = RequestKind::Block { for_ms, scope };
    let blocking = clients.send(Who::One, None, block).await?;
    clients.send(Who::One, None, RequestKind::Ping).await?;
    let silent = "it did not answer `block`, or the `ping` after it";
    let first = clients.answer(Who::One, silent).await?;
    let second = clients.answer(Who::One, silent).await?;
    if first.id != blocking {
        return first.wrong("it answered a `ping` while it was to be blocked");
    }
    if let Answer::Error { message, .. } = &first.answer {
        return first.wrong(format!(
            "it says that it can be blocked, and answered `block` with `error`: {message}"
        ));
    }
    let blocked_ms = second.heard.saturating_sub(first.sent).as_millis();
    if blocked_ms < u128::from(BLOCK_MS) {
        return first.wrong(format!(
            "it was to be blocked for {BLOCK_MS} ms, and answered after {blocked_ms} ms"
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
        return match failed.answer == claims {
            true => failed.wrong(
                "it answered `section-failed` with `released` = true, and the next client was refused",
            ),
            false => passed_with("the lock stays until its lease has run out"),
        };
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
        return inner.wrong(format!(
            "it says that it is `reentrant`, and answered the `acquire` of its holder with `{}`",
            inner.answer.reply()
        ));
    }
    clients.release(Who::One, &inner).await?;
    let early = clients.take(Who::Two).await?;
    clients.release(Who::One, &outer).await?;
    if early.token().is_some() {
        clients.release(Who::Two, &early).await?;
        return early.wrong(
            "it granted the lock to another client after the inner `release` of its holder",
        );
    }
    let next = clients.take(Who::Two).await?;
    if must_be_refused(&next).is_ok() {
        return next
            .wrong("after the outermost `release` of its holder the next client was refused");
    }
    next.granted()?;
    clients.release(Who::Two, &next).await?;
    passed()
}
