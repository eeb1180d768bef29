//! `extend`: a lease can be extended, or the adapter reports that it cannot.

use super::acquire::lease_was_running;
use super::lease::{max_life_ms, ms};
use super::{Answer, CheckEnd, Clients, LockName, Who, not_offered, passed};

/// Length of the lease as a multiple of the checks' lease time. It does not end during the check, even on a busy
/// machine.
const LEASES: f64 = 8.0;

pub(super) async fn extension_reaches_the_key(clients: &mut Clients) -> CheckEnd {
    let lock = LockName::First;
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, lock, LEASES, 0).await?;
    clients.wait(0.5).await;
    let extend = clients.extend(Who::One, &grant, LEASES).await?;
    let after = clients.keys().await?;
    // An extension may have a new token.
    let newest = extend.token().map_or(&grant, |_| &extend);
    let release = clients.release(Who::One, newest).await?;
    match &extend.answer {
        Answer::Unsupported { message } => {
            return not_offered(message.clone().unwrap_or_else(|| "`unsupported`".into()));
        }
        Answer::Error {
            definite: true,
            message,
        } => {
            return not_offered(format!(
                "`error`: {message}. If the lock cannot be extended, answer `unsupported`"
            ));
        }
        Answer::Granted { .. } => {}
        _ => return Err(lease_was_running(&extend)),
    }
    let keys = after.lock_keys(&before, &clients.lock(lock));
    let rest_ms = keys.values().copied().max().filter(|rest| *rest >= 0);
    let max_life_ms = rest_ms.map(|rest_ms| max_life_ms(&extend, rest_ms, after.at));
    if let Some(max_life_ms) = max_life_ms.filter(|life_ms| *life_ms < ms(extend.ttl_ms)) {
        return extend.fail(format!(
            "it answered with `granted`, but the key was not extended: `ttl_ms` was {}, and the key lives for at most {max_life_ms} ms",
            extend.ttl_ms
        ));
    }
    match &release.answer {
        Answer::Released {
            released: Some(true) | None,
        } => passed(),
        _ => release
            .fail("after `extend`, it could not release the lock with the token of the extension"),
    }
}
