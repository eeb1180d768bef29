//! `late-release`: a release after the lease has run out says so.

use super::{Answer, Clients, LockName, Outcome, Who, passed, passed_with};

pub(super) async fn expired_lock_is_not_released(clients: &mut Clients) -> Outcome {
    let lock = LockName::First;
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, lock, 1.0, 0).await?;
    let with_it = clients.keys().await?;
    clients.wait(1.3).await;
    let late = clients.keys().await?;
    let release = clients.release(Who::One, &grant).await?;
    let keys = with_it.of_lock(&before, &clients.lock(lock));
    if keys.keys().any(|key| late.ttl_ms.contains_key(*key)) {
        return passed_with("its key was still there: it renews the lease, or writes no expiry");
    }
    match &release.answer {
        Answer::Released {
            released: Some(true),
        } => release.wrong("it answered with `released` = true, and its key had run out before"),
        _ => passed(),
    }
}
