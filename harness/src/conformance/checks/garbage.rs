//! `garbage`: a line that is not a request is not answered, and does no harm.

use super::{Clients, Mistake, Outcome, ProtocolFault, RequestKind, Stop, Who, passed, passed_with};

pub(super) async fn garbage_is_not_answered(clients: &mut Clients) -> Outcome {
    clients.client(Who::One).await?.babble().await;
    let Err(stop) = clients.ask(Who::One, RequestKind::Ping).await else {
        return passed();
    };
    // It may end instead of answering.
    if let Stop::Broken(who, problem) = &stop
        && let Mistake::Protocol(fault) = &problem.mistake
        && let ProtocolFault::Ended { how, .. } = &**fault
    {
        clients.dismiss(*who).await;
        return passed_with(format!("it ends: {how}"));
    }
    Err(stop)
}
