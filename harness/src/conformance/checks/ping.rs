//! `ping`: it answers at once.

use super::{Clients, Outcome, RequestKind, Who, passed};

pub(super) async fn answers_ping(clients: &mut Clients) -> Outcome {
    clients.ask(Who::One, RequestKind::Ping).await?;
    passed()
}
