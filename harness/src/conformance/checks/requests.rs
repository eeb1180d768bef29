//! Rules for requests that apply to every adapter, whatever its lock is.

use serde_json::json;

use super::{
    Answer, CheckEnd, Clients, Mistake, ProtocolFault, RequestKind, Stop, Who, passed, passed_with,
};

pub(super) async fn answers_init(clients: &mut Clients) -> CheckEnd {
    match clients.start(Who::One).await?.answer {
        Answer::Ready {
            name: Some(name),
            version,
            ..
        } => {
            let version = version.map(|version| format!(" {version}"));
            passed_with(format!("{name}{}", version.unwrap_or_default()))
        }
        _ => passed_with("without `name`: reports will show the command"),
    }
}

pub(super) async fn answers_ping(clients: &mut Clients) -> CheckEnd {
    clients.ask(Who::One, RequestKind::Ping).await?;
    passed()
}

/// An id of more than 32 bits that is exact in a floating-point number, as JavaScript uses.
const LARGE_ID: u64 = (1 << 32) + 5;

pub(super) async fn answer_has_the_id_of_its_request(clients: &mut Clients) -> CheckEnd {
    clients.client(Who::One).await?.continue_ids_at(LARGE_ID);
    clients.ask(Who::One, RequestKind::Ping).await?;
    clients.ask(Who::One, RequestKind::Ping).await?;
    passed()
}

pub(super) async fn unknown_words_do_no_harm(clients: &mut Clients) -> CheckEnd {
    let field = json!({"op": "ping", "colour": {"of": ["no", "meaning"]}});
    clients.ask_raw(Who::One, "ping", field).await?;
    let op = json!({"op": "dance"});
    let exchange = clients.ask_raw(Who::One, "dance", op).await?;
    match &exchange.answer {
        Answer::Error { .. } => passed(),
        other => exchange.fail(format!(
            "it answered a request that the protocol does not define with `{}`; expected `error`",
            other.reply()
        )),
    }
}

pub(super) async fn garbage_is_not_answered(clients: &mut Clients) -> CheckEnd {
    clients.client(Who::One).await?.send_garbage().await;
    let Err(stop) = clients.ask(Who::One, RequestKind::Ping).await else {
        return passed();
    };
    // The adapter may exit instead of replying.
    if let Stop::RequestAborted(who, problem) = &stop
        && let Mistake::Protocol(fault) = &problem.mistake
        && let ProtocolFault::Ended { how, .. } = &**fault
    {
        clients.kill(*who).await;
        return passed_with(format!("it exits: {how}"));
    }
    Err(stop)
}
