//! `lost`: a holder whose key is gone is told so, if the lock notices.

use super::{Answer, Clients, LockName, Outcome, Who, not_offered, passed};

pub(super) async fn loss_is_noticed(clients: &mut Clients) -> Outcome {
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, LockName::First, 1.0, 0).await?;
    clients.remove_keys_since(&before).await?;
    clients.wait(1.2).await;
    let late = clients.keys().await?;
    let release = clients.release(Who::One, &grant).await?;
    let is_heard = clients.hears_of_loss(&grant).await?;
    let claims = Answer::Released {
        released: Some(true),
    };
    if release.answer == claims && late.written_since(&before).is_empty() {
        let what = "it answered with `released` = true, and its key was gone before";
        return Err(release.shows(what).by("release").into());
    }
    match is_heard {
        true => passed(),
        false => not_offered("no `lost` came within a lease after its key was gone"),
    }
}
