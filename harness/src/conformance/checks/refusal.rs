//! `refusal`: a lock that somebody holds is refused.

use super::{Answer, Clients, Exchange, Outcome, Stop, Who, passed};

pub(super) async fn held_lock_is_refused(clients: &mut Clients) -> Outcome {
    let grant = clients.take(Who::One).await?;
    let second = clients.take(Who::Two).await?;
    clients.release(Who::One, &grant).await?;
    must_be_refused(&second)?;
    passed()
}

/// The answer to an `acquire` of a lock that another client has.
pub(super) fn must_be_refused(exchange: &Exchange) -> Result<(), Stop> {
    match &exchange.answer {
        Answer::Refused => Ok(()),
        Answer::Granted { .. } => {
            exchange.wrong("it granted the lock to a second client while the first one held it")
        }
        other => exchange.wrong(format!(
            "it answered with `{}` while another client had the lock; that is `refused`",
            other.reply()
        )),
    }
}
