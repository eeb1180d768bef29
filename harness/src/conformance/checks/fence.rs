//! `fence`: fencing tokens grow.

use super::{Answer, Clients, Exchange, Outcome, Who, not_offered, passed_with};

pub(super) async fn fences_grow(clients: &mut Clients) -> Outcome {
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
