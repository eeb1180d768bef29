//! What an `acquire` of a free or a held lock is answered with.

use super::{
    Answer, CheckEnd, Clients, Exchange, LONG, LockName, Mistake, Stop, Who, not_offered, passed,
    passed_with,
};

pub(super) async fn free_lock_is_granted(clients: &mut Clients) -> CheckEnd {
    let before = clients.keys().await?;
    let grant = clients.take(Who::One).await?;
    let after = clients.keys().await?;
    match clients.release(Who::One, &grant).await {
        Err(Stop::Problem(problem))
            if matches!(grant.answer, Answer::Error { .. })
                && before.connections == after.connections =>
        {
            let what = "nothing has connected to the server that `nodes` names";
            let problem = grant.shows(format!("{}; {what}", problem.what));
            Err(problem.by("servers").into())
        }
        released => released.and_then(|_| passed()),
    }
}

pub(super) async fn held_lock_is_refused(clients: &mut Clients) -> CheckEnd {
    // One that starts slowly must not come when the lease is over.
    clients.client(Who::Two).await?;
    let grant = clients.take(Who::One).await?;
    let second = clients.take(Who::Two).await?;
    clients.release(Who::One, &grant).await?;
    must_be_refused(&second)?;
    passed()
}

/// The answer to an `acquire` of a lock that another client has.
pub(super) fn must_be_refused(exchange: &Exchange) -> Result<(), Stop> {
    let what = match &exchange.answer {
        Answer::Refused => return Ok(()),
        Answer::Granted { .. } => {
            "it granted the lock to a second client while the first one held it".into()
        }
        other => format!(
            "it answered with `{}` while another client had the lock; that is `refused`",
            other.reply()
        ),
    };
    let problem = exchange.shows(what);
    Err(problem
        .of(Mistake::NotRefused(exchange.answer.reply()))
        .into())
}

/// An answer that says that a lease had ended which was running.
pub(super) fn lease_was_running(exchange: &Exchange) -> Stop {
    let reply = exchange.answer.reply();
    let problem = exchange.shows(format!(
        "it answered with `{reply}`, although the lease was running"
    ));
    problem.of(Mistake::LeaseNotUsed(reply)).into()
}

const WAIT_MS: u64 = 300;

pub(super) async fn waiting_ends_in_time(clients: &mut Clients) -> CheckEnd {
    clients.client(Who::Two).await?;
    let grant = clients.take(Who::One).await?;
    let second = clients
        .acquire(Who::Two, LockName::First, LONG, WAIT_MS)
        .await?;
    clients.release(Who::One, &grant).await?;
    must_be_refused(&second)?;
    let took_ms = second.heard.saturating_sub(second.sent).as_millis();
    passed_with(format!(
        "with `wait_ms` = {WAIT_MS} it refused after {took_ms} ms"
    ))
}

pub(super) async fn fences_grow(clients: &mut Clients) -> CheckEnd {
    let first = clients.take(Who::One).await?;
    clients.release(Who::One, &first).await?;
    let second = clients.take(Who::Two).await?;
    clients.release(Who::Two, &second).await?;
    match (fence(&first), fence(&second)) {
        (None, None) => not_offered("no `fence`"),
        (Some(before), Some(after)) if before < after => {
            passed_with(format!("{before}, then {after}"))
        }
        (Some(before), Some(after)) => second.wrong(format!(
            "`fence` was {before} for one grant and {after} for the next one, of another client; it must grow"
        )),
        _ => second.wrong("it gave a `fence` to one grant, and none to the next one"),
    }
}

fn fence(exchange: &Exchange) -> Option<u64> {
    match &exchange.answer {
        Answer::Granted { fence, .. } => *fence,
        _ => None,
    }
}
