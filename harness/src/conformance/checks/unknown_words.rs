//! `unknown-words`: fields of later versions are ignored, and their requests answered with `error`.

use serde_json::json;

use super::{Answer, Clients, Outcome, Who, passed};

pub(super) async fn unknown_words_do_no_harm(clients: &mut Clients) -> Outcome {
    let field = json!({"op": "ping", "colour": {"of": ["no", "meaning"]}});
    clients.ask_oddly(Who::One, "ping", field).await?;
    let op = json!({"op": "dance"});
    let answered = clients.ask_oddly(Who::One, "dance", op).await?;
    match &answered.answer {
        Answer::Error { .. } => passed(),
        other => answered.wrong(format!(
            "it answered a request that the protocol does not have with `{}`; expected `error`",
            other.reply()
        )),
    }
}
