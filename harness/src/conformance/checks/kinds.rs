//! The kinds of locks that the adapter offers besides a lock with one holder.

use std::time::Duration;

use picklock_scenarios::LockFeature;

use super::acquire::must_be_refused;
use super::{
    Answer, CheckEnd, Clients, LockName, RequestKind, Stop, Who, not_offered, passed, passed_with,
};

/// How much longer than requested a permit may exist: a library that counts in seconds rounds the lease up.
const ROUNDED_LEASE: Duration = Duration::from_secs(1);

pub(super) async fn readers_are_in_together(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::SharedMode) {
        return not_offered("no `rwlock` in `kinds`");
    }
    let first = clients.take_shared(Who::One).await?;
    first.granted()?;
    let second = clients.take_shared(Who::Two).await?;
    if second.token().is_none() {
        clients.release(Who::One, &first).await?;
        return second.fail(format!(
            "it answered a second reader with `{}`, although only a reader is in",
            second.answer.reply()
        ));
    }
    clients.release(Who::Two, &second).await?;
    let early_writer = clients.take(Who::Two).await?;
    clients.release(Who::One, &first).await?;
    must_be_refused(&early_writer)?;
    let writer = clients.take(Who::Two).await?;
    let reader = clients.take_shared(Who::One).await?;
    clients.release(Who::Two, &writer).await?;
    must_be_refused(&reader)?;
    passed()
}

/// Performs a check with clients whose `init` states this number of permits.
async fn with_capacity(
    permits: u32,
    clients: &mut Clients,
    check: impl AsyncFnOnce(&mut Clients) -> CheckEnd,
) -> CheckEnd {
    clients.restart_with(Some(permits)).await;
    let end = check(clients).await;
    clients.restart_with(None).await;
    end
}

pub(super) async fn permits_are_granted_together(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Permits) {
        return not_offered("no `semaphore` in `kinds`");
    }
    with_capacity(2, clients, two_of_two_permits).await
}

/// The holder dies, because some locks renew a permit as long as its client lives.
pub(super) async fn permit_of_a_dead_client_is_free_again(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Permits) {
        return not_offered("no `semaphore` in `kinds`");
    }
    with_capacity(1, clients, permit_after_the_lease).await
}

async fn permit_after_the_lease(clients: &mut Clients) -> CheckEnd {
    let held = clients.acquire(Who::One, LockName::First, 1.0, 0).await?;
    held.granted()?;
    clients.kill(Who::One).await;
    let waited = Duration::from_millis(held.ttl_ms) + ROUNDED_LEASE + clients.declared().1;
    tokio::time::sleep(waited).await;
    let next = clients.take(Who::Two).await?;
    if next.token().is_none() {
        return next.fail(format!(
            "the lease of the only permit was {} ms, and {} ms after its holder had died, it answered with `{}`",
            held.ttl_ms,
            waited.as_millis(),
            next.answer.reply()
        ));
    }
    clients.release(Who::Two, &next).await?;
    passed()
}

pub(super) async fn several_permits_are_all_or_none(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::SeveralPermits) {
        return not_offered("no `several_permits`");
    }
    with_capacity(3, clients, two_of_three_permits).await
}

async fn two_of_three_permits(clients: &mut Clients) -> CheckEnd {
    for permits in [0, 4] {
        let impossible = clients.take_permits(Who::One, permits).await?;
        if impossible.token().is_some() {
            return impossible.fail(format!(
                "its `capacity` is 3, and it granted {permits} permits"
            ));
        }
    }
    let first = clients.take_permits(Who::One, 2).await?;
    first.granted()?;
    let second = clients.take_permits(Who::Two, 2).await?;
    if second.token().is_some() {
        return second
            .fail("its `capacity` is 3, and two clients have two permits each".to_owned());
    }
    let last = clients.take(Who::Two).await?;
    if last.token().is_none() {
        return last.fail(format!(
            "two of three permits are taken, and it answered a client that wants one with `{}`",
            last.answer.reply()
        ));
    }
    clients.release(Who::Two, &last).await?;
    clients.release(Who::One, &first).await?;
    let all = clients.take_permits(Who::Two, 3).await?;
    if all.token().is_none() {
        return all.fail(format!(
            "all permits were given back, and it answered a client that wants three with `{}`",
            all.answer.reply()
        ));
    }
    clients.release(Who::Two, &all).await?;
    passed()
}

async fn two_of_two_permits(clients: &mut Clients) -> CheckEnd {
    let first = clients.take(Who::One).await?;
    first.granted()?;
    let second = clients.take(Who::Two).await?;
    if second.token().is_none() {
        return second.fail(format!(
            "its `capacity` is 2, and it answered a second client with `{}`",
            second.answer.reply()
        ));
    }
    let third = clients.take(Who::One).await?;
    clients.release(Who::Two, &second).await?;
    clients.release(Who::One, &first).await?;
    must_be_refused(&third)?;
    passed()
}

/// Checks that a leader may act in its term and not after it, and that the next leader has a higher epoch.
pub(super) async fn leader_acts_in_its_term(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Leadership) || !clients.is_leader() {
        return not_offered("no `leader` in `kinds`");
    }
    let mut epochs = Vec::new();
    for who in [Who::One, Who::Two] {
        let grant = clients.take(who).await?;
        let token = grant.granted()?.to_owned();
        let key = clients.lock(LockName::First);
        let act = RequestKind::Act { key, token };
        let during = clients.ask(who, act.clone()).await?;
        clients.release(who, &grant).await?;
        let after = clients.ask(who, act).await?;
        let Answer::Acting { epoch } = during.answer else {
            return during.fail(format!(
                "it answered `act` of the leader with `{}`",
                during.answer.reply()
            ));
        };
        if matches!(after.answer, Answer::Acting { .. }) {
            return after.fail("it let a leader act that had resigned");
        }
        let fence = match grant.answer {
            Answer::Granted { fence, .. } => fence,
            _ => None,
        };
        epochs.push((during, epoch.or(fence)));
    }
    without_a_key(clients).await?;
    match epochs.as_slice() {
        [(_, None), (_, None)] => passed_with("it has no epochs"),
        [(_, Some(first)), (_, Some(second))] if first < second => {
            passed_with(format!("epoch {first}, then {second}"))
        }
        [(_, first), (last, second)] => last.fail(format!(
            "the epoch of the first leader was {}, and that of the next one {}; it must grow",
            first.map_or("none".to_owned(), |epoch| epoch.to_string()),
            second.map_or("none".to_owned(), |epoch| epoch.to_string()),
        )),
        _ => passed(),
    }
}

/// Checks that a leader whose key has been gone for longer than a lease may no longer act.
async fn without_a_key(clients: &mut Clients) -> Result<(), Stop> {
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, LockName::First, 1.0, 0).await?;
    let token = grant.granted()?.to_owned();
    clients.remove_keys_since(&before).await?;
    clients.wait(1.2).await;
    let key = clients.lock(LockName::First);
    let act = RequestKind::Act { key, token };
    let late = clients.ask(Who::One, act).await?;
    clients.release(Who::One, &grant).await?;
    if matches!(late.answer, Answer::Acting { .. }) {
        return late.fail("it let a leader act whose key had been gone for a lease");
    }
    Ok(())
}
