//! `ids`: the answer has the id of its request, whatever that is.

use super::{Clients, Outcome, RequestKind, Who, passed};

/// More than 32 bits, and exact in a floating-point number, as JavaScript has them.
const LARGE_ID: u64 = (1 << 32) + 5;

pub(super) async fn answer_has_the_id_of_its_request(clients: &mut Clients) -> Outcome {
    clients.client(Who::One).await?.continue_ids_at(LARGE_ID);
    clients.ask(Who::One, RequestKind::Ping).await?;
    clients.ask(Who::One, RequestKind::Ping).await?;
    passed()
}
