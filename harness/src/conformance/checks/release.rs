//! The replies to releases, and the notification of a holder whose lock is gone.

use super::acquire::{lease_was_running, must_be_refused};
use super::{Answer, CheckEnd, Clients, LockName, Problem, Who, not_offered, passed, passed_with};

pub(super) async fn released_lock_is_free(clients: &mut Clients) -> CheckEnd {
    let grant = clients.take(Who::One).await?;
    let release = clients.release(Who::One, &grant).await?;
    let next = clients.take(Who::Two).await?;
    if next.token().is_some() {
        clients.release(Who::Two, &next).await?;
    }
    if clients.is_notified_of_loss(&grant).await? {
        let what = "it wrote the event `lost` for a lock whose lease had not ended";
        return Err(Problem::new(what).with_section("events").into());
    }
    let remark = match &release.answer {
        Answer::Released {
            released: Some(true),
        } => "",
        Answer::Released { released: None } => {
            "`null`: it does not report whether it still held it"
        }
        Answer::Released { .. } => {
            return release
                .fail("it reported that the lock was no longer held, but the lease had not ended");
        }
        _ => return Err(lease_was_running(&release)),
    };
    if must_be_refused(&next).is_ok() {
        return release.fail("after it had answered `released`, the next client was refused");
    }
    next.granted()?;
    passed_with(remark)
}

pub(super) async fn second_release_finds_nothing(clients: &mut Clients) -> CheckEnd {
    let grant = clients.take(Who::One).await?;
    clients.release(Who::One, &grant).await?;
    let again = clients.release(Who::One, &grant).await?;
    match &again.answer {
        Answer::Released {
            released: Some(true),
        } => again.fail(
            "it answered the second `release` of a grant with `released` = true, although nothing was held",
        ),
        Answer::Released {
            released: Some(false),
        } => passed_with("`false`"),
        Answer::Released { released: None } => passed_with("`null`"),
        other => passed_with(format!("`{}`", other.reply())),
    }
}

pub(super) async fn expired_lock_is_not_released(clients: &mut Clients) -> CheckEnd {
    let lock = LockName::First;
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, lock, 1.0, 0).await?;
    let with_it = clients.keys().await?;
    clients.wait(1.3).await;
    let late = clients.keys().await?;
    let release = clients.release(Who::One, &grant).await?;
    let keys = with_it.lock_keys(&before, &clients.lock(lock));
    if keys.keys().any(|key| late.ttl_ms.contains_key(*key)) {
        return passed_with(if clients.has_several_holders() {
            "its key was still there: it contains the leases of all holders, or never expires"
        } else {
            "its key was still there: it renews the lease, or writes no expiry"
        });
    }
    match &release.answer {
        Answer::Released {
            released: Some(true),
        } => {
            release.fail("it answered with `released` = true, although its key had expired before")
        }
        _ => passed(),
    }
}

pub(super) async fn loss_is_noticed(clients: &mut Clients) -> CheckEnd {
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, LockName::First, 1.0, 0).await?;
    clients.remove_keys_since(&before).await?;
    clients.wait(1.2).await;
    let late = clients.keys().await?;
    let release = clients.release(Who::One, &grant).await?;
    let is_notified = clients.is_notified_of_loss(&grant).await?;
    let claims = Answer::Released {
        released: Some(true),
    };
    if release.answer == claims && late.written_since(&before).is_empty() {
        let what = "it answered with `released` = true, although its key was gone before";
        return Err(release.problem(what).with_section("release").into());
    }
    if is_notified {
        return passed();
    }
    not_offered("no `lost` arrived within a lease after its key was gone")
}
