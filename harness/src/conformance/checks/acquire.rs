//! The replies to an `acquire` of a free or a held lock.

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
            let cause = "nothing has connected to the server in `nodes`";
            let problem = grant.problem(format!("{}; {cause}", problem.what));
            Err(problem.with_section("servers").into())
        }
        released => released.and_then(|_| passed()),
    }
}

pub(super) async fn held_lock_is_refused(clients: &mut Clients) -> CheckEnd {
    // Start the second client now, so that a slow start does not outlast the lease.
    clients.client(Who::Two).await?;
    let grant = clients.take(Who::One).await?;
    let second = clients.take(Who::Two).await?;
    clients.release(Who::One, &grant).await?;
    must_be_refused(&second)?;
    passed()
}

/// Returns an error unless an `acquire` of a lock that another client holds was refused.
pub(super) fn must_be_refused(exchange: &Exchange) -> Result<(), Stop> {
    let what = match &exchange.answer {
        Answer::Refused => return Ok(()),
        Answer::Granted { .. } => {
            "it granted the lock to a second client while the first one held it".into()
        }
        other => format!(
            "it answered with `{}` while another client held the lock; expected `refused`",
            other.reply()
        ),
    };
    let problem = exchange.problem(what);
    Err(problem
        .with_mistake(Mistake::NotRefused(exchange.answer.reply()))
        .into())
}

/// Returns the error for a reply that reports the end of a lease that has not ended.
pub(super) fn lease_was_running(exchange: &Exchange) -> Stop {
    let reply = exchange.answer.reply();
    let problem = exchange.problem(format!(
        "it answered with `{reply}`, although the lease was running"
    ));
    problem.with_mistake(Mistake::LeaseNotUsed(reply)).into()
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
    let took_ms = second.received.saturating_sub(second.sent).as_millis();
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
        (Some(before), Some(after)) => second.fail(format!(
            "`fence` was {before} for one grant and {after} for the next grant, to another client; it must grow"
        )),
        _ => second.fail("one grant has a `fence`, and the next grant has none"),
    }
}

fn fence(exchange: &Exchange) -> Option<u64> {
    match &exchange.answer {
        Answer::Granted { fence, .. } => *fence,
        _ => None,
    }
}
