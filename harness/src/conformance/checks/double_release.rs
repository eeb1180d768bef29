//! `double-release`: a second release finds nothing to release.

use super::{Answer, Clients, Outcome, Who, passed_with};

pub(super) async fn second_release_finds_nothing(clients: &mut Clients) -> Outcome {
    let grant = clients.take(Who::One).await?;
    clients.release(Who::One, &grant).await?;
    let again = clients.release(Who::One, &grant).await?;
    match &again.answer {
        Answer::Released {
            released: Some(true),
        } => again.wrong(
            "it answered the second `release` of a grant with `released` = true: nothing was held",
        ),
        Answer::Released {
            released: Some(false),
        } => passed_with("`false`"),
        Answer::Released { released: None } => passed_with("`null`"),
        other => passed_with(format!("`{}`", other.reply())),
    }
}
