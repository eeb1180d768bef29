//! `wait`: it gives up when `wait_ms` has run out.

use super::refusal::must_be_refused;
use super::{Clients, LONG, LockName, Outcome, Who, passed_with};

const WAIT_MS: u64 = 300;

pub(super) async fn waiting_ends_in_time(clients: &mut Clients) -> Outcome {
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
