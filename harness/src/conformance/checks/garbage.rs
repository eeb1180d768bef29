//! `garbage`: a line that is not a request is not answered, and does no harm.

use super::{Clients, Outcome, RequestKind, Stop, Who, passed, passed_with};

pub(super) async fn garbage_is_not_answered(clients: &mut Clients) -> Outcome {
    let client = clients.client(Who::One).await?;
    client.babble().await;
    let Err(stop) = clients.ask(Who::One, RequestKind::Ping).await else {
        return passed();
    };
    // It may end instead of answering.
    let how = clients.client(Who::One).await?.how_it_ended();
    match (stop, how.map(str::to_owned)) {
        (Stop::Broken(..), Some(how)) => {
            clients.dismiss(Who::One).await;
            passed_with(format!("it ends: {how}"))
        }
        (stop, _) => Err(stop),
    }
}
