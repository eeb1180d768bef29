//! `handshake`: it starts, and answers `init` with `ready`.

use super::{Answer, Clients, Outcome, Who, passed_with};

pub(super) async fn answers_init(clients: &mut Clients) -> Outcome {
    match clients.start(Who::One).await?.answer {
        Answer::Ready {
            name: Some(name),
            version,
        } => {
            let version = version.map(|version| format!(" {version}"));
            passed_with(format!("{name}{}", version.unwrap_or_default()))
        }
        _ => passed_with("without `name`: reports will show the command"),
    }
}
