//! `refusal`: a lock that somebody holds is refused.

use super::{Answer, Clients, Exchange, Mistake, Outcome, Stop, Who, passed};

pub(super) async fn held_lock_is_refused(clients: &mut Clients) -> Outcome {
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
